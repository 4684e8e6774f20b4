package report

import (
	"strings"
	"unicode/utf8"

	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// diffPieces returns the lines of an object in a diff, each of at most that many columns.
func diffPieces(g group, columns int) []piece {
	if mentioned(g.item) {
		return pieced([]safe{safetext.F("  %s", mention(g.item, Options{}))})
	}
	return rowPieces(g.rows, columns)
}

func rowPieces(rows []row, columns int) []piece {
	out := make([]piece, len(rows))
	for i, r := range rows {
		out[i] = piece{diffRow(r, columns), r.facts, r.Alarm || r.Fix || r.Mark == markRemove}
	}
	return out
}

// diffRow returns the lines of a row in a diff: those of each value, its cause, and what is below it, each of at most that many
// columns.
func diffRow(r row, columns int) []safe {
	if !r.Text.Empty() {
		return sentenceLines(r, columns)
	}
	sign := string(r.Mark)
	lines := commented(sign, safetext.Join(safetext.Filled(r.Path, r.After), ": "), r, columns)
	switch before, after := safetext.F("%s: %s", r.Path, r.Before), safetext.F("%s: %s", r.Path, r.After); {
	case !r.Before.Empty() && !r.After.Empty():
		sign = "+"
		lines = append(signed("- ", before, columns), commented(sign, after, r, columns)...)
	case !r.Before.Empty():
		sign = "-"
		lines = commented(sign, before, r, columns)
	case !r.After.Empty() && r.Mark == markAdd:
		lines = commented("+", after, r, columns)
	}
	for _, tokens := range [][]safe{r.details, r.names} {
		if len(tokens) == 0 {
			continue
		}
		for _, line := range view.Wrap(tokens, min(markdownColumns, columns-4), r.whole) {
			lines = append(lines, safetext.F("%s   %s", sign, line))
		}
	}
	return lines
}

// signed returns a text after a sign, on more lines if it is too wide.
func signed(sign string, text safe, columns int) []safe {
	text = text.Guarded()
	if text.Width()+len(sign) <= columns {
		return []safe{safetext.F("%s%s", sign, text)}
	}
	var lines []safe
	for _, line := range wrap([]span{{text, plain}}, min(markdownColumns, columns-len(sign)-2), 0) {
		lines = append(lines, safetext.F("%s%s", sign, flat(line).TrimRight()))
		sign = sign[:1] + strings.Repeat(" ", max(3, len(sign)-1))
	}
	return lines
}

// commented puts the cause of a row after a text, or below it if the line would be too wide.
func commented(sign string, text safe, r row, columns int) []safe {
	if r.Cause.Empty() {
		return signed(sign+" ", text, columns)
	}
	if whole := safetext.F("%s %s    # %s", sign, text, r.Cause).Guarded(); whole.Width() <= min(markdownColumns, columns) {
		return []safe{whole}
	}
	lines := signed(sign+" ", text, columns)
	if len(r.facts) <= 1 { // nothing that must be seen is in the cause
		return append(lines, safetext.F("%s     # %s", sign, r.Cause))
	}
	return append(lines, signed(sign+"     # ", r.Cause, columns)...)
}

// sentenceLines wraps a sentence; a fix stays on one line, so that you can copy it.
func sentenceLines(r row, columns int) []safe {
	line := safetext.F("  %s", r.Text)
	if r.Fix {
		return []safe{line}
	}
	var out []safe
	for _, spans := range wrap([]span{{line, plain}}, min(markdownColumns, columns), 2+indent) {
		out = append(out, flat(spans).TrimRight())
	}
	return out
}

// textDiff writes the rows and notes of an object as a unified diff.
func textDiff(p *printer, pl *plan.Plan, g group) {
	before, after := sidesOf(pl)
	if g.item.Happened {
		before, after = after, before
	}
	h := hunk{}
	for _, piece := range diffPieces(g, p.seen()-1) {
		for _, line := range piece.lines {
			sign, text := " ", line
			if s := styleOf(line); s != plain {
				sign, text = line.String()[:1], line.Slice(1, utf8.RuneCountInString(line.String()))
			}
			h.add(sign, []safe{text})
		}
		p.score.Show(piece.facts...)
	}
	name := named(g.item.Key)
	p.wrapped(indent, span{safetext.F("--- %s (%s)", name, before), removed})
	p.wrapped(indent, span{safetext.F("+++ %s (%s)", name, after), added})
	for _, line := range h.text() {
		p.wrapped(indent, span{line, styleOf(line)})
	}
}
