package manifest

import (
	"strings"

	"pgregory.net/rapid"
)

// draw is a text of a few documents.
func draw(t *rapid.T) string {
	w := &writer{t: t}
	w.between(0)
	for i := range w.number(1, 3) {
		if i > 0 || w.chance(3) {
			w.line(0, "---")
		}
		w.between(0)
		if !w.chance(12) {
			w.block(w.indent(0), 0)
		}
		w.between(0)
	}
	text := w.text.String()
	if w.chance(4) {
		text = strings.TrimSuffix(text, "\n")
	}
	if w.chance(6) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	for w.chance(4) && text != "" { // break it
		at := w.number(0, len(text)-1)
		odd := rapid.SampledFrom([]string{"", " ", "\n", "#", " #", ":", ": ", "-", "- ", "'", "\"", "[", "]", "{", "}", ",", "&a ", "*a", "!x ", "|", ">", "%", "@", "?", "\t", "\r", "é", "\u0085", "\u2028", "---\n", "...\n", "<<: ", "\\", "~", "\n\n", "\n#a\n"}).Draw(t, "odd")
		if w.chance(2) {
			text = text[:at] + odd + text[at:]
		} else {
			text = text[:at] + odd + text[at+1:]
		}
	}
	return text
}

type writer struct {
	t    *rapid.T
	text strings.Builder
}

func (w *writer) number(from, to int) int { return rapid.IntRange(from, to).Draw(w.t, "n") }
func (w *writer) chance(of int) bool      { return w.number(1, of) == of }
func (w *writer) one(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "s") }
func (w *writer) indent(from int) int     { return from + []int{0, 0, 2, 2, 1, 4}[w.number(0, 5)] }

func (w *writer) line(indent int, text string) {
	w.text.WriteString(strings.Repeat(" ", indent) + text)
	if w.chance(60) {
		w.text.WriteString("\t")
	}
	if w.chance(6) {
		w.text.WriteString(w.one(" ", "  ") + w.one("", "#", "# c", "# é: \"x", "#- a"))
	}
	w.text.WriteString("\n")
	w.between(indent)
}

// between is what may stand between lines.
func (w *writer) between(indent int) {
	for w.chance(7) {
		w.text.WriteString(w.one("\n", "  \n", "# a\n", strings.Repeat(" ", indent)+"# b\n", "      # c\n", "#\n", "\n# d\n\n"))
	}
}

func (w *writer) block(indent, depth int) {
	if w.chance(3) {
		w.items(indent, depth, "")
		return
	}
	w.members(indent, depth, "")
}

// members is a mapping; first stands before its first key.
func (w *writer) members(indent, depth int, first string) {
	for range w.number(1, 4) {
		at := indent - len(first)
		key := first + w.key() + ":"
		first = ""
		switch {
		case depth > 3 || w.chance(2):
			w.line(at, key+w.one(w.spaces(), w.spaces(), w.spaces(), "")+w.value(0))
		case w.chance(5):
			w.line(at, key)
		case w.chance(3):
			w.line(at, key)
			w.items(indent, depth+1, "")
		default:
			w.line(at, key)
			w.block(indent+w.number(1, 4), depth+1)
		}
	}
}

func (w *writer) items(indent, depth int, first string) {
	for range w.number(1, 3) {
		at := indent - len(first)
		dash := first + "-"
		first = ""
		space := w.spaces()
		below := indent + 1 + len(space)
		switch {
		case depth > 3 || w.chance(2):
			w.line(at, dash+space+w.value(0))
		case w.chance(6):
			w.line(at, dash)
		case w.chance(3):
			w.line(at, dash)
			w.block(indent+w.number(1, 3), depth+1)
		case w.chance(3):
			w.items(below, depth+1, dash+space)
		default:
			w.members(below, depth+1, dash+space)
		}
	}
}

func (w *writer) spaces() string { return w.one(" ", " ", " ", "  ", "   ") }

func (w *writer) key() string {
	return w.one("a", "name", "edgeTTL", "x-y", "a b", "'q'", "\"d\"", "é", "1", "true", "null", "a.b/c", "-a", "http://x", "a#b", "<<", "\"\"", "~", "... a", "--- a")
}

func (w *writer) value(depth int) string {
	switch n := w.number(0, 9); {
	case n < 5:
		return w.one("x", "1", "-1", "0x1F", "1e3", "0o7", ".5", ".inf", "-.INF", ".nan", "yes", "on", "True", "~", "null", "2024-01-02", "2001-12-14t21:59:43.10-05:00", "1_000", "a b  c", "http://a.example.com:80/x?y=z#f", "/shop/*", "-", "--", "---", "a:b", "a#b", "é ü", "12:30:45", "x'y", "x\"y", "=", "<<", "a,b", "a]", "$x", "(a)", "^a$", "1.2.3.4", "+1", "0b1", "08", "a\\n", ";", "👍", "-a", ":x", "?x", "a?")
	case n == 5:
		return "'" + w.one("", "a", "it''s", "# no", "a: b", "é", " a ", "\\") + "'"
	case n == 6:
		return "\"" + w.one("", "a", "\\\"", "\\\\", "\\n", "\\t", "# no", "a: b", "é", " a ", "\\u00e9", "\\/", "\\ ") + "\""
	case depth > 2:
		return w.one("[]", "{}", "[ ]", "{ }")
	case n == 7:
		return "[" + w.pad() + strings.Join(w.values(depth), ","+w.pad()) + w.pad() + w.end() + "]"
	default:
		var all []string
		for _, v := range w.values(depth) {
			all = append(all, w.key()+":"+w.one(" ", " ", " ", "", "  ")+v)
		}
		return "{" + w.pad() + strings.Join(all, w.one("", "", "", " ")+","+w.pad()) + w.pad() + w.end() + "}"
	}
}

// end is what may stand before a bracket that closes.
func (w *writer) end() string {
	if w.chance(20) {
		return w.one(":", "\t", "?", " -", ": x")
	}
	return w.one("", "", "", ",", ", ")
}

func (w *writer) pad() string { return w.one("", "", " ", "  ") }

func (w *writer) values(depth int) []string {
	var all []string
	for range w.number(0, 3) {
		all = append(all, w.value(depth+1))
	}
	return all
}
