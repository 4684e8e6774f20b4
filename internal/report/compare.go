package report

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sergi/go-diff/diffmatchpatch"

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

// Versions are two versions of a file, without LeftOut equal lines before them.
type Versions struct {
	Path          string
	Before, After []byte
	LeftOut       int
}

// Diff writes a unified diff of two versions of a file.
func (l Lines) Diff(v Versions, opts view.Options) error {
	p := newPrinter(l.w, opts)
	p.wrap = false // other programs read diffs too
	p.printLine(span{safetext.F("--- %s", v.Path), removed})
	p.printLine(span{safetext.F("+++ %s", v.Path), added})
	lines := diffLines(sourceLines(v.Before), sourceLines(v.After), v.LeftOut)
	for _, line := range lines[:min(len(lines), maxDiffLines)] {
		p.printLine(span{view.CutText(line, maxDiffText), styleOf(line)})
	}
	if more := len(lines) - maxDiffLines; more > 0 {
		p.printLine(span{safetext.F("… %s", safetext.Count(more, "more line")), alarm})
	}
	return p.flush()
}

// styleOf returns the style of a line of a diff.
func styleOf(line safe) style {
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

// sourceLines returns the lines of a file, with dots for spaces at their ends.
func sourceLines(text []byte) []safe {
	var lines []safe
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		text := strings.TrimRight(body, " ")
		shown := clean(text + strings.Repeat("·", len(body)-len(text)))
		if !ended {
			shown = safetext.F("%s (no line end)", shown)
		}
		lines = append(lines, shown)
	}
	return lines
}

// diffLines returns the hunks of a unified diff of two texts that follow leftOut equal lines.
func diffLines(x, y []safe, leftOut int) (out []safe) {
	head, tail := view.SharedEnds(x, y)
	start := max(0, head-contextLines)
	tail = max(0, tail-contextLines)
	x, y = x[start:len(x)-tail], y[start:len(y)-tail]
	runs := []view.Run{{Op: diffmatchpatch.DiffDelete, N: len(x)}, {Op: diffmatchpatch.DiffInsert, N: len(y)}}
	if max(len(x), len(y)) <= maxCompared {
		runs = view.Compare(x, y)
	}
	var hunks []hunk
	h := hunk{before: leftOut + start, after: leftOut + start}
	for i, r := range runs {
		switch r.Op {
		case diffmatchpatch.DiffDelete:
			h.add("-", x[:r.N])
			x = x[r.N:]
			continue
		case diffmatchpatch.DiffInsert:
			h.add("+", y[:r.N])
			y = y[r.N:]
			continue
		case diffmatchpatch.DiffEqual:
		}
		same := x[:r.N]
		x, y = x[r.N:], y[r.N:]
		before, after := min(contextLines, r.N), min(contextLines, r.N)
		if len(h.lines) == 0 {
			after = 0
		}
		if i == len(runs)-1 {
			before = 0
		}
		if before+after > r.N {
			h.add(" ", same)
			continue
		}
		h.add(" ", same[:after])
		hunks = append(hunks, h)
		h = hunk{before: h.before + h.n + r.N - after - before, after: h.after + h.m + r.N - after - before}
		h.add(" ", same[r.N-before:])
	}
	for _, h := range append(hunks, h) {
		if slices.ContainsFunc(h.lines, func(l safe) bool { return styleOf(l) != plain }) {
			out = append(out, h.text()...)
		}
	}
	return out
}

// hunk is a difference with context. before and after count the lines in front of it, n and m those in it.
type hunk struct {
	lines         []safe
	before, after int
	n, m          int
}

func (h *hunk) add(sign string, lines []safe) {
	for _, line := range lines {
		h.lines = append(h.lines, safetext.F("%s%s", sign, line))
	}
	if sign != "+" {
		h.n += len(lines)
	}
	if sign != "-" {
		h.m += len(lines)
	}
}

// text returns the lines of a hunk with its range in both texts. The number is the line in front of an empty range.
func (h *hunk) text() []safe {
	head := safetext.F("@@ -%d,%d +%d,%d @@", h.before+min(h.n, 1), h.n, h.after+min(h.m, 1), h.m)
	return append([]safe{head}, h.lines...)
}

// Texts shorter than minMarked are easier to read without marks.
const minMarked = 16

// part is a piece of a line.
type part struct {
	Text    safe
	Differs bool
}

// splitDifferences splits two texts at the words that they share at their start and at their end. ok is false for short texts,
// for numbers, and if less than a third is equal.
func splitDifferences(before, after safe) (a, b []part, ok bool) {
	x, y := []rune(before.String()), []rune(after.String())
	if min(len(x), len(y)) < minMarked || !isWordy(before) || !isWordy(after) {
		return nil, nil, false
	}
	head, tail := view.SharedEnds(x, y)
	for inWord(x, head) || inWord(y, head) {
		head--
	}
	for inWord(x, len(x)-tail) || inWord(y, len(y)-tail) {
		tail--
	}
	split := func(t safe, n int) (parts []part) {
		for i, text := range []safe{t.Slice(0, head), t.Slice(head, n-tail), t.Slice(n-tail, n)} {
			if !text.Empty() {
				parts = append(parts, part{text, i == 1})
			}
		}
		return parts
	}
	return split(before, len(x)), split(after, len(y)), 3*(head+tail) >= max(len(x), len(y))
}

// inWord reports whether a place in a text is between two characters of a word.
func inWord(text []rune, i int) bool {
	return i > 0 && i < len(text) && isWord(text[i-1]) && isWord(text[i])
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// isWordy reports whether a value is not a number, quoted or not.
func isWordy(s safe) bool { return strings.Trim(s.String(), `"0123456789+-.eE`) != "" }
