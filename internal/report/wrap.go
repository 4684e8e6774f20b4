package report

import (
	"strings"
	"unicode/utf8"
)

// wrap sets spans on lines of so many columns, those after the first behind so
// many spaces. It breaks at spaces, and within a word only where a line of its
// own has no room for it.
func wrap(spans []span, columns, hang int) [][]span {
	if width(flat(spans)) <= columns {
		return [][]span{spans}
	}
	w := wrapper{columns: columns, hang: min(hang, columns/2)}
	for _, word := range splitWords(spans) {
		need := width(safe(strings.TrimRight(string(flat(word)), " ")))
		if !w.empty() && w.column+need > columns {
			w.next()
		}
		for _, s := range word {
			w.put(s)
		}
	}
	return append(w.lines, w.line)
}

// wrapper is a text that is being set.
type wrapper struct {
	columns, hang int
	lines         [][]span
	line          []span
	column        int
	// filled says that there is more than space in the line.
	filled bool
}

func (w *wrapper) empty() bool { return !w.filled }

func (w *wrapper) next() {
	w.lines = append(w.lines, w.line)
	w.line, w.column, w.filled = []span{{pad("", w.hang), plain}}, w.hang, false
}

// put adds a piece without a space but at its end to the line, and breaks it
// where that has no room.
func (w *wrapper) put(s span) {
	text := safe(strings.TrimRight(string(s.text), " "))
	for text != "" && w.column+width(text) > w.columns {
		head, _ := text.Break(w.columns - w.column)
		if head == "" && w.column <= w.hang {
			_, size := utf8.DecodeRuneInString(string(text))
			head = text[:size]
		}
		if head != "" {
			w.add(span{head, s.style})
		}
		text = text[len(head):]
		w.next()
	}
	w.add(span{text, s.style})
	if space := len(s.text) - len(strings.TrimRight(string(s.text), " ")); space > 0 && w.column < w.columns {
		w.push(span{pad("", min(space, w.columns-w.column)), s.style})
	}
}

func (w *wrapper) add(s span) {
	if s.text != "" {
		w.push(s)
		w.filled = true
	}
}

func (w *wrapper) push(s span) {
	w.column += width(s.text)
	if last := len(w.line) - 1; last >= 0 && w.line[last].style == s.style {
		w.line[last].text += s.text
		return
	}
	w.line = append(w.line, s)
}

// splitWords splits spans behind each run of spaces; a word may have several
// styles.
func splitWords(spans []span) [][]span {
	var words [][]span
	var word []span
	for _, s := range spans {
		for _, piece := range strings.SplitAfter(string(s.text), " ") {
			word = append(word, span{safe(piece), s.style})
			if strings.HasSuffix(piece, " ") {
				words = append(words, word)
				word = nil
			}
		}
	}
	return append(words, word)
}
