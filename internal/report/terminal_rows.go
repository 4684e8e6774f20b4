package report

import (
	"slices"
	"strings"

	"trueup/internal/safetext"
	"trueup/internal/view"
)

// textRows writes the lines of an object, with values and causes aligned if they fit, and sentences below.
func textRows(p *printer, o view.ObjectView) {
	changes := o.Rows()
	values := make([][]styledText, len(changes))
	l := layout{path: min(minPath, p.columnsOfChanges()*2/5), value: minValue}
	for i := range changes {
		r := &changes[i]
		for _, text := range []*safe{&r.Path, &r.Before, &r.After, &r.Cause} {
			*text = text.Guarded() // now, because escapes make a line wider
		}
		values[i] = valueSpans(*r)
		l.path = growColumn(l.path, r.Path.Width(), min(maxAlign, p.columnsOfChanges()*2/5))
	}
	most := min(mostValue, max(maxValue, p.columnsOfChanges()-indent-l.path-4-maxCause))
	for i := range changes {
		l.value = growColumn(l.value, joinSpans(values[i]).Width(), most)
	}
	for i, r := range changes {
		l.row(p, r, values[i])
	}
	for _, r := range o.Notes {
		textSentence(p, r)
	}
	p.score.Show(view.FactsIn(o.Lines())...)
}

func textSentence(p *printer, r view.Row) {
	s, breaks := faint, p.printWrapped
	if r.Fix {
		s = plain
	}
	if len(r.Facts) > 0 {
		breaks = p.printWithin
	}
	breaks(hang, styledText{safetext.F("    %s", r.Text), s})
}

// layout has the widths of an object's paths and values.
type layout struct{ path, value int }

// growColumn widens a column, unless need is too wide to align.
func growColumn(column, need, most int) int {
	if need > most {
		return column
	}
	return max(column, need)
}

// valueSpans returns a row's values, with different words of long texts marked.
func valueSpans(r view.Row) []styledText {
	switch {
	case !r.Before.Empty() && !r.After.Empty():
		before, after := wordSpans(r.Before, r.After)
		return slices.Concat(before, []styledText{arrowSpan()}, after)
	case !r.Before.Empty():
		return []styledText{{r.Before, removed}}
	case !r.After.Empty() && r.Mark == view.MarkAdd:
		return []styledText{{r.After, added}}
	case !r.After.Empty():
		return []styledText{{r.After, plain}}
	}
	return nil
}

// wordSpans returns two texts with the different part marked.
func wordSpans(before, after safe) (a, b []styledText) {
	x, y, ok := splitDifferences(before, after)
	if !ok {
		return []styledText{{before, removed}}, []styledText{{after, added}}
	}
	return partSpans(x, removed, removedPart), partSpans(y, added, addedPart)
}

func arrowSpan() styledText { return styledText{clean(" → "), faint} }

func partSpans(parts []linePart, same, differs style) []styledText {
	spans := make([]styledText, len(parts))
	for i, part := range parts {
		spans[i] = styledText{part.Text, same}
		if part.Differs {
			spans[i].style = differs
		}
	}
	return spans
}

// row writes a row on one line, or its values and cause below it if they don't fit.
func (l layout) row(p *printer, r view.Row, values []styledText) {
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
		textTall(p, lead, values)
	}
	if !beside && !cause.text.Empty() {
		breaks(hang, lead, cause)
	}
	textDetails(p, r)
}

// belowRow returns the lines below a row: the rest of its values, and the names of list elements.
func belowRow(r view.Row, columns int) (details, names []safe) {
	return view.Wrap(r.Details, columns, r.Whole), view.Columns(r.Names, columns, r.Whole)
}

func textDetails(p *printer, r view.Row) {
	s := added
	if !r.Before.Empty() {
		s = removed
	}
	details, names := belowRow(r, p.columnsOfChanges()-hang)
	for _, line := range details {
		p.printLine(styledText{safetext.F("%s%s", safetext.Spaces(hang), line), s})
	}
	for _, line := range names {
		p.printLine(styledText{safetext.F("%s%s", safetext.Spaces(hang), line), plain})
	}
}

