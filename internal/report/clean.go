package report

import (
	"bufio"
	"strings"
)

// Clean makes a text from outside fit for a line of its own on a terminal or in
// a log: what a command prints outside a Document goes through it.
func Clean(s string) string { return string(guarded(clean(s))) }

// CleanJSON writes every character of a JSON text that is not shown as its JSON
// escape.
func CleanJSON(text []byte) string {
	var b strings.Builder
	out := bufio.NewWriter(&b)
	escapeJSON(out, text)
	_ = out.Flush() // a Builder takes everything
	return b.String()
}
