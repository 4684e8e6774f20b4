package merge

import (
	"fmt"

	"trueup/internal/canon"
)

// Mismatch is a path that a server did not keep as it was sent.
type Mismatch struct {
	Path string
	// Sent and Returned are nil where the value is absent.
	Sent, Returned any
	// Hint is the override to write if the server is right, in the form that
	// the project file has: {path: spec.locations, order: set}.
	Hint string
}

// Mismatches lists where got, a spec that was read back, lacks what want says:
// want is Apply(patch, live) or desired itself (docs/design.md 0.17, 0.19, B8). What
// got has beyond want does not matter, but for elements of lists.
func Mismatches(rules *Rules, want, got any) []Mismatch {
	var c comparison
	c.value(node{rules: rules, want: want, have: got}, "spec")
	return c.found
}

type comparison struct{ found []Mismatch }

// value compares one place; field is its path without the names of elements,
// as overrides write it.
func (c *comparison) value(n node, field string) {
	if Covers(n.rules, n.want, n.have) {
		return
	}
	switch want := n.want.(type) {
	case map[string]any:
		if _, ok := n.have.(map[string]any); ok {
			for _, k := range canon.SortedKeys(want) {
				c.value(n.field(k), joinPath(field, k))
			}
			return
		}
	case []any:
		if have, ok := n.have.([]any); ok {
			c.list(n, field, want, have)
			return
		}
	}
	hint := "ignore: true"
	x, xOK := number(n.want)
	if y, yOK := number(n.have); xOK && yOK && x == y {
		hint = "type: number"
	}
	c.add(n, field, hint)
}

func (c *comparison) list(n node, field string, want, have []any) {
	want, _ = elements(want)
	have, _ = elements(have)
	p := pair(n.rules, want, have)
	if len(n.rules.key()) == 0 && len(want) == len(have) {
		anywhere := matchValues(n.rules.item(), want, have, func(i, j int) bool { return Covers(n.rules.item(), want[i], have[j]) })
		if full(anywhere) {
			p.of = anywhere
		}
	}
	if !n.rules.set() && len(displaced(p.of)) > 0 {
		c.add(n, field, "order: set")
	}
	names := nameElements(n.rules, want, have)
	for i, e := range want {
		child := n.element(names.of(e, i), Step{Index: i, Live: p.of[i], After: i})
		child.want = e
		if p.of[i] >= 0 {
			child.have = have[p.of[i]]
		}
		c.value(child, field)
	}
	for j, i := range inverse(p.of, len(have)) {
		if i < 0 {
			extra := n.element(names.of(have[j], j), liveElement(j))
			extra.have = have[j]
			c.value(extra, field)
		}
	}
}

func full(of []int) bool {
	for _, j := range of {
		if j < 0 {
			return false
		}
	}
	return true
}

func (c *comparison) add(n node, field, override string) {
	c.found = append(c.found, Mismatch{
		Path: n.path, Sent: n.want, Returned: n.have,
		Hint: fmt.Sprintf("{path: %s, %s}", field, override),
	})
}
