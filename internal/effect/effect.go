// Package effect applies a merge patch to a live object, and compares the result with the lines that a
// plan shows. It shares no code with the packages that make the plan, so it finds what they hide.
package effect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// ShownChange is a change that a plan shows.
type ShownChange struct {
	Path        string     // the path for people: locations[/static/*].cache.edgeTTL
	At          []PathStep // the place in the spec
	Live, After any        // Live and After are the values of the line; nil is absent
	Moved       bool       // Moved: the line shows a new position in a list, and no new value
}

func (l *ShownChange) lastStep() PathStep { return l.At[len(l.At)-1] }

// isAbsent reports whether this side lacks an element on the way to the line.
func (l *ShownChange) isAbsent(side func(PathStep) any) bool {
	return slices.ContainsFunc(l.At, func(s PathStep) bool { return side(s) == any(Nowhere) })
}

// PathStep is one step down a spec: to an element of a list, or to a field.
type PathStep struct {
	Element bool
	Field   string
	// Index, Live and After are the element's indices in desired, in live, and in what
	// the patch makes of live. They count from 0 and skip nulls; a list that lacks the
	// element has Nowhere.
	Index, Live, After int
	// Renamed says that the last-applied spec has the element under another key.
	Renamed bool
}

// Nowhere is the index of an element in a list that lacks it.
const Nowhere = -1

// IsLiveOnly reports whether the step leads to an element that desired lacks.
func (s PathStep) IsLiveOnly() bool { return s.Element && s.Index == Nowhere }

// liveKey and afterKey return the name of the field, or the index of the element.
func (s PathStep) liveKey() any  { return s.nameOrIndex(s.Live) }
func (s PathStep) afterKey() any { return s.nameOrIndex(s.After) }

func (s PathStep) nameOrIndex(index int) any {
	if s.Element {
		return index
	}
	return s.Field
}

// UnshownChanges returns a sentence for each place that the request would change although no line shows it, and
// for each line that shows something else. body is a merge patch (RFC 7396) of an object with spec live.
func UnshownChanges(body []byte, live any, lines []ShownChange) []string {
	var patch map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&patch); err != nil {
		return []string{"the request is not JSON: " + err.Error()}
	}
	c := specComparison{live: live, after: ApplyPatch(patch["spec"], live), lines: lines}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if name != "spec" && !isPrecondition(name, patch[name]) {
			c.addProblem("this request would also change %s", name)
		}
	}
	at := comparedPlace{path: "spec", live: &changeTree{}, after: &changeTree{}}
	for i := range lines {
		at.live.addLine(&lines[i], PathStep.liveKey)
		at.after.addLine(&lines[i], PathStep.afterKey)
	}
	c.comparePlace(at, live, c.after)
	slices.Sort(c.found)
	c.checkLines()
	return c.found
}

// ApplyPatch returns target with a merge patch applied (RFC 7396, section 2). It changes neither; the result
// may share parts with both.
func ApplyPatch(patch, target any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	was, _ := target.(map[string]any)
	result := make(map[string]any, len(was)+len(fields))
	maps.Copy(result, was)
	for name, value := range fields {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = ApplyPatch(value, result[name])
		}
	}
	return result
}

// isPrecondition reports whether a field beside spec is the compared resourceVersion, which a server
// checks and does not keep.
func isPrecondition(name string, value any) bool {
	metadata, _ := value.(map[string]any)
	_, isText := metadata["resourceVersion"].(string)
	return name == "metadata" && len(metadata) == 1 && isText
}

// specComparison is one comparison; found has its sentences.
type specComparison struct {
	live, after any
	lines       []ShownChange
	found       []string
}

func (c *specComparison) addProblem(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// comparedPlace is the place of the walk. live and after have the lines at and below it, or are nil.
type comparedPlace struct {
	path        string // with indices of live
	live, after *changeTree
}

func (p comparedPlace) fieldPlace(name string) comparedPlace {
	return comparedPlace{p.path + "." + name, p.live.childAt(name), p.after.childAt(name)}
}

func (p comparedPlace) elementPlace(live, after int) comparedPlace {
	return comparedPlace{fmt.Sprintf("%s[%d]", p.path, live), p.live.childAt(live), p.after.childAt(after)}
}

// comparePlace compares a place of live and after, down to what lines show.
func (c *specComparison) comparePlace(at comparedPlace, live, after any) {
	isShown := slices.ContainsFunc(at.live.linesHere(), func(line *ShownChange) bool { return !line.Moved && slices.Contains(at.after.linesHere(), line) })
	if isShown || isEmpty(live) && isEmpty(after) || at.live == nil && at.after == nil && equalValues(live, after) {
		return
	}
	switch was := live.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			c.compareFields(at, was, is)
			return
		}
	case []any:
		if is, ok := after.([]any); ok {
			c.compareElements(at, withoutNulls(was), withoutNulls(is))
			return
		}
	}
	if !equalValues(live, after) {
		c.addProblem("this request would also change %s", at.path)
	}
}

