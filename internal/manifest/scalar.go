package manifest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// plain is what an unquoted scalar means.
type plain uint8

const (
	plainText plain = iota
	// plainBool is true or false, plainNumber a number of JSON's grammar.
	plainBool
	plainNumber
	// plainNull is the literal null. plainEmpty is an empty value or another spelling of null.
	plainNull
	plainEmpty
	// looseBool and looseNumber are a boolean or a number for some readers of YAML (1.1, or 1.2 beyond
	// JSON) and a text for others.
	looseBool
	looseNumber
)

func (p plain) name() string {
	if p == plainBool || p == looseBool {
		return "boolean"
	}
	return "number"
}

// resolve returns what an unquoted scalar means.
func resolve(s string) plain {
	switch {
	case s == "", s == "~", s == "Null", s == "NULL":
		return plainEmpty
	case s[0] >= '0' && s[0] <= '9' || strings.IndexByte("-+.", s[0]) >= 0:
		if isJSONNumber(s) {
			return plainNumber
		}
		if looseNumbers().MatchString(s) {
			return looseNumber
		}
	case s == "true", s == "false":
		return plainBool
	case s == "null":
		return plainNull
	case len(s) <= len("false"):
		if _, ok := booleanWord(s); ok {
			return looseBool
		}
	}
	return plainText
}

// booleanWord reads the booleans of YAML 1.1 in their three spellings.
func booleanWord(s string) (value, ok bool) {
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

// fitsDouble reports whether a JSON number fits into double precision: it does not become infinity, and only zero
// becomes zero.
func fitsDouble(s string) bool {
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
