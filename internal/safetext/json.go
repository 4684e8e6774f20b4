package safetext

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// CleanJSON replaces every invisible character of a JSON text, except line breaks, with its
// JSON escape.
func CleanJSON(text []byte) Text {
	var b strings.Builder
	out := bufio.NewWriter(&b)
	WriteJSON(out, text)
	_ = out.Flush() // a Builder never fails
	return Text{b.String()}
}

// WriteJSON writes what CleanJSON returns. Parsers read the same values from it, because JSON
// has such characters only in strings. It also escapes ##, which may start a legacy
// workflow command.
func WriteJSON(out *bufio.Writer, text []byte) {
	start := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		command := bytes.HasPrefix(text[i:], []byte("##"))
		if r == '\n' || r != utf8.RuneError && isVisible(r) && !command {
			i += size
			continue
		}
		_, _ = out.Write(text[start:i])
		for _, unit := range utf16.AppendRune(nil, r) {
			_, _ = fmt.Fprintf(out, `\u%04x`, unit)
		}
		i += size
		start = i
	}
	_, _ = out.Write(text[start:])
}
