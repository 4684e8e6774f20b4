package merge

import (
	"cmp"
	"slices"

	"trueup/internal/canon"
)

// valueCopier makes a copy of a value without some fields.
type valueCopier struct {
	leaveOut     func(*Rules) bool
	nulls, typed bool // nulls keeps nulls; typed makes scalars of the documented types
}

func (f valueCopier) copyValue(r *Rules, v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			if child := r.fieldRules(k); (e != nil || f.nulls) && !f.leaveOut(child) {
				out[k] = f.copyValue(child, e)
			}
		}
		return out
	case []any:
		if !f.nulls {
			t = withoutNulls(t)
		}
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = f.copyValue(r.elementRules(), e)
		}
		return out
	}
	if f.typed {
		return convertScalar(r.scalarType(), v)
	}
	return v
}

// carryLive returns a live value as a list that is sent takes it along, in the documented types.
func carryLive(r *Rules, v any) any {
	return valueCopier{leaveOut: (*Rules).isOmitted, typed: true}.copyValue(r, v)
}

// SendableValue returns a desired value as it is sent where live has nothing to merge it with: without
// nulls and server-owned fields.
func SendableValue(r *Rules, desired any) any {
	return valueCopier{leaveOut: (*Rules).isServerOwned}.copyValue(r, desired)
}

// ManagedValue returns the part of a desired value that is git's, without excluded fields, as a copy.
func ManagedValue(rules *Rules, desired any) any {
	return valueCopier{leaveOut: (*Rules).isExcluded, nulls: true}.copyValue(rules, desired)
}

// NormalizeLive returns a live value as git would have it: in the documented types, without nulls and
// excluded fields, and with sorted sets. It never mutates.
func NormalizeLive(rules *Rules, live any) any {
	taken := valueCopier{leaveOut: (*Rules).isExcluded, typed: true}.copyValue(rules, live)
	SortSets(rules, taken)
	return taken
}

// HasOwnKeys reports whether each element of a list has its own key. Then a request keeps the fields of live elements that
// git does not mention (docs/design.md B3).
func HasOwnKeys(r *Rules, list []any) bool {
	_, keyed := elementKeysOf(r.keyFields(), withoutNulls(list))
	return keyed
}

// SortSets sorts the sets in v by their keys, and changes v. Elements of a list with incomplete
// or double keys are paired by position and stay where they are.
func SortSets(r *Rules, v any) {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			SortSets(r.fieldRules(k), e)
		}
	case []any:
		for _, e := range t {
			SortSets(r.elementRules(), e)
		}
		if _, keyed := elementKeysOf(r.keyFields(), t); r.isSet() && (keyed || len(r.keyFields()) == 0) {
			slices.SortStableFunc(t, func(a, b any) int {
				for _, part := range r.keyFields() {
					x, _ := scalarText(fieldOf(a, part))
					y, _ := scalarText(fieldOf(b, part))
					if x != y {
						return cmp.Compare(x, y)
					}
				}
				return slices.Compare(canon.Encode(a), canon.Encode(b))
			})
		}
	}
}

// WithoutRefilledNulls returns desired without the nulls that were applied and that live has a value for, and these values. If
// the server did not keep what was sent, they are its own, and another null would change nothing. It never mutates.
func WithoutRefilledNulls(in Input) (desired any, back []PathValue) {
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
func LiveOnlyFields(in Input) []Difference { return appendLiveOnly(nil, in.rootNode()) }

func appendLiveOnly(found []Difference, n node) []Difference {
	if n.rules.isExcluded() {
		return found
	}
	switch want := n.want.(type) {
	case map[string]any:
		have := canon.Object(n.have)
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
