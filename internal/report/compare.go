package report

import (
	"slices"
	"strings"
	"unicode/utf8"

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

// FileVersions are two versions of a file.
type FileVersions struct {
	Path          string
	Before, After []byte
}

// Diff writes a unified diff of two versions of a file.
func (l LineWriter) Diff(v FileVersions, opts view.TextOptions) error {
	p := newPrinter(l.w, opts)
	p.wrap = false // other programs read diffs too
	p.printLine(styledText{safetext.F("--- %s", v.Path), removed})
	p.printLine(styledText{safetext.F("+++ %s", v.Path), added})
	lines := diffLines(sourceLines(v.Before), sourceLines(v.After))
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

// sourceLines returns the lines of a file, with dots for spaces at their ends.
func sourceLines(text []byte) []safeText {
	var lines []safeText
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

// diffLines returns the hunks of a unified diff of two texts.
func diffLines(x, y []safeText) (out []safeText) {
	lines := alignLines(x, y)
	near := make([]bool, len(lines)) // to a line that differs
	for i, line := range lines {
		if styleOf(line) != plain {
			for j := max(0, i-contextLines); j <= min(i+contextLines, len(lines)-1); j++ {
				near[j] = true
			}
		}
	}
	before, after := 0, 0 // lines in front of the next one
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
func alignLines(x, y []safeText) (all []safeText) {
	add := func(sign string, lines []safeText) {
		for _, line := range lines {
			all = append(all, safetext.F("%s%s", sign, line))
		}
	}
	head, tail := diag.SharedEnds(x, y)
	add(" ", x[:head])
	end := x[len(x)-tail:]
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	runs := []lineRun{{Op: diffmatchpatch.DiffDelete, N: len(x)}, {Op: diffmatchpatch.DiffInsert, N: len(y)}}
	if max(len(x), len(y)) <= maxCompared {
		runs = diffTexts(x, y)
	}
	for _, r := range runs {
		switch r.Op {
		case diffmatchpatch.DiffDelete:
			add("-", x[:r.N])
			x = x[r.N:]
		case diffmatchpatch.DiffInsert:
			add("+", y[:r.N])
			y = y[r.N:]
		case diffmatchpatch.DiffEqual:
			add(" ", x[:r.N])
			x, y = x[r.N:], y[r.N:]
		}
	}
	add(" ", end)
	return all
}

// lineRun is a number of lines that are equal, removed or added.
type lineRun struct {
	Op diffmatchpatch.Operation
	N  int
}

// firstLine starts the private use planes.
const firstLine = '\U000F0000'

// diffTexts aligns two lists of lines. It replaces each with a private character, so that the diff does not compare letters.
func diffTexts(old, current []safeText) []lineRun {
	index := map[safeText]rune{}
	encode := func(units []safeText) []rune {
		out := make([]rune, len(units))
		for i, u := range units {
			if _, known := index[u]; !known {
				index[u] = firstLine + rune(len(index))
			}
			out[i] = index[u]
		}
		return out
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the clock must not change what is shown
	var runs []lineRun
	for _, diff := range differ.DiffMainRunes(encode(old), encode(current), false) {
		runs = append(runs, lineRun{diff.Type, utf8.RuneCountInString(diff.Text)})
	}
	return slices.Clip(runs)
}
