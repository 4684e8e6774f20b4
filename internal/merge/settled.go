package merge

import (
	"encoding/json"
	"slices"

	"trueup/internal/canon"
)

// Covers reports whether live has everything that desired says (docs/design.md B5): null asks for
// absence, and lists pair one to one.
func Covers(rules *Rules, desired, live any) bool {
	return settled(rules, base{}, desired, live)
}

func same(r *Rules, a, b any) bool { return Covers(r, a, b) && Covers(r, b, a) }

// settled reports whether nothing needs sending: have covers want, and nothing that git dropped is
// there. Most comparisons end here, so it builds no paths and hardly allocates.
func settled(r *Rules, b base, want, have any) bool {
	if r.excluded() {
		return true
	}
	switch w := want.(type) {
	case nil:
		return r.isEmpty(have)
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			return settledObject(r, b, w, h)
		}
		return r.areEmpty(want, have)
	case []any:
		if h, ok := have.([]any); ok {
			return settledList(r, b, elements(w), elements(h))
		}
		return r.areEmpty(want, have)
	}
	return scalarEqual(r, want, have)
}

// isEmpty reports whether a value says nothing: it is absent or null, or, in a documented field, an empty list, or an
// object whose fields say nothing. Servers answer each of these for another one.
func (r *Rules) isEmpty(v any) bool {
	if r == nil {
		return v == nil
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if !r.field(name).isEmpty(field) {
				return false
			}
		}
		return true
	case []any:
		return len(elements(v)) == 0
	}
	return v == nil
}

func (r *Rules) areEmpty(a, b any) bool { return r.isEmpty(a) && r.isEmpty(b) }

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
		if _, said := want[k]; !said && v != nil && !r.field(k).isEmpty(have[k]) && !r.field(k).excluded() {
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

// scalarEqual compares two scalars (docs/design.md B2.3, 0.18): numbers by value, and text with a
// boolean or number if it is its canonical form; never "1.0" with 1 or "" with null. Only a field
// of type number compares numeric text by value too. A container equals no scalar.
func scalarEqual(r *Rules, a, b any) bool {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok && x == y {
			return true
		}
	}
	if r.scalarType() == Number {
		x, xOK := number(a)
		y, yOK := number(b)
		return xOK && yOK && x == y || !xOK && !yOK && textEqual(a, b)
	}
	return textEqual(a, b)
}

func textEqual(a, b any) bool {
	x, xKind := text(a)
	y, yKind := text(b)
	if xKind == notScalar || yKind == notScalar || x != y {
		return false
	}
	return xKind == yKind || xKind == isText || yKind == isText
}

type scalarKind uint8

const (
	notScalar scalarKind = iota
	isText
	isBool
	isNumber
)

// text returns the canonical text of a scalar without quotes.
func text(v any) (string, scalarKind) {
	switch t := v.(type) {
	case string:
		return t, isText
	case bool:
		if t {
			return "true", isBool
		}
		return "false", isBool
	case json.Number:
		return string(canon.Number(t)), isNumber
	case int, float64:
		return string(canon.Bytes(t)), isNumber
	}
	return "", notScalar
}

// number returns the canonical text of a number or of numeric text.
func number(v any) (string, bool) {
	s, kind := text(v)
	if kind != isText {
		return s, kind == isNumber
	}
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || !json.Valid([]byte(s)) {
		return "", false
	}
	return string(canon.Number(json.Number(s))), true
}

// typed returns a scalar in the documented type if that loses nothing (docs/design.md 0.17).
func typed(t Type, v any) any {
	s, kind := text(v)
	switch {
	case t == Text && (kind == isBool || kind == isNumber):
		return s
	case t == Bool && kind == isText && (s == "true" || s == "false"):
		return s == "true"
	case t == Number && kind == isText:
		if n, ok := number(s); ok && n == s {
			return json.Number(n)
		}
	}
	return v
}
