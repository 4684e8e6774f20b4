package diag

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MisreadError is about a character that editors, diffs and parsers read differently. Line and Column count
// from 1, lines by line feeds and columns in characters.
type MisreadError struct {
	Line, Column int
	Message, Fix string
}

func (m MisreadError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s: %s", m.Line, m.Column, m.Message, m.Fix)
}

// FindMisread returns the first character that no file may have as it is, not even in a comment or in quotes:
// control characters but tab and the ends of lines, which are line feeds and CR LF, other separators of lines,
// characters that change the direction of text, byte order marks but the first, and bytes that are not UTF-8.
func FindMisread(text []byte) (m MisreadError, found bool) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for i, size := 0, 0; i < len(text); i += size {
		if size = 1; ' ' <= text[i] && text[i] < 0x7F || text[i] == '\n' || text[i] == '\t' {
			continue
		}
		var r rune
		r, size = utf8.DecodeRune(text[i:])
		if !isMisread(r, size) || bytes.HasPrefix(text[i:], []byte("\r\n")) {
			continue
		}
		before := text[:i]
		m = MisreadError{
			Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
			Message: describeCharacter(r), Fix: "remove the character",
		}
		if r == utf8.RuneError {
			m.Message, m.Fix = fmt.Sprintf("the byte 0x%02X is not UTF-8", text[i]), "save the file as UTF-8"
		}
		return m, true
	}
	return m, false
}

func isMisread(r rune, size int) bool {
	if r == utf8.RuneError {
		return size == 1
	}
	return r == '\uFEFF' || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func describeCharacter(r rune) string {
	kind := "the control character"
	switch {
	case r == '\r':
		kind = "a carriage return without a line feed,"
	case r == '\u0085':
		kind = "the line break (next line)"
	case r == '\u2028':
		kind = "the line break (line separator)"
	case r == '\u2029':
		kind = "the line break (paragraph separator)"
	case r == '\uFEFF':
		kind = "a byte order mark that is not at the start,"
	case unicode.Is(unicode.Bidi_Control, r):
		kind = "a character that changes the direction of text,"
	}
	return fmt.Sprintf("%s U+%04X", kind, r)
}
