package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// jsonText matches a string of valid JSON and, if that is in a later line, the colon behind it. lateColon matches a line that
// may have such a colon, and jsonEscape an escape in a string; a surrogate pair is one.
var (
	lateColon  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n\s*:`) })
	jsonText   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`("(?:[^"\\]|\\.)*")([ \t\r]*\n\s*:)?`) })
	jsonEscape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\.`)
	})
)

// jsonToYAML rewrites what the YAML parser rejects in JSON: the escapes \/ and surrogate pairs, and a line break before a
// colon. Spaces keep the places of what follows. A text that is not JSON stays as it is.
func jsonToYAML(data []byte) []byte {
	start := bytes.TrimLeft(data, " \t\r\n")
	isFlow := len(start) > 0 && bytes.ContainsAny(start[:1], `{["`)
	if !isFlow || bytes.IndexByte(data, '\\') < 0 && !lateColon().Match(data) || !json.Valid(data) {
		return data
	}
	return jsonText().ReplaceAllFunc(data, func(match []byte) []byte {
		end := bytes.LastIndexByte(match, '"') + 1
		text, gap := match[:end], match[end:]
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
		if len(gap) > 0 {
			out, gap = append(bytes.Clone(out), ':'), append(bytes.Clone(gap[:len(gap)-1]), ' ')
			return append(out, gap...)
		}
		return append(out, bytes.Repeat([]byte(" "), len(text)-len(out))...)
	})
}
