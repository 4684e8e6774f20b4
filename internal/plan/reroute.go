package plan

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/routing"
)

// StopsServing returns the hostnames and the paths of locations that the object no longer serves, or only in part, once
// the request is sent.
func (it Item) StopsServing() (names []string) {
	for _, s := range it.Stops {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// ServedLines returns the Lines of an item with what each takes away.
func (it Item) ServedLines() []Line {
	lines := it.Lines()
	k, isKnown := kind.Named(it.Kind)
	for i := range lines {
		l := &lines[i]
		for _, s := range it.Stops {
			if isKnown && !l.Left && l.takesAway(s, k.HostField) && !slices.Contains(l.Unserved, s.Name) {
				l.Unserved = append(l.Unserved, s.Name)
			}
		}
	}
	return lines
}

// locations is the list of a CDN's locations.
const locations = "locations"

// isRemovedLocation reports whether a whole location is removed.
func isRemovedLocation(c Change) bool {
	return isRemoval(c) && strings.HasPrefix(c.Path, locations+"[") && strings.HasSuffix(c.Path, "]")
}

// takesAway reports whether the line removes or renames what answered requests: a location, or the hostname of the object.
func (l Line) takesAway(s routing.Stop, hostField string) bool {
	list, name, field := inElement(l.Path)
	names := []string{name}
	if l.Elements != nil {
		list, names, field = l.List, l.Elements, strings.TrimPrefix(l.Path, l.List+".")
	}
	from, _ := l.Live.(string)
	to, _ := l.Desired.(string)
	host, path := s.Host, s.Path
	switch {
	case s.Host+s.Path == "":
		return l.Path == hostField
	case isRemovedLocation(l.Change):
		was := routing.Read(map[string]any{locations: []any{l.Live}}).Locations[0]
		return was.Host == s.Host && was.Path == s.Path
	case list != locations:
		return false
	case field == "host" && kind.HostKey(from) == s.Host:
		host = kind.HostKey(to)
	case field == "path" && from == s.Path:
		path = to
	default:
		return false
	}
	return slices.ContainsFunc(names, func(element string) bool {
		name, _ := kind.StepName("[" + element)
		return name == path || name == host+path
	})
}
