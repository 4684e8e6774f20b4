package plan

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/routing"
)

// ChangeLine is a change that reports show as one.
type ChangeLine struct {
	Change
	// Elements are the names of the elements of List in which one field changes in the same way. If there are
	// any, there are several, and Path has no element: locations.host.
	List     string
	Elements []string
	// Unserved are the hostnames and paths of locations that the object no longer serves, or only in part, because
	// the line takes them away.
	Unserved []string
}

// The classes of lines that no Change is about: what a creation brings; live values that a list which is sent whole keeps, and
// that it loses; and live list elements that only a take-over drops.
const (
	Added   merge.ChangeKind = "added"
	Stays   merge.ChangeKind = "stays"
	NotSent merge.ChangeKind = "not-sent"
	Lost    merge.ChangeKind = "lost"
)

// AllLines returns all that a report may show of an item: its NotedLines, and lines of the classes above.
func (it Item) AllLines() []ChangeLine {
	lines := append(append(it.NotedLines(), it.addedLines()...), it.linesOf(Lost, it.FirstContact)...)
	return append(append(lines, it.linesOf(Stays, it.Preserved)...), it.linesOf(NotSent, it.Collateral)...)
}

// NotedLines returns the Lines and notes of an item, which have causes, but for values that a take-over drops.
func (it Item) NotedLines() []ChangeLine {
	lines := it.Lines()
	for _, c := range it.Notes {
		lines = append(lines, ChangeLine{Change: c})
	}
	if len(it.FirstContact) > 0 {
		lost := make(map[string]bool, len(it.FirstContact))
		for _, v := range it.FirstContact {
			lost[v.Path] = true
		}
		lines = slices.DeleteFunc(lines, func(l ChangeLine) bool { return l.Desired == nil && lost[l.Path] })
	}
	return lines
}

func (it Item) linesOf(class merge.ChangeKind, values []merge.PathValue) []ChangeLine {
	k, known := kind.FindKind(it.Kind)
	return diag.MapList(values, func(v merge.PathValue) ChangeLine {
		c := Change{Difference: merge.Difference{Path: v.Path, At: v.At, Class: class, Live: v.Value}, Risk: kind.RiskServes}
		if known {
			c.Risk = k.Spec().FindField(v.Path).RiskOf(v.Value, nil)
		}
		return ChangeLine{Change: c}
	})
}

// lineKey is what changes have in common that are one line.
type lineKey struct {
	path                string // without the element
	class               merge.ChangeKind
	cause               Cause
	by                  ChangeOrigin
	commit              string
	base, live, desired any
	left                bool
	units               Units
}

// Lines returns the changes of an item in their order. If one field changes from the same value to the same
// other value in several elements of a list, that is one line, where the first of them is.
func (it Item) Lines() []ChangeLine {
	lines, first := make([]ChangeLine, 0, len(it.Changes)), map[lineKey]int{}
	for _, c := range it.Changes {
		list, element, field := "", "", ""
		if len(it.Changes) > 1 && !c.Moved && isScalar(c.Live) && isScalar(c.Desired) && (c.Base == nil || isScalar(c.Base)) {
			list, element, field = splitAtElement(c.Path)
		}
		if field == "" {
			lines = append(lines, ChangeLine{Change: c})
			continue
		}
		id := lineKey{list + "." + field, c.Class, c.Cause, c.By, "", c.Base, c.Live, c.Desired, c.Left, c.Units}
		if c.Commit != nil {
			id.commit = c.Commit.ID
		}
		i, known := first[id]
		if !known {
			first[id] = len(lines)
			lines = append(lines, ChangeLine{Change: c})
			continue
		}
		l := &lines[i]
		if l.Elements == nil {
			_, other, _ := splitAtElement(l.Path)
			l.List, l.Elements, l.Path, l.At = list, []string{other}, id.path, nil
		}
		l.Elements, l.Risk = append(l.Elements, element), max(l.Risk, c.Risk)
	}
	it.addUnserved(lines)
	return lines
}

// LinesCausedBy returns the lines that have one of the causes.
func (it Item) LinesCausedBy(causes ...Cause) []ChangeLine {
	isWanted := func(c Change) bool { return slices.Contains(causes, c.Cause) }
	if !slices.ContainsFunc(it.Changes, isWanted) {
		return nil
	}
	return slices.DeleteFunc(it.Lines(), func(l ChangeLine) bool { return !isWanted(l.Change) })
}

