package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"unicode/utf16"
)

// jsonText matches a string of valid JSON, and jsonEscape an escape in it; a surrogate pair is one.
var (
	jsonText   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })
	jsonEscape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\.`)
	})
)

// asYAML rewrites the two escapes of JSON that the YAML parser rejects: \/ and surrogate pairs. Spaces
// after a string keep the columns of what follows. A text that is not JSON stays as it is.
func asYAML(data []byte) []byte {
	if bytes.IndexByte(data, '\\') < 0 || !json.Valid(data) {
		return data
	}
	return jsonText().ReplaceAllFunc(data, func(text []byte) []byte {
		out := jsonEscape().ReplaceAllFunc(text, func(escape []byte) []byte {
			if string(escape) == `\/` {
				return escape[1:]
			}
			const halves = len(`\ud83d\ude00`)
			if len(escape) < halves {
				return escape
			}
			high, _ := strconv.ParseUint(string(escape[2:6]), 16, 16) // jsonEscape matches digits only
			low, _ := strconv.ParseUint(string(escape[8:]), 16, 16)
			return fmt.Appendf(nil, `\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
		})
		return append(out, bytes.Repeat([]byte(" "), len(text)-len(out))...)
	})
}
