package plan

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// reroute adds to lines what the object no longer serves once the request is sent. Of what happened outside
// git, it knows that of the hostname alone.
func (it Item) reroute(lines []Line) {
	k, ok := kind.Named(it.Kind)
	if !ok || it.Op != Patch || it.Request == nil && !it.Happened || k.HostField == "" {
		return
	}
	gone := it.leaveHost(lines, k.HostField)
	if it.Happened {
		return
	}
	var spec map[string]any
	for i := range lines {
		l := &lines[i]
		was := it.takenAway(*l)
		was = slices.DeleteFunc(was, func(w manifest.Location) bool { return gone != "" && kind.HostKey(w.Host) == gone })
		if len(was) == 0 {
			continue
		}
		if spec == nil {
			spec = it.BodySpec()
		}
		if _, ok := spec[locations].([]any); ok {
			l.goesTo(was, manifest.RoutesOf(spec).Locations)
		}
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

// takenAway returns the locations that a line removes or renames.
func (it Item) takenAway(l Line) []manifest.Location {
	var elements []any
	switch list, ok := listOf(l.Change); {
	case l.Left:
	case l.Rename != nil && l.Rename.List == locations:
		for _, e := range l.Rename.Elements {
			i := slices.IndexFunc(it.Changes, func(c Change) bool { return c.Path == e.Removed && isRemoval(c) })
			elements = append(elements, it.Changes[i].Live)
		}
	case ok && list == locations && isRemoval(l.Change):
		elements = []any{l.Live}
	}
	return manifest.RoutesOf(map[string]any{locations: elements}).Locations
}

// goesTo finds what serves the requests of locations that are taken away, if that is certain.
func (l *Line) goesTo(was, now []manifest.Location) {
	var by, unserved []string
	for _, w := range was {
		shares := map[share][]string{}
		for _, n := range now {
			s := min(hostShare(w, n), pathShare(w.Path, n.Path))
			shares[s] = append(shares[s], n.Path)
		}
		switch {
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
	if l.Rename != nil && l.Rename.Field == "host" && !slices.ContainsFunc(now, func(n manifest.Location) bool { return hostShare(was[0], n) != none }) {
		unserved = []string{l.Rename.From}
	}
	if l.Unserved = unserved; unserved == nil {
		slices.Sort(by)
		l.By = slices.Compact(by)
	}
}

// share is how much of the requests of one location another one matches.
type share uint8

const (
	none share = iota
	unclear
	some
	all
)

func hostShare(of, by manifest.Location) share {
	wild := func(host string) bool { return host == "" || host == "*" }
	switch {
	case wild(by.Host) || kind.HostKey(of.Host) == kind.HostKey(by.Host):
		return all
	case wild(of.Host):
		return some
	case strings.Contains(of.Host+by.Host, "*"):
		return unclear
	}
	return none
}

// pathShare compares paths; one that ends in * stands for everything below it.
func pathShare(of, by string) share {
	stem, below := strings.CutSuffix(of, "*")
	other, otherBelow := strings.CutSuffix(by, "*")
	switch {
	case strings.Contains(stem+other, "*"):
		return unclear
	case stem == other && below == otherBelow, otherBelow && strings.HasPrefix(stem, other):
		return all
	case below && strings.HasPrefix(other, stem):
		return some
	}
	return none
}