// splitAtElement splits the path of a field at its last list element; field is empty for other paths.
func splitAtElement(path string) (list, element, field string) {
	parts := kind.SplitAtDots(path)
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

// Parts returns what a line of an object is about: the list elements and fields of a value that goes or comes, or one field.
func (l ChangeLine) Parts(kindName string) []kind.PartCount {
	value := l.Live
	if l.Moved || l.Live != nil && l.Desired != nil {
		value = nil
	} else if l.Live == nil {
		value = l.Desired
	}
	k, ok := kind.FindKind(kindName)
	if !ok {
		return []kind.PartCount{{Noun: "field", N: 1}}
	}
	return k.CountParts(l.Path, value)
}

func isRemoval(c Change) bool { return c.Live != nil && c.Desired == nil && !c.Moved }

// addedLines returns what a creation brings: each field of its BodySpec, and each element of a list of
// objects, as a line. Fields with a single value come first.
func (it Item) addedLines() []ChangeLine {
	k, ok := kind.FindKind(it.Kind)
	if !ok || it.Op != Create {
		return nil
	}
	rules, spec, disk := RulesFor(k, nil), it.BodySpec(), any(it.Disk)
	for _, step := range slices.Backward(k.DiskField) {
		disk = map[string]any{step: disk}
	}
	var scalars, others []ChangeLine
	for _, name := range canon.SortedKeys(spec) {
		if reflect.DeepEqual(map[string]any{name: spec[name]}, disk) {
			continue // the item has it
		}
		at := []merge.PathStep{{Field: name}}
		if _, isList := spec[name].([]any); !isList && isNoObject(spec[name]) {
			scalars = append(scalars, additionLine(k, merge.FieldPath(at), spec[name]))
		} else {
			others = appendAdditions(others, k, rules.Fields[name], at, spec[name])
		}
	}
	return append(scalars, others...)
}

// appendAdditions appends a value, or what it consists of if there is a list of objects in it.
func appendAdditions(found []ChangeLine, k *kind.Kind, rules *merge.Rules, at []merge.PathStep, value any) []ChangeLine {
	path := merge.FieldPath(at)
	list, _ := value.([]any)
	object := canon.Object(value)
	switch {
	case rules != nil && isListOfObjects(value):
		for i, name := range merge.NameElements(rules, list) {
			found = append(found, additionLine(k, path+"["+name+"]", list[i]))
		}
	case rules != nil && slices.ContainsFunc(slices.Collect(maps.Values(object)), isListOfObjects):
		for _, name := range canon.SortedKeys(object) {
			found = appendAdditions(found, k, rules.Fields[name], append(slices.Clone(at), merge.PathStep{Field: name}), object[name])
		}
	default:
		found = append(found, additionLine(k, path, value))
	}
	return found
}

func additionLine(k *kind.Kind, path string, value any) ChangeLine {
	risk := k.Spec().FindField(path).RiskOf(nil, value)
	return ChangeLine{Change: Change{Difference: merge.Difference{Path: path, Class: Added, Desired: value}, Risk: risk}}
}

func isListOfObjects(v any) bool {
	list, _ := v.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, isNoObject)
}

func isNoObject(v any) bool { return canon.Object(v) == nil }

// BodySpec returns the spec in the body of the request, or of an offline plan, or nil.
func (it Item) BodySpec() map[string]any { return canon.Object(canon.DecodeTrusted(it.BodySpecText())) }

// BodySpecText is BodySpec as canonical JSON, which is null for nil.
func (it Item) BodySpecText() []byte {
	text := it.Spec
	if it.Request != nil {
		text = it.Request.Body
	}
	text, err := canon.Canonicalize(text)
	if err == nil && it.Request == nil {
		return text
	}
	for key, value := range canon.Members(text) {
		if string(key) == "spec" {
			return value
		}
	}
	return []byte("null")
}

// decodedObject is nil for what is no JSON object.
func decodedObject(text []byte) map[string]any {
	v, _ := canon.Decode(text)
	return canon.Object(v)
}

// UnservedNames returns the hostnames and the paths of locations that the object no longer serves, or only in part, once
// the request is sent.
func (it Item) UnservedNames() (names []string) {
	for _, s := range it.Stops {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// addUnserved adds to each line what it takes away. If the hostname changes, its line takes away what that served, and no line
// of a location says it again.
func (it Item) addUnserved(lines []ChangeLine) {
	if len(it.Stops) == 0 {
		return
	}
	k, _ := kind.FindKind(it.Kind)
	isHostname := func(l ChangeLine) bool { return k != nil && l.Path == k.HostField && !l.Left }
	at := slices.IndexFunc(lines, isHostname)
	for _, s := range it.Stops {
		if at >= 0 && kind.HostKey(canon.TextAt(it.withLiveBefore(lines[at]).Live)) == s.Host {
			lines[at].Unserved = append(lines[at].Unserved, s.Name)
			continue
		}
		for i := range lines {
			if l := &lines[i]; !l.Left && it.withLiveBefore(*l).takesAway(s) {
				l.Unserved = append(l.Unserved, s.Name)
			}
		}
	}
}

// withLiveBefore returns a line whose Live is the value before: what happened outside git went from git's value to live's.
func (it Item) withLiveBefore(l ChangeLine) ChangeLine {
	if it.Happened {
		l.Live, l.Desired = l.Desired, l.Live
	}
	return l
}

// locations is the list of a CDN's locations.
const locations = "locations"

// takesAway reports whether the line removes or renames a location that answered requests.
func (l ChangeLine) takesAway(s routing.UnansweredRequests) bool {
	was, _ := l.Live.(string)
	isLocation := strings.HasPrefix(l.Path, locations+"[") && strings.HasSuffix(l.Path, "]")
	if location, isObject := l.Live.(map[string]any); isObject && isRemoval(l.Change) && isLocation {
		l := routing.ReadConfig(map[string]any{locations: []any{location}}).Locations[0]
		return s.WasServedBy(l.Host, l.Path)
	}
	list, name, field := splitAtElement(l.Path)
	names := []string{name}
	if l.Elements != nil {
		list, names, field = l.List, l.Elements, strings.TrimPrefix(l.Path, l.List+".")
	}
	return list == locations && slices.ContainsFunc(names, func(element string) bool {
		name, _ := kind.StepName("[" + element)
		host, path, _ := strings.Cut(name, "/") // of the location, once it is renamed
		return field == "host" && s.WasServedBy(was, "/"+path) || field == "path" && s.WasServedBy(host, was)
	})
}
