package report

import (
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// textLine is one line of an object's text.
type textLine struct {
	text safe
	// below is the path of the object that the line is in.
	below safe
	// mark and cause say what became of a value and why, on its first line.
	mark  mark
	cause safe
	alarm bool
}

// side is one of the two texts of an object.
type side uint8

const (
	live side = iota
	git
)

// branch is a node of the tree that holds all that a plan says of an object:
// what differs, what is kept, what is dropped.
type branch struct {
	name  string
	kids  map[string]*branch
	value [2]any
	has   [2]bool
	moved bool
	// mark, cause and alarm are those of the row that the branch would have.
	mark  mark
	cause safe
	alarm bool
}

// at is the branch at a path, which is made where there is none.
func (b *branch) at(parts []string) *branch {
	for _, part := range parts {
		if b.kids == nil {
			b.kids = map[string]*branch{}
		}
		kid := b.kids[part]
		if kid == nil {
			kid = &branch{name: part}
			b.kids[part] = kid
		}
		b = kid
	}
	return b
}

// put sets the value of a side; an object becomes branches.
func (b *branch) put(s side, v any) {
	if v == nil {
		return
	}
	b.has[s] = true
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		b.value[s] = v
		return
	}
	for k, below := range object {
		if below == nil {
			below = jsonNull{}
		}
		b.at([]string{k}).put(s, below)
	}
}

// jsonNull is a null that stands in an object; a nil is nothing at all.
type jsonNull struct{}

