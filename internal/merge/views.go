package merge

import "trueup/internal/canon"

// WithoutRefilledNulls returns desired without the nulls that were applied and that live has a value for, and these values. If
// the server did not keep what was sent, they are its own, and another null would change nothing. It never mutates.
func WithoutRefilledNulls(in Sides) (desired any, back []PathValue) {
	in.Pending = nil
	desired = withoutRefilled(in.rootNode(), &back)
	return desired, back
}

func withoutRefilled(n node, back *[]PathValue) any {
	if n.rules.isExcluded() || n.have == nil || n.base.applied == nil {
		return n.want
	}
	switch want := n.want.(type) {
	case map[string]any:
		out := make(map[string]any, len(want))
		for _, k := range canon.SortedKeys(want) {
			c := n.fieldNode(k)
			if c.banned && c.have != nil && !c.rules.isExcluded() {
				*back = append(*back, c.toValue(c.have))
				continue
			}
			out[k] = withoutRefilled(c, back)
		}
		return out
	case []any:
		have, ok := n.have.([]any)
		if !ok {
			return n.want
		}
		l := n.pairElements(withoutNulls(want), withoutNulls(have))
		out := make([]any, len(l.git))
		for i := range l.git {
			out[i] = withoutRefilled(l.desiredNode(i, i), back)
		}
		return out
	}
	return n.want
}

// LiveOnlyFields lists the fields of live that git neither has nor had: the server's defaults, and what
// another client set (docs/design.md B4). Git owns the whole of a list that it has.
func LiveOnlyFields(in Sides) []Difference { return appendLiveOnly(nil, in.rootNode()) }

func appendLiveOnly(found []Difference, n node) []Difference {
	if n.rules.isExcluded() {
		return found
	}
	switch want := n.want.(type) {
	case map[string]any:
		have, _ := n.have.(map[string]any)
		stale := n.rules.staleVariantField(want, have)
		for _, k := range canon.SortedKeys(have) {
			c := n.fieldNode(k)
			if _, said := want[k]; said {
				found = appendLiveOnly(found, c)
			} else if c.have != nil && k != stale && !c.base.isKnown() {
				found = append(found, Difference{Path: c.path, At: c.at.steps(), Class: Unmanaged, Live: c.have})
			}
		}
	case []any:
		l := n.pairElements(withoutNulls(want), withoutNulls(n.have))
		for i := range l.git {
			if l.keyed[i] { // a field belongs to an element that is known to be the same
				found = appendLiveOnly(found, l.desiredNode(i, i))
			}
		}
	}
	return found
}
