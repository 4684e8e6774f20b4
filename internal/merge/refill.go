package merge

import "trueup/internal/canon"

// Refilled returns desired without the nulls that it had when it was last applied
// and where live has a value all the same, and lists these values. It is for a
// record whose server did not keep what was sent: what came back after a null is
// the server's own value, and to send the null again changes nothing. It never
// mutates.
func Refilled(in Input) (desired any, back []Value) {
	n := node{rules: in.Rules, base: base{applied: in.Applied}, want: in.Desired, have: in.Live, byKey: true}
	desired = refilled(n, &back)
	return desired, back
}

func refilled(n node, back *[]Value) any {
	if n.rules.excluded() || n.have == nil || n.base.applied == nil {
		return n.want
	}
	switch want := n.want.(type) {
	case map[string]any:
		out := make(map[string]any, len(want))
		for _, k := range canon.SortedKeys(want) {
			c := n.field(k)
			if c.banned && c.have != nil && !c.rules.excluded() {
				*back = append(*back, c.value(c.have))
				continue
			}
			out[k] = refilled(c, back)
		}
		return out
	case []any:
		return refilledElements(n, want, back)
	}
	return n.want
}

func refilledElements(n node, want []any, back *[]Value) any {
	have, isList := elements(n.have)
	if !isList {
		return n.want
	}
	want, _ = elements(want)
	p := pair(n.rules, want, have)
	names := nameElements(n.rules, want, have)
	records := recordsOf(n.rules, want, n.base)
	out := make([]any, len(want))
	for i, e := range want {
		out[i] = e
		if j := p.of[i]; j >= 0 {
			c := n.element(names.of(e, i), Step{Index: i, Live: j, After: Nowhere})
			c.want, c.have, c.base = e, have[j], records.element(i)
			out[i] = refilled(c, back)
		}
	}
	return out
}