func textTall(p *printer, lead styledText, values []styledText) {
	i := slices.Index(values, arrowSpan())
	if i < 0 {
		p.printWithin(hang, slices.Concat([]styledText{lead}, values)...)
		return
	}
	p.printWithin(hang+2, slices.Concat([]styledText{lead, {clean("  "), plain}}, values[:i])...)
	p.printWithin(hang+2, slices.Concat([]styledText{lead, {clean("→ "), faint}}, values[i+1:])...)
}

// diffPieces returns the lines of an object in a diff, each of at most that many columns.
func diffPieces(o view.ObjectView, columns int) []lineBlock {
	return rowPieces(o.Lines(), columns)
}

func rowPieces(rows []view.Row, columns int) []lineBlock {
	out := make([]lineBlock, len(rows))
	for i, r := range rows {
		out[i] = lineBlock{lines: diffRow(r, columns), facts: r.Facts, alarm: r.Alarm || r.Fix || r.Mark == view.MarkRemove}
	}
	return out
}

// diffRow returns the lines of a row in a diff: those of each value, its cause, and what is below it, each of at most that many
// columns.
func diffRow(r view.Row, columns int) []safe {
	if !r.Text.Empty() {
		return sentenceLines(r, columns)
	}
	sign := string(r.Mark)
	lines := addCause(sign, safetext.Join(safetext.Filled(r.Path, r.After), ": "), r, columns)
	switch before, after := safetext.F("%s: %s", r.Path, r.Before), safetext.F("%s: %s", r.Path, r.After); {
	case !r.Before.Empty() && !r.After.Empty():
		sign = "+"
		lines = append(addSign("- ", before, columns), addCause(sign, after, r, columns)...)
	case !r.Before.Empty():
		sign = "-"
		lines = addCause(sign, before, r, columns)
	case !r.After.Empty() && r.Mark == view.MarkAdd:
		lines = addCause("+", after, r, columns)
	}
	details, names := belowRow(r, min(markdownColumns, columns-4))
	for _, line := range slices.Concat(details, names) {
		lines = append(lines, safetext.F("%s   %s", sign, line))
	}
	return lines
}

// addSign returns a text after a sign, on more lines if it is too wide.
func addSign(sign string, text safe, columns int) []safe {
	text = text.Guarded()
	if text.Width()+len(sign) <= columns {
		return []safe{safetext.F("%s%s", sign, text)}
	}
	var lines []safe
	for _, line := range wrapSpans([]styledText{{text, plain}}, min(markdownColumns, columns-len(sign)-2), 0) {
		lines = append(lines, safetext.F("%s%s", sign, joinSpans(line).TrimRight()))
		sign = sign[:1] + strings.Repeat(" ", max(3, len(sign)-1))
	}
	return lines
}

// addCause puts the cause of a row after a text, or below it if the line would be too wide.
func addCause(sign string, text safe, r view.Row, columns int) []safe {
	if r.Cause.Empty() {
		return addSign(sign+" ", text, columns)
	}
	if whole := safetext.F("%s %s    # %s", sign, text, r.Cause).Guarded(); whole.Width() <= min(markdownColumns, columns) {
		return []safe{whole}
	}
	lines := addSign(sign+" ", text, columns)
	if len(r.Facts) <= 1 { // nothing that must be seen is in the cause
		return append(lines, safetext.F("%s     # %s", sign, r.Cause))
	}
	return append(lines, addSign(sign+"     # ", r.Cause, columns)...)
}

// sentenceLines wraps a sentence; a fix stays on one line, so that you can copy it.
func sentenceLines(r view.Row, columns int) []safe {
	line := safetext.F("  %s", r.Text)
	if r.Fix {
		return []safe{line}
	}
	var out []safe
	for _, spans := range wrapSpans([]styledText{{line, plain}}, min(markdownColumns, columns), 2+indent) {
		out = append(out, joinSpans(spans).TrimRight())
	}
	return out
}