// MarshalJSON writes null.
func (jsonNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// bracketed splits a path into the names of fields, and the keys of list
// elements with their brackets.
func bracketed(path string) []string {
	var out []string
	for _, part := range kind.PathParts(path) {
		start, depth := 0, 0
		for i := range len(part) {
			switch part[i] {
			case '[':
				if depth == 0 && start < i {
					out, start = append(out, part[start:i]), i
				}
				depth++
			case ']':
				if depth--; depth == 0 {
					out, start = append(out, part[start:i+1]), i+1
				}
			}
		}
		if start < len(part) {
			out = append(out, part[start:])
		}
	}
	if len(out) == 0 {
		return []string{path}
	}
	return out
}

// objectTree is all that a plan says of an object's fields.
func objectTree(item plan.Item, opts Options) *branch {
	root := &branch{}
	if item.Op == plan.Create || item.Op == plan.Post {
		root.put(git, anyObject(item.BodySpec()))
		return root
	}
	for _, v := range item.Preserved {
		b := root.at(bracketed(v.Path))
		b.put(live, v.Value)
		b.put(git, v.Value)
		b.cause = clean("kept: not managed here")
	}
	for _, v := range item.Collateral {
		b := root.at(bracketed(v.Path))
		b.put(live, v.Value)
		b.cause = clean("dropped: removed with its parent")
	}
	for _, c := range slices.Concat(item.Changes, item.Notes) {
		if !visible(c.Class, opts) {
			continue
		}
		r, b := changeRow(item.Kind, c), root.at(bracketed(c.Path))
		b.put(live, c.Live)
		if c.Class == plan.Unmanaged {
			b.put(git, c.Live)
		}
		b.put(git, c.Desired)
		b.mark, b.cause, b.alarm, b.moved = r.mark, r.cause, r.alarm, c.Moved
	}
	for _, v := range item.FirstContact {
		b := root.at(bracketed(v.Path))
		b.put(live, v.Value)
		b.mark, b.cause, b.alarm = markLost, clean(lostCause), true
	}
	return root
}

// anyObject is nil where there is no object: a nil map is a value.
func anyObject(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}

// textOf is the text of one side of an object.
func textOf(root *branch, s side) []textLine {
	t := objectText{side: s}
	t.kids(root, 0, safe{})
	return t.lines
}

// objectText writes values as YAML does, but for list elements, which stand
// under their keys where they have any.
type objectText struct {
	side  side
	lines []textLine
	// next has what is said of the next line.
	next textLine
}

func (t *objectText) line(depth int, text safe) {
	t.next.text = safetext.F("%s%s", safetext.Spaces(2*depth), text)
	t.lines = append(t.lines, t.next)
	t.next = textLine{below: t.next.below}
}

func (t *objectText) kids(b *branch, depth int, below safe) {
	for _, name := range slices.SortedFunc(maps.Keys(b.kids), byIndex) {
		t.branch(b.kids[name], depth, below)
	}
}

// byIndex sorts the numbers of list elements as numbers.
func byIndex(a, b string) int {
	if len(a) != len(b) && strings.Trim(a, "[0123456789]") == "" && strings.Trim(b, "[0123456789]") == "" {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// holds reports whether there is anything of a side in a branch.
func (b *branch) holds(s side) bool {
	if b.has[s] {
		return true
	}
	for _, kid := range b.kids {
		if kid.holds(s) {
			return true
		}
	}
	return false
}

func (t *objectText) branch(b *branch, depth int, below safe) {
	if !b.holds(t.side) {
		return
	}
	name, path := clean(b.name), below
	if strings.HasPrefix(b.name, "[") {
		path = safetext.F("%s%s", path, name)
	} else {
		name = flowText(b.name)
		path = safetext.Join(safetext.Filled(below, clean(b.name)), ".")
	}
	t.next = textLine{below: below, mark: b.mark, cause: b.cause, alarm: b.alarm}
	switch v := b.value[t.side]; {
	case b.moved && t.side == live:
		t.line(depth, safetext.F("%s: (elsewhere in the list)", name))
	case b.moved:
		t.line(depth, safetext.F("%s: (moved here)", name))
	case v != nil:
		t.value(depth, safetext.F("%s: ", name), v)
	default:
		t.line(depth, safetext.F("%s:", name))
	}
	t.kids(b, depth+1, path)
}

// value writes a value behind a name, on lines of its own where it needs them.
func (t *objectText) value(depth int, before safe, v any) {
	lead := clean(strings.TrimRight(before.String(), " "))
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			t.line(depth, lead)
			for _, k := range canon.SortedKeys(v) {
				t.value(depth+1, safetext.F("%s: ", flowText(k)), v[k])
			}
			return
		}
	case []any:
		if len(v) > 0 {
			t.line(depth, lead)
			for _, e := range v {
				t.element(depth+1, e)
			}
			return
		}
	case string:
		if strings.Contains(v, "\n") {
			t.block(depth, before, v)
			return
		}
		t.line(depth, safetext.F("%s%s", before, flowText(v)))
		return
	}
	t.line(depth, safetext.F("%s%s", before, literal(v)))
}

// element writes an element of a list that has no keys: an object or a list
// begins behind the dash.
func (t *objectText) element(depth int, v any) {
	first := len(t.lines)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(v) {
			t.value(depth+1, safetext.F("%s: ", flowText(k)), v[k])
		}
	case []any:
		for _, e := range v {
			t.element(depth+1, e)
		}
	}
	if first == len(t.lines) {
		t.value(depth, clean("- "), v)
		return
	}
	line := t.lines[first].text.String()
	t.lines[first].text = clean(line[:2*depth] + "- " + line[2*depth+2:])
}

// block writes a text of several lines as such.
func (t *objectText) block(depth int, before safe, text string) {
	body, ended := strings.CutSuffix(text, "\n")
	var mark safe = clean("|")
	switch {
	case !ended:
		mark = clean("|-")
	case strings.HasSuffix(body, "\n"):
		mark = clean("|+")
	}
	t.line(depth, safetext.F("%s%s", before, mark))
	for line := range strings.SplitSeq(body, "\n") {
		t.line(depth+1, clean(line))
	}
}

// valueLines is the text of a value.
func valueLines(v any) []textLine {
	var t objectText
	switch v := v.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(v) {
			t.value(0, safetext.F("%s: ", flowText(k)), v[k])
		}
	case []any:
		for _, e := range v {
			t.element(0, e)
		}
	default:
		t.value(0, safe{}, v)
	}
	return t.lines
}
