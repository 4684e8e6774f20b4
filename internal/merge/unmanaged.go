package merge

import "trueup/internal/canon"

// LeftAlone lists the fields of live that git neither has nor had: the server's
// defaults, and what somebody set beside git (docs/design.md B4, unmanaged). Elements of
// lists are no such fields: a list that git has is git's whole.
func LeftAlone(in Input) []Change {
	n := node{rules: in.Rules, base: base{applied: in.Applied, pending: in.Pending}, want: in.Desired, have: in.Live, byKey: true}
	var found []Change
	leftAlone(n, &found)
	return found
}

func leftAlone(n node, found *[]Change) {
	if n.rules.excluded() {
		return
	}
	switch want := n.want.(type) {
	case map[string]any:
		have, _ := n.have.(map[string]any)
		stale := n.rules.staleSibling(want, have)
		for _, k := range canon.SortedKeys(have) {
			c := n.field(k)
			_, said := want[k]
			switch {
			case said:
				leftAlone(c, found)
			case c.have != nil && k != stale && !c.base.known():
				*found = append(*found, Change{Path: c.path, At: c.at.steps(), Class: Unmanaged, Live: c.have})
			}
		}
	case []any:
		have, _ := n.have.([]any)
		leftInElements(n, want, have, found)
	}
}

func leftInElements(n node, want, have []any, found *[]Change) {
	want, _ = elements(want)
	have, _ = elements(have)
	p := pair(n.rules, want, have)
	names := nameElements(n.rules, want, have)
	records := recordsOf(n.rules, want, n.base)
	for i, j := range p.of {
		if j < 0 || !p.byKey[i] {
			continue // a field belongs to an element that is known to be the same
		}
		c := n.element(names.of(want[i], i), Step{Index: i, Live: j, After: Nowhere})
		c.want, c.have, c.base = want[i], have[j], records.element(i)
		leftAlone(c, found)
	}
}
