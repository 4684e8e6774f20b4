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
	lines, names := it.Lines(), map[[2]string][]string{}
	for _, s := range it.Stops {
		at := [2]string{s.Host, s.Path}
		if s.Host+s.Path == "" {
			at[1] = hostname(it.Key)
		}
		names[at] = append(names[at], s.Name)
	}
	if len(names) == 0 {
		return lines
	}
	kept := routing.Read(it.BodySpec()).Locations
	for i := range lines {
		l := &lines[i]
		for _, from := range l.takesFrom(kept) {
			for _, name := range names[from] {
				if !l.Left && !slices.Contains(l.Unserved, name) {
					l.Unserved = append(l.Unserved, name)
				}
			}
		}
	}
	return lines
}

// hostname returns the field of the hostname of an object.
func hostname(key kind.Key) string {
	if k, ok := kind.Named(key.Kind); ok {
		return k.HostField
	}
	return ""
}

// locations is the list of a CDN's locations.
const locations = "locations"

// takesFrom returns the host and path of the locations that a line removes or renames, as they were, or the path of
// the field that it changes.
func (l Line) takesFrom(kept []routing.Location) (from [][2]string) {
	was := l.renamed(kept)
	switch {
	case isRemoval(l.Change) && strings.HasPrefix(l.Path, locations+"[") && strings.HasSuffix(l.Path, "]"):
		was = routing.Read(map[string]any{locations: []any{l.Live}}).Locations
	case was == nil:
		return [][2]string{{"", l.Path}}
	}
	for _, w := range was {
		from = append(from, [2]string{w.Host, w.Path})
	}
	return from
}

// renamed returns the locations whose host or path a line changes, as they were.
func (l Line) renamed(kept []routing.Location) (was []routing.Location) {
	list, name, field := inElement(l.Path)
	names := []string{name}
	if l.Elements != nil {
		list, names, field = l.List, l.Elements, strings.TrimPrefix(l.Path, l.List+".")
	}
	from, isText := l.Live.(string)
	to, _ := l.Desired.(string)
	if !isText || list != locations {
		return nil
	}
	if field == "host" {
		from, to = kind.HostKey(from), kind.HostKey(to)
	}
	for _, w := range kept {
		part := map[string]*string{"host": &w.Host, "path": &w.Path}[field]
		named := slices.ContainsFunc(names, func(element string) bool {
			name, _ := kind.StepName("[" + element)
			return name == w.Path || name == w.Host+w.Path
		})
		if named && part != nil && *part == to {
			*part = from
			was = append(was, w)
		}
	}
	return was
}
