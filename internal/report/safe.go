package report

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// safe is text that neither a terminal nor a workflow runner can mistake for
// anything but text: one line, no control, format or invisible character.
// Only clean makes it of text from outside; printers take nothing else.
type safe string

// clean makes any text safe. What can't be shown is shown as an escape, so that
// a reader sees that something is there: \n, \x1b, \u202e, \xff for a byte that
// is not UTF-8. Spaces other than the plain one are escaped too: a no-break
// space in a value is a mistake that nobody would see.
func clean(s string) safe {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			ascii = false
			break
		}
	}
	if ascii {
		return safe(s)
	}
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			b.WriteString(`\x` + hex(uint32(s[i]), 2))
			continue
		}
		if shown(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(escape(r))
	}
	return safe(b.String())
}

// shown reports whether a rune is visible and of one line.
func shown(r rune) bool {
	return unicode.IsPrint(r) && !diag.Unseen(r)
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r <= 0x7f:
		return `\x` + hex(uint32(r), 2)
	case r <= 0xffff:
		return `\u` + hex(uint32(r), 4)
	default:
		return `\U` + hex(uint32(r), 8)
	}
}

func hex(v uint32, digits int) string {
	s := strconv.FormatUint(uint64(v), 16)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

// guarded breaks what a workflow runner would execute in a whole line: a
// command at its start, where indenting would not do because runners skip
// leading space, and the legacy forms, which runners find anywhere. It is done
// for lines and not for their parts: two harmless parts can make a command.
func guarded(line safe) safe {
	s := strings.ReplaceAll(string(line), "##[", `#\x23[`)
	s = strings.ReplaceAll(s, "##vso[", `#\x23vso[`)
	if strings.HasPrefix(strings.TrimLeft(s, " \t"), "::") {
		s = `\` + s
	}
	return safe(s)
}

// named is KIND/NAME.
func named(k kind.Key) safe { return cut(clean(k.Kind)+"/"+clean(k.Name), maxPath) }

// titled is the key as a heading.
func titled(k kind.Key) safe { return cut(clean(k.Kind)+" "+clean(k.Name), maxPath) }

// message is a sentence from outside, of bounded length.
func message(s string) safe { return shorten(clean(s), maxMessage) }

func number(n int) safe { return safe(strconv.Itoa(n)) }

// count says how many there are of a noun whose plural ends in s.
func count(n int, noun safe) safe {
	if n == 1 {
		return number(n) + " " + noun
	}
	return number(n) + " " + noun + "s"
}

// join puts sep between the parts.
func join(parts []safe, sep safe) safe {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(string(sep))
		}
		b.WriteString(string(p))
	}
	return safe(b.String())
}

// cells measures and cuts text in terminal columns, whatever the locale of the
// process: the same document gives the same bytes everywhere.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// width is the number of terminal columns.
func width(s safe) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cells().StringWidth(string(s))
		}
	}
	return len(s)
}

// cut shortens s to so many columns, with an ellipsis as the last of them. A
// text of combining characters has no width, so their number is bounded too.
func cut(s safe, columns int) safe {
	if len(s) <= columns {
		return s
	}
	limit := 4 * columns
	if utf8.RuneCountInString(string(s)) > limit {
		s = safe([]rune(string(s))[:limit]) + "…"
	}
	if width(s) <= columns {
		return s
	}
	return safe(cells().Truncate(string(s), columns, "…"))
}

// cutLeft shortens s to so many columns, with an ellipsis as the first of them.
func cutLeft(s safe, columns int) safe {
	if wide := width(s); wide > columns {
		return safe(cells().TruncateLeft(string(s), wide-columns+1, "…"))
	}
	return s
}

// pad fills s with spaces up to so many columns.
func pad(s safe, columns int) safe {
	return s + safe(strings.Repeat(" ", max(0, columns-width(s))))
}
