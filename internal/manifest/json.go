package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
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
			switch {
			case string(escape) == `\/`:
				return escape[1:]
			case len(escape) < len(`\ud83d\ude00`):
				return escape
			}
			var character string
			_ = json.Unmarshal(slices.Concat([]byte{'"'}, escape, []byte{'"'}), &character) // jsonEscape matches valid pairs only
			return fmt.Appendf(nil, `\U%08x`, []rune(character)[0])
		})
		return append(out, bytes.Repeat([]byte(" "), len(text)-len(out))...)
	})
}
