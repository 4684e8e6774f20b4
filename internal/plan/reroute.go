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

// ServedLines returns the Lines of an item with what each takes away. If the hostname changes, its line takes away what that
// served, and no line of a location says it again.
func (it Item) ServedLines() []Line {
	lines := it.Lines()
	k, _ := kind.FindKind(it.Kind)
	isHostname := func(l Line) bool { return k != nil && l.Path == k.HostField && !l.Left }
	at := slices.IndexFunc(lines, isHostname)
	for _, s := range it.Stops {
		if at >= 0 && isHost(it.fromBefore(lines[at]).Live, s.Host) {
			lines[at].Unserved = append(lines[at].Unserved, s.Name)
			continue
		}
		for i := range lines {
			if l := &lines[i]; !l.Left && it.fromBefore(*l).takesAway(s) {
				l.Unserved = append(l.Unserved, s.Name)
			}
		}
	}
	return lines
}

// fromBefore returns a line whose Live is the value before: what happened outside git went from git's value to live's.
func (it Item) fromBefore(l Line) Line {
	if it.Happened {
		l.Live, l.Desired = l.Desired, l.Live
	}
	return l
}

func isHost(v any, host string) bool {
	text, _ := v.(string)
	return kind.HostKey(text) == host
}

// locations is the list of a CDN's locations.
const locations = "locations"

// takesAway reports whether the line removes or renames a location that answered requests.
func (l Line) takesAway(s routing.Stop) bool {
	was, _ := l.Live.(string)
	if location, isObject := l.Live.(map[string]any); isObject && isRemoval(l.Change) && isElement(l.Path) {
		l := routing.Read(map[string]any{locations: []any{location}}).Locations[0]
		return s.HadAnswerOf(l.Host, l.Path)
	}
	list, name, field := inElement(l.Path)
	names := []string{name}
	if l.Elements != nil {
		list, names, field = l.List, l.Elements, strings.TrimPrefix(l.Path, l.List+".")
	}
	return list == locations && slices.ContainsFunc(names, func(element string) bool {
		name, _ := kind.StepName("[" + element)
		host, path, _ := strings.Cut(name, "/") // of the location, once it is renamed
		return field == "host" && s.HadAnswerOf(was, "/"+path) || field == "path" && s.HadAnswerOf(host, was)
	})
}

// isElement reports whether the path is that of a location.
func isElement(path string) bool {
	return strings.HasPrefix(path, locations+"[") && strings.HasSuffix(path, "]")
}
