package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

type textLine struct {
	text safe
	// below is the path of the enclosing object.
	below safe
	reason
}

// side selects one of the two texts of an object.
type side uint8

const (
	fromSide side = iota
	toSide
)

// branch is a node in the tree of the fields that a plan has for an object.
type branch struct {
	name  string
	kids  map[string]*branch
	value [2]any
	moved bool
	reason
}

// at returns the branch at a path, and creates it if missing.
func (b *branch) at(parts ...string) *branch {
	for _, part := range parts {
		if b.kids == nil {
			b.kids = map[string]*branch{}
		}
		if b.kids[part] == nil {
			b.kids[part] = &branch{name: part}
		}
		b = b.kids[part]
	}
	return b
}

// put sets the value of a side. The fields of an object become branches.
func (b *branch) put(s side, v any) {
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		if v != nil {
			b.value[s] = v
		}
		return
	}
	for k, below := range object {
		if below == nil {
			below = jsonNull{}
		}
		b.at(k).put(s, below)
	}
}

// jsonNull is a null in an object; nil means no value.
type jsonNull struct{}

// MarshalJSON writes null.
func (jsonNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func objectTree(item plan.Item, opts Options) *branch {
	root := &branch{}
	if item.Op == plan.Create || item.Op == plan.Post {
		if spec := item.BodySpec(); spec != nil {
			root.put(toSide, spec)
		}
		return root
	}
	add := func(path string, before, after any, why reason) *branch {
		steps, _ := kind.SplitPath(path)
		b := root.at(steps...)
		b.put(fromSide, before)
		b.put(toSide, after)
		b.reason = why
		return b
	}
	for _, v := range item.Preserved {
		add(v.Path, v.Value, v.Value, reason{Cause: clean("live only: it stays")})
	}
	for _, v := range item.Collateral {
		why := safetext.Filled(clean("not sent: not in git"), risky(item, riskAt(item.Kind, v.Path, v.Value)))
		add(v.Path, cmp.Or(v.Value, any(jsonNull{})), nil, reason{Cause: safetext.Join(why, "; ")})
	}
	for _, l := range linesOfItem(item) {
		if !visible(l.Class, opts) {
			continue
		}
		after := l.Desired
		if l.Class == merge.Unmanaged && after == nil {
			after = l.Live
		}
		before := l.Live
		if item.Happened {
			before, after = after, before
		}
		add(l.Path, before, after, lineRow(item, l, opts).reason).moved = l.Moved
	}
	for _, v := range item.FirstContact {
		add(v.Path, v.Value, nil, lostReason())
	}
	return root
}

func textOf(root *branch, s side) []textLine {
	t := objectText{side: s}
	t.kids(root, 0, safe{})
	return t.lines
}

// objectText writes values as YAML, except that list elements are below their keys.
type objectText struct {
	side  side
	lines []textLine
	// next has the path and reason for the next line.
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

// byIndex compares names, and indexes such as [10] by number.
func byIndex(a, b string) int {
	if len(a) != len(b) && strings.Trim(a, "[0123456789]") == "" && strings.Trim(b, "[0123456789]") == "" {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// holds reports whether a branch, or one below it, has a value on that side.
func (b *branch) holds(s side) bool {
	if b.value[s] != nil {
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
	t.next = textLine{below: below, reason: b.reason}
	switch v := b.value[t.side]; {
	case b.moved && t.side == fromSide:
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

// value writes a value after a name, or on the lines below it.
func (t *objectText) value(depth int, before safe, v any) {
	text, isText := v.(string)
	switch {
	case hasMembers(v):
		t.line(depth, before.TrimRight())
		t.members(depth+1, v)
	case isText && strings.Contains(text, "\n"):
		t.block(depth, before, text)
	case isText:
		t.line(depth, safetext.F("%s%s", before, flowText(text)))
	default:
		t.line(depth, safetext.F("%s%s", before, literal(v)))
	}
}

// hasMembers reports whether a value is an object or a list that is not empty.
func hasMembers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// members writes the fields of an object, or the elements of a list after dashes.
func (t *objectText) members(depth int, v any) {
	object, _ := v.(map[string]any)
	for _, k := range canon.SortedKeys(object) {
		t.value(depth, safetext.F("%s: ", flowText(k)), object[k])
	}
	list, _ := v.([]any)
	for _, e := range list {
		if !hasMembers(e) {
			t.value(depth, clean("- "), e)
			continue
		}
		first := len(t.lines)
		t.members(depth+1, e)
		line := t.lines[first].text.String()
		t.lines[first].text = clean(line[:2*depth] + "- " + line[2*depth+2:])
	}
}

// block writes a string with several lines as a YAML block scalar.
func (t *objectText) block(depth int, before safe, text string) {
	body, ended := strings.CutSuffix(text, "\n")
	mark := "|"
	switch {
	case !ended:
		mark = "|-"
	case strings.HasSuffix(body, "\n"):
		mark = "|+"
	}
	t.line(depth, safetext.F("%s%s", before, mark))
	for line := range strings.SplitSeq(body, "\n") {
		t.line(depth+1, clean(line))
	}
}

func valueLines(v any) []textLine {
	var t objectText
	if hasMembers(v) {
		t.members(0, v)
	} else {
		t.value(0, safe{}, v)
	}
	return t.lines
}
