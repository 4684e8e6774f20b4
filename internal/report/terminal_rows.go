package report

import (
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// printRows writes the lines of an object, with values and causes aligned if they fit, and sentences below.
func printRows(p *printer, o view.ObjectView) {
	changes := o.Rows()
	values := make([][]styledText, len(changes))
	l := columnWidths{path: min(minPath, p.columnsOfChanges()*2/5), value: minValue}
	for i := range changes {
		r := &changes[i]
		for _, text := range []*safeText{&r.Path, &r.Before, &r.After, &r.Cause} {
			*text = text.EscapeCommands() // now, because escapes make a line wider
		}
		values[i] = valueSpans(*r)
		l.path = growColumn(l.path, r.Path.Width(), min(maxAlign, p.columnsOfChanges()*2/5))
	}
	most := min(mostValue, max(maxValue, p.columnsOfChanges()-indent-l.path-4-maxCause))
	for i := range changes {
		l.value = growColumn(l.value, joinSpans(values[i]).Width(), most)
	}
	for i, r := range changes {
		l.printRow(p, r, values[i])
	}
	for _, r := range o.Notes {
		printSentence(p, r)
	}
	p.score.MarkShown(view.FactsOfRows(o.Lines())...)
}

func printSentence(p *printer, r view.Row) {
	s, breaks := faint, p.printWrapped
	if r.Fix {
		s = plain
	}
	if len(r.Facts) > 0 {
		breaks = p.printWithin
	}
	breaks(hang, styledText{safetext.F("    %s", r.Text), s})
}

// columnWidths has the widths of an object's paths and values.
type columnWidths struct{ path, value int }

// growColumn widens a column, unless need is too wide to align.
func growColumn(column, need, most int) int {
	if need > most {
		return column
	}
	return max(column, need)
}

// valueSpans returns a row's values.
func valueSpans(r view.Row) []styledText {
	switch {
	case !r.Before.Empty() && !r.After.Empty():
		return []styledText{{r.Before, removed}, {clean(" → "), faint}, {r.After, added}}
	case !r.Before.Empty():
		return []styledText{{r.Before, removed}}
	case !r.After.Empty() && r.Mark == view.MarkAdd:
		return []styledText{{r.After, added}}
	case !r.After.Empty():
		return []styledText{{r.After, plain}}
	}
	return nil
}

// printRow writes a row on one line, or its values and cause below it if they don't fit.
func (l columnWidths) printRow(p *printer, r view.Row, values []styledText) {
	sign := safetext.F("%s%s ", safetext.Spaces(indent-1-len(r.Mark)), string(r.Mark))
	head := []styledText{{sign, tableOfMarks[r.Mark].style}, {r.Path, plain}}
	cause := styledText{r.Cause, faint}
	if r.Alarm {
		cause.style = alarm
	}
	at := indent + r.Path.Width()
	start := indent + max(l.path, r.Path.Width()) + 2
	wide := joinSpans(values).Width()
	end := start + max(l.value, wide) + 2
	if wide == 0 {
		end = start
	}
	tall := start+wide > p.columnsOfChanges()
	switch {
	case tall:
		end = start + l.value + 2
	case wide > 0:
		head = append(append(head, styledText{safetext.Spaces(start - at), plain}), values...)
		at = start + wide
	}
	most, breaks, first := p.width, p.printWrapped, p.printWithin
	if len(r.Facts) == 0 {
		first = p.printWrapped
	}
	if len(r.Facts) > 1 { // the cause names them
		most, breaks = p.columnsOfChanges(), p.printWithin
	}
	beside := end+cause.text.Width() <= most && joinSpans(head).Width() <= p.columnsOfChanges()
	if beside {
		p.printLine(append(head, styledText{safetext.Spaces(end - at), plain}, cause)...)
	} else {
		first(hang, head...)
	}
	lead := styledText{safetext.Spaces(indent + 2), plain}
	if tall {
		if len(values) > 1 { // before, arrow, after
			p.printWithin(hang+2, lead, styledText{clean("  "), plain}, values[0])
			values = []styledText{{clean("→ "), faint}, values[2]}
		}
		p.printWithin(hang+2*(len(values)-1), append([]styledText{lead}, values...)...)
	}
	if !beside && !cause.text.Empty() {
		breaks(hang, lead, cause)
	}
	printRowDetails(p, r)
}

func printRowDetails(p *printer, r view.Row) {
	below := plain // the names of list elements
	if len(r.Details) > 0 && r.Before.Empty() {
		below = added
	} else if len(r.Details) > 0 {
		below = removed
	}
	for _, line := range linesBelow(r, p.columnsOfChanges()-hang) {
		p.printLine(styledText{safetext.F("%s%s", safetext.Spaces(hang), line), below})
	}
}

// linesBelow returns the lines below a row: the rest of its values, and the names of list elements.
func linesBelow(r view.Row, columns int) []safeText {
	return slices.Concat(wrapTokens(r.Details, columns, r.Whole), wrapTokens(withCommas(r.Names), columns, r.Whole))
}

// withCommas puts a comma after each name but the last.
func withCommas(names []safeText) []safeText {
	out := slices.Clone(names)
	for i := range max(0, len(out)-1) {
		out[i] = safetext.F("%s,", out[i])
	}
	return out
}

// rowPieces returns the lines of rows in a diff.
func rowPieces(rows []view.Row) []lineBlock {
	return diag.MapList(rows, func(r view.Row) lineBlock {
		return lineBlock{lines: diffRow(r), facts: r.Facts, alarm: r.Alarm || r.Fix || r.Mark == view.MarkRemove}
	})
}

// diffRow returns the lines of a row in a diff: those of each value, its cause, and what is below it.
func diffRow(r view.Row) []safeText {
	if !r.Text.Empty() {
		return sentenceLines(r)
	}
	sign := string(r.Mark)
	lines := addCause(sign, safetext.Join(safetext.NonEmpty(r.Path, r.After), ": "), r)
	switch before, after := safetext.F("%s: %s", r.Path, r.Before), safetext.F("%s: %s", r.Path, r.After); {
	case !r.Before.Empty() && !r.After.Empty():
		sign = "+"
		lines = append(addSign("- ", before), addCause(sign, after, r)...)
	case !r.Before.Empty():
		sign = "-"
		lines = addCause(sign, before, r)
	case !r.After.Empty() && r.Mark == view.MarkAdd:
		lines = addCause("+", after, r)
	}
	for _, line := range linesBelow(r, markdownColumns) {
		lines = append(lines, safetext.F("%s   %s", sign, line))
	}
	return lines
}

// addSign returns a text after a sign, on more lines if it is too wide.
func addSign(sign string, text safeText) []safeText {
	text = text.EscapeCommands()
	if text.Width()+len(sign) <= maxSeen {
		return []safeText{safetext.F("%s%s", sign, text)}
	}
	var lines []safeText
	for _, line := range wrapLines(text, markdownColumns, 0) {
		lines = append(lines, safetext.F("%s%s", sign, line))
		sign = sign[:1] + strings.Repeat(" ", max(3, len(sign)-1))
	}
	return lines
}

// addCause puts the cause of a row after a text, or below it if the line would be too wide.
func addCause(sign string, text safeText, r view.Row) []safeText {
	if r.Cause.Empty() {
		return addSign(sign+" ", text)
	}
	if whole := safetext.F("%s %s    # %s", sign, text, r.Cause).EscapeCommands(); whole.Width() <= markdownColumns {
		return []safeText{whole}
	}
	lines := addSign(sign+" ", text)
	if len(r.Facts) <= 1 { // nothing that must be seen is in the cause
		return append(lines, safetext.F("%s     # %s", sign, r.Cause))
	}
	return append(lines, addSign(sign+"     # ", r.Cause)...)
}

// sentenceLines wraps a sentence; a fix stays on one line, so that you can copy it.
func sentenceLines(r view.Row) []safeText {
	line := safetext.F("  %s", r.Text)
	if r.Fix {
		return []safeText{line}
	}
	return wrapLines(line, markdownColumns, 2+indent)
}

// maxFlow is the most lines of a value below its path that must not be whole.
const maxFlow = 4

// wrapTokens sets tokens in lines of at most that many columns. It counts those after a few lines unless whole is set.
func wrapTokens(tokens []safeText, columns int, whole bool) []safeText {
	if len(tokens) == 0 {
		return nil
	}
	var lines []safeText
	var line safeText
	for i, token := range tokens {
		for _, piece := range wrapLines(token.EscapeCommands(), columns, 0) {
			switch {
			case line.Empty():
				line = piece
			case line.Width()+1+piece.Width() <= columns:
				line = safetext.F("%s %s", line, piece)
			default:
				lines = append(lines, line)
				line = piece
			}
			if len(lines) == maxFlow && !whole {
				return append(lines, safetext.F("… and %s", safetext.Count(len(tokens)-i, "more value")))
			}
		}
	}
	return append(lines, line)
}
