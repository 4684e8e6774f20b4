package api

import (
	"strconv"
	"strings"
)

// parseWarnings reads the values of Warning headers (RFC 7234 5.5): several
// in one value, quoted text with escapes, a date that is left out. What does
// not fit is passed on whole with the code 0.
func parseWarnings(values []string) []Warning {
	var out []Warning
	for _, value := range values {
		for rest := strings.TrimSpace(value); rest != ""; {
			var w Warning
			w, rest = parseWarning(rest)
			out = append(out, w)
		}
	}
	return out
}

func parseWarning(value string) (w Warning, rest string) {
	code, after, _ := strings.Cut(value, " ")
	_, quoted, ok := strings.Cut(strings.TrimLeft(after, " "), " ")
	n, err := strconv.Atoi(code)
	quoted = strings.TrimLeft(quoted, " ")
	if err != nil || !ok || !strings.HasPrefix(quoted, `"`) {
		return Warning{Text: value}, ""
	}
	text, rest := unquote(quoted)
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, `"`) {
		_, rest = unquote(rest)
	}
	return Warning{Code: n, Text: text}, strings.TrimLeft(rest, " ,")
}

// unquote takes a quoted string from the head of s.
func unquote(s string) (text, rest string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
