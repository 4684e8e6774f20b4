package merge

import (
	"encoding/json"

	"trueup/internal/canon"
)

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
