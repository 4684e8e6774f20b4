package merge

import "slices"

// Covers reports whether live has everything that desired says (docs/design.md B5): null asks for
// absence, and lists pair one to one.
func Covers(rules *Rules, desired, live any) bool {
	return settled(rules, base{}, desired, live)
}

// same is equality under the rules.
func same(r *Rules, a, b any) bool { return Covers(r, a, b) && Covers(r, b, a) }

// settled reports whether nothing needs sending: have covers want, and nothing that git dropped is
// there. Most comparisons end here, so it builds no paths and hardly allocates.
func settled(r *Rules, b base, want, have any) bool {
	if r.excluded() {
		return true
	}
	switch w := want.(type) {
	case nil:
		return have == nil
	case map[string]any:
		h, ok := have.(map[string]any)
		return ok && settledObject(r, b, w, h)
	case []any:
		h, ok := have.([]any)
		return ok && settledList(r, b, elements(w), elements(h))
	}
	return scalarEqual(r, want, have)
}

func settledObject(r *Rules, b base, want, have map[string]any) bool {
	for k, v := range want {
		if !settled(r.field(k), b.field(k), v, have[k]) {
			return false
		}
	}
	return !holdsDropped(r, b.applied, want, have) &&
		!slices.ContainsFunc(b.pending, func(p any) bool { return holdsDropped(r, p, want, have) })
}

// holdsDropped reports whether have has a field that the record had and want has not.
func holdsDropped(r *Rules, record any, want, have map[string]any) bool {
	fields, _ := record.(map[string]any)
	for k, v := range fields {
		if _, said := want[k]; !said && v != nil && have[k] != nil && !r.field(k).excluded() {
			return true
		}
	}
	return false
}

func settledList(r *Rules, b base, want, have []any) bool {
	if len(want) != len(have) {
		return false
	}
	of, bases, item := alignment(r, want, have), b.along(r, want), r.item()
	for i, w := range want {
		j := indexIn(of, i)
		if j < 0 || j != i && !r.set() {
			return false
		}
		if !settled(item, bases.at(i), w, have[j]) {
			return false
		}
	}
	return true
}

// alignment returns the pairs of pair, or nil if both lists have the same order.
func alignment(r *Rules, xs, ys []any) []int {
	if len(xs) == len(ys) && inStep(r, xs, ys) {
		return nil
	}
	return pair(r, xs, ys).of
}

func inStep(r *Rules, xs, ys []any) bool {
	key := r.key()
	if len(key) == 0 && !r.set() {
		return true
	}
	for i := range xs {
		if len(key) == 0 && !Covers(r.item(), xs[i], ys[i]) || !equalKeys(key, xs[i], ys[i]) {
			return false
		}
	}
	return true
}

// equalKeys reports whether two objects have the same value in every part of the key.
func equalKeys(key []string, x, y any) bool {
	for _, k := range key {
		a, _ := text(fieldOf(x, k))
		if b, _ := text(fieldOf(y, k)); a != b {
			return false
		}
	}
	return true
}
