package manifest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ScalarType is what an unquoted scalar means.
type ScalarType uint8

// What an unquoted scalar can mean.
const (
	PlainText ScalarType = iota
	// PlainBool is true or false, plainNumber a number of JSON's grammar.
	PlainBool
	PlainNumber
	// PlainNull is the literal null. plainEmpty is an empty value or another spelling of null.
	PlainNull
	PlainEmpty
	// LooseBool and looseNumber are a boolean or a number for some readers of YAML (1.1, or 1.2 beyond
	// JSON) and a text for others.
	LooseBool
	LooseNumber
)

// Name returns boolean or number.
func (p ScalarType) Name() string {
	if p == PlainBool || p == LooseBool {
		return "boolean"
	}
	return "number"
}

// ResolveScalar returns what an unquoted scalar means.
func ResolveScalar(s string) ScalarType {
	switch {
	case s == "", s == "~", s == "Null", s == "NULL":
		return PlainEmpty
	case s[0] >= '0' && s[0] <= '9' || strings.IndexByte("-+.", s[0]) >= 0:
		if isJSONNumber(s) {
			return PlainNumber
		}
		if looseNumbers().MatchString(s) {
			return LooseNumber
		}
	case s == "true", s == "false":
		return PlainBool
	case s == "null":
		return PlainNull
	case len(s) <= len("false"):
		if _, ok := ParseBool(s); ok {
			return LooseBool
		}
	}
	return PlainText
}

// ParseBool reads the booleans of YAML 1.1 in their three spellings.
func ParseBool(s string) (value, ok bool) {
	lower := strings.ToLower(s)
	if s != lower && s != strings.ToUpper(s) && s != strings.ToUpper(s[:1])+lower[1:] {
		return false, false
	}
	switch lower {
	case "y", "yes", "on", "true":
		return true, true
	case "n", "no", "off", "false":
		return false, true
	}
	return false, false
}

// isJSONNumber reports whether s is a number as JSON writes it.
func isJSONNumber(s string) bool {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && json.Valid([]byte(s))
}

// inDoubleRange reports whether a JSON number fits into double precision: it does not become infinity, and only zero
// becomes zero.
func inDoubleRange(s string) bool {
	value, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return value != 0 || !strings.ContainsAny(mantissa, "123456789")
}

// looseNumbers matches numbers of YAML 1.1 or 1.2 that JSON does not have: other bases, underscores,
// sexagesimals, a plus, a bare point, infinity.
var looseNumbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?(` +
		`0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+` +
		`|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?` +
		`|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?` +
		`|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?` +
		`|\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
})
