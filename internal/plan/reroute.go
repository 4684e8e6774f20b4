package plan

import (
	"slices"
	"strings"
	"sync"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// ServedLines returns the Lines of an item with what the object no longer serves once the request is sent. Of
// what happened outside git, it knows that of the hostname alone.
func (it Item) ServedLines() []Line {
	lines := it.Lines()
	it.reroute(lines)
	return lines
}

func (it Item) reroute(lines []Line) {
	k, ok := kind.Named(it.Kind)
	if !ok || it.Op != Patch || it.Request == nil && !it.Happened || k.HostField == "" {
		return
	}
	gone := it.leaveHost(lines, k.HostField)
	kept := sync.OnceValue(it.serving) // few plans need it
	for i := range lines {
		l := &lines[i]
		if it.Happened || l.Left || !strings.HasPrefix(l.Path, locations) || kept() == nil {
			continue
		}
		l.goesTo(slices.DeleteFunc(l.takenAway(kept()), func(w manifest.Location) bool { return gone != "" && kind.HostKey(w.Host) == gone }), kept())
	}
}

// leaveHost adds the old hostname to the line that changes it, and returns its kind.HostKey, or "".
func (it Item) leaveHost(lines []Line, field string) (gone string) {
	for i := range lines {
		l := &lines[i]
		from, _ := l.Live.(string)
		to, _ := l.Desired.(string)
		if it.Happened {
			from, to = to, from
		}
		if l.Path == field && !l.Left && kind.HostKey(from) != kind.HostKey(to) && from != "" {
			l.Unserved, gone = []string{from}, kind.HostKey(from)
		}
	}
	return gone
}

// locations is the list of a CDN's locations.
const locations = "locations"

// takenAway returns the locations that a line removes or renames, as they were.
func (l Line) takenAway(now *serving) (was []manifest.Location) {
	if isRemoval(l.Change) && strings.HasPrefix(l.Path, locations+"[") && strings.HasSuffix(l.Path, "]") {
		return manifest.RoutesOf(map[string]any{locations: []any{l.Live}}).Locations
	}
	list, name, field := inElement(l.Path)
	names := []string{name}
	if l.Elements != nil {
		list, names, field = l.List, l.Elements, strings.TrimPrefix(l.Path, l.List+".")
	}
	from, isText := l.Live.(string)
	if !isText || list != locations {
		return nil
	}
	for _, w := range now.locations {
		part := map[string]*string{"host": &w.Host, "path": &w.Path}[field]
		named := slices.Contains(names, w.Path) || slices.Contains(names, w.Host+w.Path)
		if named && part != nil && *part == l.Desired {
			*part = from
			was = append(was, w)
		}
	}
	return was
}

// goesTo finds what serves the requests of locations that are taken away, if that is certain.
func (l *Line) goesTo(was []manifest.Location, kept *serving) {
	var by, unserved []string
	for _, w := range was {
		switch shares := kept.of(w); {
		case len(shares[all]) > 0:
			by = append(by, slices.Concat(shares[all], shares[some], shares[unclear])...)
		case len(shares[unclear]) > 0:
			return
		case len(shares[some]) > 0:
			unserved = append(unserved, "part of "+w.Host+w.Path)
		default:
			unserved = append(unserved, w.Host+w.Path)
		}
	}
	if host, ok := l.Live.(string); ok && len(was) > 0 && host == was[0].Host && len(kept.neighbors(host)) == 0 {
		unserved = []string{host}
	}
	if l.Unserved = unserved; unserved == nil {
		slices.Sort(by)
		l.ServedBy = slices.Compact(by)
	}
}

// serving are the locations of an object once the request is sent.
type serving struct {
	locations []manifest.Location
	near      map[string][]neighbor // those of neighbors, by host
}

// serving returns nil if the request does not send the locations.
func (it Item) serving() *serving {
	spec := it.BodySpec()
	if _, sent := spec[locations].([]any); !sent {
		return nil
	}
	return &serving{manifest.RoutesOf(spec).Locations, map[string][]neighbor{}}
}

// neighbor is a location that may serve requests of a host, and how much of them if the paths are equal.
type neighbor struct {
	path  string
	share share
}

func (s *serving) neighbors(host string) []neighbor {
	near, known := s.near[host]
	if !known {
		for _, n := range s.locations {
			if share := hostShare(host, n.Host); share != none {
				near = append(near, neighbor{n.Path, share})
			}
		}
		s.near[host] = near
	}
	return near
}

// of returns the paths that match requests of a location, by how much of them.
func (s *serving) of(w manifest.Location) (shares [all + 1][]string) {
	for _, n := range s.neighbors(w.Host) {
		if share := min(n.share, pathShare(w.Path, n.path)); share != none {
			shares[share] = append(shares[share], n.path)
		}
	}
	return shares
}

// share is how much of the requests of one location another one matches.
type share uint8

const (
	none share = iota
	unclear
	some
	all
)

func hostShare(of, by string) share {
	wild := func(host string) bool { return host == "" || host == "*" }
	switch {
	case wild(by) || kind.HostKey(of) == kind.HostKey(by):
		return all
	case wild(of):
		return some
	case strings.Contains(of+by, "*"):
		return unclear
	}
	return none
}

// pathShare compares paths; one that ends in * stands for everything below it.
func pathShare(of, by string) share {
	stem, below := strings.CutSuffix(of, "*")
	other, otherBelow := strings.CutSuffix(by, "*")
	switch {
	case strings.Contains(stem, "*") || strings.Contains(other, "*"):
		return unclear
	case stem == other && below == otherBelow, otherBelow && strings.HasPrefix(stem, other):
		return all
	case below && strings.HasPrefix(other, stem):
		return some
	}
	return none
}
