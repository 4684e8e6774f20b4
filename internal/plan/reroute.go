package plan

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// stop is a hostname or a class of requests that an object no longer serves. What takes it away is the field of
// the hostname, or the location with the host and path.
type stop struct{ name, host, path string }

// stops returns what the object no longer serves once the request is sent. Of what happened outside git, it knows
// that of the hostname alone.
func (it Item) stops() (stops []stop) {
	k, ok := kind.Named(it.Kind)
	if !ok || it.Op != Patch || it.Request == nil && !it.Happened || k.HostField == "" {
		return nil
	}
	old := it.oldHostname(k.HostField)
	if old != "" {
		stops = append(stops, stop{old, "", k.HostField})
	}
	if it.Answers != nil && !it.Happened {
		stops = append(stops, it.Answers.stops(kind.HostKey(old))...)
	}
	return stops
}

// oldHostname returns the hostname that is replaced, or "".
func (it Item) oldHostname(field string) string {
	for _, c := range it.Changes {
		from, _ := c.Live.(string)
		to, _ := c.Desired.(string)
		if it.Happened {
			from, to = to, from
		}
		if c.Path == field && !c.Left && kind.HostKey(from) != kind.HostKey(to) {
			return from
		}
	}
	return ""
}

// stops returns the classes that nothing serves any more, except those of a hostname.
func (a *Answers) stops(except string) (stops []stop) {
	for _, g := range a.Groups {
		if g.Effect != Unserved || g.Elsewhere || g.Unless != nil {
			continue
		}
		hosts := g.Hosts
		if hosts == nil {
			hosts = []string{""}
		}
		for _, host := range hosts {
			name := host + g.Pattern
			switch {
			case g.Apart:
				name = host
			case g.Part:
				name = "part of " + name
			}
			if host == "" || host != except {
				stops = append(stops, stop{name, host, g.Pattern})
			}
		}
	}
	return stops
}

// StopsServing returns the hostnames and the paths of locations that the object no longer serves, or only in part, once
// the request is sent.
func (it Item) StopsServing() (names []string) {
	seen := map[string]bool{}
	for _, s := range it.stops() {
		if !seen[s.name] {
			names, seen[s.name] = append(names, s.name), true
		}
	}
	return names
}

// ServedLines returns the Lines of an item with what each takes away.
func (it Item) ServedLines() []Line {
	lines, names := it.Lines(), map[[2]string]string{}
	for _, s := range it.stops() {
		names[[2]string{s.host, s.path}] = s.name
	}
	if len(names) == 0 {
		return lines
	}
	kept := manifest.RoutesOf(it.BodySpec()).Locations
	for i := range lines {
		l := &lines[i]
		for _, from := range l.takesFrom(kept) {
			if name := names[from]; name != "" && !l.Left && !slices.Contains(l.Unserved, name) {
				l.Unserved = append(l.Unserved, name)
			}
		}
	}
	return lines
}

// locations is the list of a CDN's locations.
const locations = "locations"

// takesFrom returns the host and path of the locations that a line removes or renames, as they were, or the path of
// the field that it changes.
func (l Line) takesFrom(kept []manifest.Location) (from [][2]string) {
	was := l.renamed(kept)
	switch {
	case isRemoval(l.Change) && strings.HasPrefix(l.Path, locations+"[") && strings.HasSuffix(l.Path, "]"):
		was = manifest.RoutesOf(map[string]any{locations: []any{l.Live}}).Locations
	case was == nil:
		return [][2]string{{"", l.Path}}
	}
	for _, w := range was {
		from = append(from, [2]string{w.HostKey(), w.Path})
	}
	return from
}

// renamed returns the locations whose host or path a line changes, as they were.
func (l Line) renamed(kept []manifest.Location) (was []manifest.Location) {
	list, name, field := inElement(l.Path)
	names := []string{name}
	if l.Elements != nil {
		list, names, field = l.List, l.Elements, strings.TrimPrefix(l.Path, l.List+".")
	}
	from, isText := l.Live.(string)
	if !isText || list != locations {
		return nil
	}
	for _, w := range kept {
		part := map[string]*string{"host": &w.Host, "path": &w.Path}[field]
		named := slices.ContainsFunc(names, func(element string) bool {
			name, _ := kind.StepName("[" + element)
			return name == w.Path || name == w.Host+w.Path
		})
		if named && part != nil && *part == l.Desired {
			*part = from
			was = append(was, w)
		}
	}
	return was
}
