package plan

import (
	"encoding/json"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Line is a change that reports show as one.
type Line struct {
	Change
	// Elements are the names of the elements of List in which one field changes in the same way. If there are
	// any, there are several, and Path has no element: locations.host.
	List     string
	Elements []string
	// Unserved are the hostnames and paths of locations that the object no longer serves, or only in part, because
	// the line takes them away. ServedLines sets it.
	Unserved []string
}

// alike is what changes have in common that are one line.
type alike struct {
	path                string // without the element
	class               merge.Class
	cause               Cause
	by                  By
	commit              string
	base, live, desired any
	left                bool
	units               Units
}

// Lines returns the changes of an item in their order. If one field changes from the same value to the same
// other value in several elements of a list, that is one line, where the first of them is. ServedLines
// also says what is no longer served.
func (it Item) Lines() []Line {
	lines, first := make([]Line, 0, len(it.Changes)), map[alike]int{}
	for _, c := range it.Changes {
		list, element, field := inElement(c.Path)
		if field == "" || c.Moved || !isScalar(c.Live) || !isScalar(c.Desired) || c.Base != nil && !isScalar(c.Base) {
			lines = append(lines, Line{Change: c})
			continue
		}
		id := alike{list + "." + field, c.Class, c.Cause, c.By, "", c.Base, c.Live, c.Desired, c.Left, c.Units}
		if c.Commit != nil {
			id.commit = c.Commit.ID
		}
		i, known := first[id]
		if !known {
			first[id] = len(lines)
			lines = append(lines, Line{Change: c})
			continue
		}
		l := &lines[i]
		if l.Elements == nil {
			_, other, _ := inElement(l.Path)
			l.List, l.Elements, l.Path, l.At = list, []string{other}, id.path, nil
		}
		l.Elements, l.Risk = append(l.Elements, element), max(l.Risk, c.Risk)
	}
	return lines
}

// inElement splits the path of a field at its last list element; field is empty for other paths.
func inElement(path string) (list, element, field string) {
	parts := kind.PathParts(path)
	for i := len(parts) - 2; i >= 0; i-- {
		name, rest, ok := strings.Cut(parts[i], "[")
		if !ok {
			continue
		}
		element := strings.TrimSuffix(rest, "]")
		if steps, _ := kind.SplitPath("[" + rest); len(steps) != 1 {
			return "", "", ""
		}
		return strings.Join(append(parts[:i:i], name), "."), element, strings.Join(parts[i+1:], ".")
	}
	return "", "", ""
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, json.Number:
		return true
	}
	return false
}

func isRemoval(c Change) bool { return c.Live != nil && c.Desired == nil && !c.Moved }
