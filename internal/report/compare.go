package report

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"

	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// contextLines is the context around a difference in a file. Files that differ in more than maxCompared lines count as different
// throughout. A diff has at most maxDiffLines lines of maxDiffText columns.
const (
	contextLines = 3
	maxCompared  = 2000
	maxDiffLines = 500
	maxDiffText  = 8000
)

// FileVersions are two versions of a file, without LeftOut equal lines before them.
type FileVersions struct {
	Path          string
	Before, After []byte
	LeftOut       int
}

// Diff writes a unified diff of two versions of a file.
func (l LineWriter) Diff(v FileVersions, opts view.TextOptions) error {
	p := newPrinter(l.w, opts)
	p.wrap = false // other programs read diffs too
	p.printLine(styledText{safetext.F("--- %s", v.Path), removed})
	p.printLine(styledText{safetext.F("+++ %s", v.Path), added})
	lines := diffLines(visibleSource(v.Before), visibleSource(v.After), v.LeftOut)
	for _, line := range lines[:min(len(lines), maxDiffLines)] {
		p.printLine(styledText{view.TruncateWithSize(line, maxDiffText), styleOf(line)})
	}
	if more := len(lines) - maxDiffLines; more > 0 {
		p.printLine(styledText{safetext.F("… %s", safetext.Count(more, "more line")), alarm})
	}
	return p.flush()
}

// styleOf returns the style of a line of a diff.
func styleOf(line safeText) style {
	switch {
	case strings.HasPrefix(line.String(), "-"):
		return removed
	case strings.HasPrefix(line.String(), "+"):
		return added
	case strings.HasPrefix(line.String(), "@@"):
		return once
	}
	return plain
}

// visibleSource returns the lines of a file, with dots for spaces at their ends.
func visibleSource(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		text := strings.TrimRight(body, " ")
		b.WriteString(clean(text + strings.Repeat("·", len(body)-len(text))).String())
		if !ended {
			b.WriteString(" (no line end)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// diffLines returns the hunks of a unified diff of two texts that follow leftOut equal lines.
func diffLines(was, is string, leftOut int) (out []safeText) {
	lines := alignLines(was, is)
	near := make([]bool, len(lines)) // to a line that differs
	for i, line := range lines {
		if styleOf(line) != plain {
			for j := max(0, i-contextLines); j <= min(i+contextLines, len(lines)-1); j++ {
				near[j] = true
			}
		}
	}
	before, after := leftOut, leftOut // lines in front of the next one
	for i := 0; i < len(lines); {
		start, n, m := i, 0, 0
		for ; i < len(lines) && near[i] == near[start]; i++ {
			n, m = n+view.OneIf(styleOf(lines[i]) != added), m+view.OneIf(styleOf(lines[i]) != removed)
		}
		if near[start] { // the number is the line in front of an empty range
			out = append(out, safetext.F("@@ -%d,%d +%d,%d @@", before+min(n, 1), n, after+min(m, 1), m))
			out = append(out, lines[start:i]...)
		}
		before, after = before+n, after+m
	}
	return out
}

// alignLines returns the lines of two texts, each with its sign.
func alignLines(before, after string) (lines []safeText) {
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the clock must not change what is shown
	x, y, all := differ.DiffLinesToRunes(before, after)
	head, tail := diag.SharedEnds(x, y)
	was, is := x[head:len(x)-tail], y[head:len(y)-tail]
	runs := []diffmatchpatch.Diff{
		{Type: diffmatchpatch.DiffEqual, Text: string(x[:head])},
		{Type: diffmatchpatch.DiffDelete, Text: string(was)},
		{Type: diffmatchpatch.DiffInsert, Text: string(is)},
		{Type: diffmatchpatch.DiffEqual, Text: string(x[len(x)-tail:])},
	}
	if max(len(was), len(is)) <= maxCompared {
		runs = differ.DiffMainRunes(x, y, false)
	}
	signs := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffInsert: "+", diffmatchpatch.DiffEqual: " "}
	for _, r := range differ.DiffCharsToLines(runs, all) {
		for _, line := range linesOf(r.Text) {
			lines = append(lines, safetext.F("%s%s", signs[r.Type], line))
		}
	}
	return lines
}
