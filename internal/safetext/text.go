// Package safetext has types for text that is safe to print: it can't be a command to a
// terminal, a workflow runner or a code host. It writes nothing.
package safetext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"trueup/internal/diag"
)

// SandboxBanner heads every output about the embedded platform.
const SandboxBanner = "SANDBOX: the embedded platform in .trueup/sandbox, not the real one"

// Text has no control, format or invisible character: only this package makes it.
type Text struct{ s string }

// Clean escapes every invisible character, so that a reader sees it: \n, \x1b, \u202e, and
// \xff for a byte that is not UTF-8. It also escapes spaces other than the plain one.
func Clean(s string) Text {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return Text{s}
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case isVisible(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	return Text{b.String()}
}

// isVisible reports whether a rune is visible and does not end a line.
func isVisible(r rune) bool { return unicode.IsPrint(r) && !diag.IsInvisible(r) }

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r <= 0x7f:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// EscapeCommands escapes workflow commands in a line: at its start, after spaces, and the legacy
// forms anywhere. Guard whole lines: two harmless parts can make a command.
func (t Text) EscapeCommands() Text {
	s := strings.ReplaceAll(t.s, "##[", `#\x23[`)
	s = strings.ReplaceAll(s, "##vso[", `#\x23vso[`)
	if strings.HasPrefix(strings.TrimLeft(s, " \t"), "::") {
		s = `\` + s
	}
	return Text{s}
}

// constant accepts only constants: a string variable does not convert to it implicitly.
type constant string

// F formats texts, strings and ints with %s and %d, and cleans strings. Reports call it most,
// so it allocates only the result.
func F(format constant, args ...any) Text {
	b := make([]byte, 0, 128)
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b = append(b, format[i])
			continue
		}
		if i++; format[i] == '%' {
			b = append(b, '%')
			continue
		}
		switch v := args[0].(type) {
		case Text:
			b = append(b, v.s...)
		case string:
			b = append(b, Clean(v).s...)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		}
		args = args[1:]
	}
	return Text{string(b)}
}

// CleanArgs returns safe arguments for a format.
func CleanArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch arg.(type) {
		case Text, int, int64, uint64:
			out[i] = arg
		default:
			out[i] = Clean(fmt.Sprint(arg))
		}
	}
	return out
}

// String returns t for output.
func (t Text) String() string { return t.s }

// MarshalText returns t for encoders.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.s), nil }

// Empty reports whether there is no text.
func (t Text) Empty() bool { return t.s == "" }

// Capitalize returns t with a capital at its start.
func (t Text) Capitalize() Text {
	first, size := utf8.DecodeRuneInString(t.s)
	return Clean(string(unicode.ToUpper(first)) + t.s[size:])
}

// Replace replaces all occurrences.
func (t Text) Replace(before, after string) Text {
	return Clean(strings.ReplaceAll(t.s, before, after))
}

// Split splits t after every sep.
func (t Text) Split(sep string) []Text {
	var parts []Text
	for part := range strings.SplitAfterSeq(t.s, sep) {
		parts = append(parts, Text{part})
	}
	return parts
}

// TrimRight removes spaces from the end.
func (t Text) TrimRight() Text { return Text{strings.TrimRight(t.s, " ")} }

// Number returns n in digits.
func Number(n int) Text { return Text{strconv.Itoa(n)} }

// Spaces returns n spaces, none if n is negative.
func Spaces(n int) Text { return Text{strings.Repeat(" ", max(0, n))} }

// Count returns n and the noun, with an s unless n is 1.
func Count(n int, noun string) Text {
	if n != 1 {
		noun += "s"
	}
	return F("%d %s", n, noun)
}

// Join puts sep between the parts.
func Join(parts []Text, sep string) Text {
	texts := diag.MapList(parts, func(p Text) string { return p.s })
	return Text{strings.Join(texts, sep)}
}

// NonEmpty returns the texts that are not empty.
func NonEmpty(texts ...Text) []Text { return slices.DeleteFunc(texts, Text.Empty) }

// cells measures terminal columns independent of the locale, so that a document gives the
// same bytes everywhere.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// narrow are characters of trueup's own texts that take one column: other texts make the measuring library build a
// table of all characters, which takes as long as a small plan.
const narrow = "→…·×✓✗●│"

// Width returns the number of terminal columns.
func (t Text) Width() int {
	columns := 0
	for _, r := range t.s {
		if r >= utf8.RuneSelf && !strings.ContainsRune(narrow, r) {
			return cells().StringWidth(t.s)
		}
		columns++
	}
	return columns
}

// Truncate shortens t to at most columns, with an ellipsis at the end. It also limits combining
// characters, which have no width.
func (t Text) Truncate(columns int) Text {
	if len(t.s) <= columns {
		return t
	}
	if limit := 4 * columns; utf8.RuneCountInString(t.s) > limit {
		t = Text{string([]rune(t.s)[:limit]) + "…"}
	}
	if t.Width() <= columns {
		return t
	}
	return Text{cells().Truncate(t.s, columns, "…")}
}

// TruncateLeft shortens t to at most columns, with an ellipsis at the start.
func (t Text) TruncateLeft(columns int) Text {
	if wide := t.Width(); wide > columns {
		return Text{cells().TruncateLeft(t.s, wide-columns+1, "…")}
	}
	return t
}

// Break splits t after at most columns. With forced, head has at least one character.
func (t Text) Break(columns int, forced bool) (head, tail Text) {
	n := len(cells().Truncate(t.s, columns, ""))
	if n == 0 && forced {
		_, n = utf8.DecodeRuneInString(t.s)
	}
	return Text{t.s[:n]}, Text{t.s[n:]}
}

// Pad adds spaces to t up to columns.
func (t Text) Pad(columns int) Text { return Text{t.s + Spaces(columns-t.Width()).s} }
