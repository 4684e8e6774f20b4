package api

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The form of a warning (RFC 7234 5.5): its code, who warns, quoted text, and perhaps
// a date; and that of an escape in the text.
var (
	warningForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([0-9]+) +[^ ]+ +"((?:[^"\\]|\\.)*\\?)"?(?: *"(?:[^"\\]|\\.)*"?)?[ ,]*`)
	})
	quotedPair = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(.)`) })
)

// parseWarnings reads the values of Warning headers. What does not fit is passed on
// whole with the code 0.
func parseWarnings(values []string) []Warning {
	var out []Warning
	for _, value := range values {
		for rest := strings.TrimSpace(value); rest != ""; {
			found := warningForm().FindStringSubmatch(rest)
			if found == nil {
				out = append(out, Warning{Text: rest})
				break
			}
			code, _ := strconv.Atoi(found[1])
			out = append(out, Warning{Code: code, Text: quotedPair().ReplaceAllString(found[2], "$1")})
			rest = rest[len(found[0]):]
		}
	}
	return out
}
