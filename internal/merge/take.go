package merge

import (
	"cmp"
	"slices"

	"trueup/internal/canon"
)

// Take returns a live value as git would have it: in the documented types,
// without nulls and without what the rules ignore or leave to the server, lists
// whose order means nothing in the order of their keys. It never mutates.
func Take(rules *Rules, live any) any {
	taken := Managed(rules, carried(rules, live))
	SortSets(rules, taken)
	return taken
}

// Keyed reports whether the elements of a list are told apart by their keys, so that
// one which is sent takes along what git does not mention of it (docs/design.md B3).
func Keyed(r *Rules, list []any) bool {
	list, _ = elements(list)
	_, keyed := keysOf(r.key(), list)
	return keyed
}

// SortSets puts the lists in v whose order means nothing in the order of their
// keys; elements that have none, or one of another, are paired by their place and
// keep it. It changes v.
func SortSets(r *Rules, v any) {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			SortSets(r.field(k), e)
		}
	case []any:
		for _, e := range t {
			SortSets(r.item(), e)
		}
		if _, keyed := keysOf(r.key(), t); r.set() && (keyed || len(r.key()) == 0) {
			slices.SortStableFunc(t, func(a, b any) int { return compareElements(r.key(), a, b) })
		}
	}
}

// compareElements orders two elements by the parts of their key, and where these
// are the same by all that they are.
func compareElements(key []string, a, b any) int {
	for _, part := range key {
		x, _ := text(fieldOf(a, part))
		y, _ := text(fieldOf(b, part))
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return slices.Compare(canon.Bytes(a), canon.Bytes(b))
}
