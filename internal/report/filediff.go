package report

import "strings"

// Diff writes what differs between two texts of a file as a unified diff.
func (l Lines) Diff(path string, before, after []byte, opts Options) error {
	p := newPrinter(l.w, opts)
	p.wrap = false // a diff is read by other programs too
	name := clean(path)
	p.line(span{"--- " + name, removed})
	p.line(span{"+++ " + name, added})
	w := diffWriter{itemPrinter: itemPrinter{printer: p}, left: maxDiffLines, columns: maxDiffText}
	for _, h := range hunks(compareLines(sourceLines(before), sourceLines(after))) {
		from, to, _ := h.head()
		p.line(span{"@@ -" + from + " +" + to + " @@", once})
		for _, c := range h.lines {
			w.unifiedLine(c)
		}
	}
	if w.hidden > 0 {
		p.line(span{"… " + count(w.hidden, "more line"), alarm})
	}
	return p.flush()
}

// sourceLines are the lines of a file; spaces at an end are shown as dots.
func sourceLines(text []byte) []textLine {
	var lines []textLine
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		text := strings.TrimRight(body, " ")
		shown := clean(text + strings.Repeat("·", len(body)-len(text)))
		if !ended {
			shown += " (no line end)"
		}
		lines = append(lines, textLine{text: shown})
	}
	return lines
}