func (c *specComparison) compareFields(at comparedPlace, live, after map[string]any) {
	for name := range live {
		c.comparePlace(at.fieldPlace(name), live[name], after[name])
	}
	for name := range after {
		if _, had := live[name]; !had {
			c.comparePlace(at.fieldPlace(name), nil, after[name])
		}
	}
}

// compareElements compares two lists. Lines may show elements as dropped, added or moved; the others must be the
// same in the same order.
func (c *specComparison) compareElements(at comparedPlace, live, after []any) {
	gone, come := make([]bool, len(live)), make([]bool, len(after))
	var pairs [][2]int
	for i := range live {
		for _, line := range at.live.childAt(i).linesHere() {
			j := line.lastStep().After
			gone[i] = gone[i] || j < 0
			if line.Moved && slices.Contains(at.after.childAt(j).linesHere(), line) {
				gone[i], come[j], pairs = true, true, append(pairs, [2]int{i, j})
			}
		}
	}
	for j := range after {
		for _, line := range at.after.childAt(j).linesHere() {
			come[j] = come[j] || line.lastStep().Live < 0
		}
	}
	was, is := unsetIndices(gone), unsetIndices(come)
	if len(was) != len(is) {
		c.addProblem("this request would also add, drop or move elements of %s", at.path)
		return
	}
	for n := range was {
		pairs = append(pairs, [2]int{was[n], is[n]})
	}
	for _, p := range pairs {
		c.comparePlace(at.elementPlace(p[0], p[1]), live[p[0]], after[p[1]])
	}
}

func (c *specComparison) checkLines() {
	first := map[[2]any]*ShownChange{}
	for i := range c.lines {
		line := &c.lines[i]
		was, is := valueAt(c.live, line.At, PathStep.liveKey), valueAt(c.after, line.At, PathStep.afterKey)
		changes := line.Moved || equalValues(line.Live, was) && equalValues(line.After, is) && !equalValues(was, is)
		id := [2]any{line.Path, line.isAbsent(PathStep.afterKey)}
		other, twice := first[id]
		first[id] = line
		switch {
		case !changes:
			c.addProblem("the plan's change of %s differs from what this request does", line.Path)
		case !pathMatchesPlace(line.Path, line.At, c.live, c.after):
			c.addProblem("the plan shows a change of %s, but that path names another value", line.Path)
		case twice && !slices.Equal(other.At, line.At) &&
			(!equalValues(other.Live, line.Live) || !equalValues(other.After, line.After)):
			c.addProblem("the plan shows the changes of two places under one path, %s", line.Path)
		}
	}
}

// changeTree has lines by their places; nil has none.
type changeTree struct {
	lines []*ShownChange
	kids  map[any]*changeTree
}

// addLine adds a line, unless this side lacks its place.
func (t *changeTree) addLine(line *ShownChange, side func(PathStep) any) {
	if line.isAbsent(side) {
		return
	}
	for _, s := range line.At {
		step := side(s)
		if t.kids == nil {
			t.kids = map[any]*changeTree{}
		}
		if t.kids[step] == nil {
			t.kids[step] = &changeTree{}
		}
		t = t.kids[step]
	}
	t.lines = append(t.lines, line)
}

func (t *changeTree) childAt(step any) *changeTree {
	if t == nil {
		return nil
	}
	return t.kids[step]
}

func (t *changeTree) linesHere() []*ShownChange {
	if t == nil {
		return nil
	}
	return t.lines
}

// unsetIndices returns the indices of the false flags.
func unsetIndices(flags []bool) (indices []int) {
	for i, set := range flags {
		if !set {
			indices = append(indices, i)
		}
	}
	return indices
}

// equalValues compares two JSON values. A null member or element counts as absent, and a text as the number or
// boolean that it spells: servers answer 443 for "443".
func equalValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalFields(x, y)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(withoutNulls(x), withoutNulls(y), equalValues)
	}
	x, xOK := scalarText(a)
	y, yOK := scalarText(b)
	return a == nil && b == nil || xOK && yOK && x == y
}

// isEmpty reports whether a value says nothing: servers answer an empty object, an empty list, null or nothing for each
// other. A line may show more.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if !isEmpty(field) {
				return false
			}
		}
		return true
	case []any:
		return len(withoutNulls(v)) == 0
	}
	return v == nil
}

func equalFields(x, y map[string]any) bool {
	for name, value := range x {
		if !equalValues(value, y[name]) {
			return false
		}
	}
	for name, value := range y {
		if value != nil && x[name] == nil {
			return false
		}
	}
	return true
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool, int:
		return fmt.Sprint(v), true
	}
	return "", false
}

func withoutNulls(list []any) []any {
	if !slices.Contains(list, nil) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
}
