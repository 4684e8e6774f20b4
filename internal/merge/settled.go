package merge

import (
	"encoding/json"
	"slices"
	"strconv"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// LiveCovers reports whether live has everything that desired says (docs/design.md B5): null asks for
// absence, and lists pair one to one.
func LiveCovers(rules *Rules, desired, live any) bool {
	return needsNoPatch(rules, recordedValues{}, desired, live)
}

func isSame(r *Rules, a, b any) bool { return LiveCovers(r, a, b) && LiveCovers(r, b, a) }

// needsNoPatch reports whether nothing needs sending: have covers want, and nothing that git dropped is
// there. Most comparisons end here, so it builds no paths and hardly allocates.
func needsNoPatch(r *Rules, b recordedValues, want, have any) bool {
	if r.isExcluded() || canon.AreSameInMemory(want, have) {
		return true
	}
	switch w := want.(type) {
	case nil:
		return r.isEmpty(have)
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			return objectNeedsNoPatch(r, b, w, h)
		}
		return r.areEmpty(want, have)
	case []any:
		if h, ok := have.([]any); ok {
			return listNeedsNoPatch(r, b, withoutNulls(w), withoutNulls(h))
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
			if !r.fieldRules(name).isEmpty(field) {
				return false
			}
		}
		return true
	case []any:
		return len(withoutNulls(v)) == 0
	}
	return v == nil
}

// areEmpty reports whether live says nothing, and a request could not change that.
func (r *Rules) areEmpty(want, have any) bool {
	return r.isEmpty(have) && r.isEmpty(SendableValue(r, want))
}

func objectNeedsNoPatch(r *Rules, b recordedValues, want, have map[string]any) bool {
	for k, v := range want {
		if !needsNoPatch(r.fieldRules(k), b.fieldBase(k), v, have[k]) {
			return false
		}
	}
	return !hasDroppedField(r, b.applied, want, have) &&
		!slices.ContainsFunc(b.pending, func(p any) bool { return hasDroppedField(r, p, want, have) })
}

// hasDroppedField reports whether have has a field that the record had and want has not.
func hasDroppedField(r *Rules, record any, want, have map[string]any) bool {
	for k, v := range canon.Object(record) {
		if _, said := want[k]; !said && v != nil && !r.fieldRules(k).isEmpty(have[k]) && !r.fieldRules(k).isExcluded() {
			return true
		}
	}
	return false
}

func listNeedsNoPatch(r *Rules, b recordedValues, want, have []any) bool {
	if len(want) != len(have) {
		return false
	}
	of, bases, item := pairIfReordered(r, want, have), b.basesOf(r, want), r.elementRules()
	for i, w := range want {
		j := partnerIndex(of, i)
		if j < 0 || j != i && !r.isSet() {
			return false
		}
		if !needsNoPatch(item, bases.baseAt(i), w, have[j]) {
			return false
		}
	}
	return true
}

// pairIfReordered returns the pairs of pair, or nil if both lists have the same order.
func pairIfReordered(r *Rules, xs, ys []any) []int {
	if len(xs) == len(ys) && areAligned(r, xs, ys) {
		return nil
	}
	return pairLists(r, xs, ys).of
}

func areAligned(r *Rules, xs, ys []any) bool {
	key := r.keyFields()
	if len(key) == 0 && !r.isSet() {
		return true
	}
	for i := range xs {
		if len(key) == 0 && !LiveCovers(r.elementRules(), xs[i], ys[i]) || !equalKeys(key, xs[i], ys[i]) {
			return false
		}
	}
	return true
}

// equalKeys reports whether two objects have the same value in every part of the key.
func equalKeys(key []string, x, y any) bool {
	for _, k := range key {
		a, _ := scalarText(fieldOf(x, k))
		if b, _ := scalarText(fieldOf(y, k)); a != b {
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
	if r.scalarType() == kind.Number {
		x, xOK := numberText(a)
		y, yOK := numberText(b)
		return xOK && yOK && x == y || !xOK && !yOK && textEqual(a, b)
	}
	return textEqual(a, b)
}

func textEqual(a, b any) bool {
	x, xKind := scalarText(a)
	y, yKind := scalarText(b)
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

// scalarText returns the canonical text of a scalar without quotes.
func scalarText(v any) (string, scalarKind) {
	switch t := v.(type) {
	case string:
		return t, isText
	case bool:
		return strconv.FormatBool(t), isBool
	case json.Number:
		return string(canon.Number(t)), isNumber
	}
	return "", notScalar
}

// numberText returns the canonical text of a number or of numeric text.
func numberText(v any) (string, bool) {
	s, form := scalarText(v)
	if form != isText {
		return s, form == isNumber
	}
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || !json.Valid([]byte(s)) {
		return "", false
	}
	return string(canon.Number(json.Number(s))), true
}

// convertScalar returns a scalar in the documented type if that loses nothing (docs/design.md 0.17).
func convertScalar(t kind.FieldType, v any) any {
	s, form := scalarText(v)
	switch {
	case t == kind.Text && (form == isBool || form == isNumber):
		return s
	case t == kind.Bool && form == isText && (s == "true" || s == "false"):
		return s == "true"
	case t == kind.Number && form == isText:
		if n, ok := numberText(s); ok && n == s {
			return json.Number(n)
		}
	}
	return v
}
