package report

import (
	"slices"

	"trueup/internal/safetext"
	"trueup/internal/view"
)

// textRows writes rows, with values and causes aligned if they fit, and sentences below.
func textRows(p *printer, rows []row) {
	changes := slices.Clone(changesIn(rows))
	values := make([][]span, len(changes))
	l := layout{path: min(minPath, p.seen()*2/5), value: minValue}
	for i := range changes {
		r := &changes[i]
		for _, text := range []*safe{&r.Path, &r.Before, &r.After, &r.Cause} {
			*text = text.Guarded() // now, because escapes make a line wider
		}
		values[i] = valueSpans(*r)
		l.path = grow(l.path, r.Path.Width(), min(maxAlign, p.seen()*2/5))
	}
	most := min(mostValue, max(maxValue, p.seen()-indent-l.path-4-maxCause))
	for i := range changes {
		l.value = grow(l.value, flat(values[i]).Width(), most)
	}
	for i, r := range changes {
		l.row(p, r, values[i])
	}
	for _, r := range rows[len(changes):] {
		textSentence(p, r)
	}
	p.score.Show(factsIn(rows)...)
}

func textSentence(p *printer, r row) {
	s, breaks := faint, p.wrapped
	if r.Fix {
		s = plain
	}
	if len(r.facts) > 0 {
		breaks = p.within
	}
	breaks(hang, span{safetext.F("    %s", r.Text), s})
}

// layout has the widths of an object's paths and values.
type layout struct{ path, value int }

// grow widens a column, unless need is too wide to align.
func grow(column, need, most int) int {
	if need > most {
		return column
	}
	return max(column, need)
}

// valueSpans returns a row's values, with different words of long texts marked.
func valueSpans(r row) []span {
	switch {
	case !r.Before.Empty() && !r.After.Empty():
		before, after := wordSpans(r.Before, r.After)
		return slices.Concat(before, []span{arrow()}, after)
	case !r.Before.Empty():
		return []span{{r.Before, removed}}
	case !r.After.Empty() && r.Mark == markAdd:
		return []span{{r.After, added}}
	case !r.After.Empty():
		return []span{{r.After, plain}}
	}
	return nil
}

// wordSpans returns two texts with the different part marked.
func wordSpans(before, after safe) (a, b []span) {
	x, y, ok := differing(before, after)
	if !ok {
		return []span{{before, removed}}, []span{{after, added}}
	}
	return partSpans(x, removed, removedPart), partSpans(y, added, addedPart)
}

func arrow() span { return span{clean(" → "), faint} }

func partSpans(parts []part, same, differs style) []span {
	spans := make([]span, len(parts))
	for i, part := range parts {
		spans[i] = span{part.Text, same}
		if part.Differs {
			spans[i].style = differs
		}
	}
	return spans
}

// row writes a row on one line, or its values and cause below it if they don't fit.
func (l layout) row(p *printer, r row, values []span) {
	sign := safetext.F("%s%s ", safetext.Spaces(indent-1-len(r.Mark)), string(r.Mark))
	head := []span{{sign, tableOfMarks[r.Mark].style}, {r.Path, plain}}
	cause := span{r.Cause, faint}
	if r.Alarm {
		cause.style = alarm
	}
	at := indent + r.Path.Width()
	start := indent + max(l.path, r.Path.Width()) + 2
	wide := flat(values).Width()
	end := start + max(l.value, wide) + 2
	if wide == 0 {
		end = start
	}
	tall := start+wide > p.seen()
	switch {
	case tall:
		end = start + l.value + 2
	case wide > 0:
		head = append(append(head, span{safetext.Spaces(start - at), plain}), values...)
		at = start + wide
	}
	most, breaks, first := p.width, p.wrapped, p.within
	if len(r.facts) == 0 {
		first = p.wrapped
	}
	if len(r.facts) > 1 { // the cause names them
		most, breaks = p.seen(), p.within
	}
	beside := end+cause.text.Width() <= most && flat(head).Width() <= p.seen()
	if beside {
		p.line(append(head, span{safetext.Spaces(end - at), plain}, cause)...)
	} else {
		first(hang, head...)
	}
	lead := span{safetext.Spaces(indent + 2), plain}
	if tall {
		textTall(p, lead, values)
	}
	if !beside && !cause.text.Empty() {
		breaks(hang, lead, cause)
	}
	textDetails(p, r)
}

func textDetails(p *printer, r row) {
	s := added
	if !r.Before.Empty() {
		s = removed
	}
	textTokens(p, r.details, s, r.whole)
	textTokens(p, r.names, plain, r.whole)
}

// textTokens sets values or names below a row.
func textTokens(p *printer, tokens []safe, s style, whole bool) {
	if len(tokens) == 0 {
		return
	}
	for _, line := range view.Wrap(tokens, p.seen()-hang, whole) {
		p.line(span{safetext.F("%s%s", safetext.Spaces(hang), line), s})
	}
}

func textTall(p *printer, lead span, values []span) {
	i := slices.Index(values, arrow())
	if i < 0 {
		p.within(hang, slices.Concat([]span{lead}, values)...)
		return
	}
	p.within(hang+2, slices.Concat([]span{lead, {clean("  "), plain}}, values[:i])...)
	p.within(hang+2, slices.Concat([]span{lead, {clean("→ "), faint}}, values[i+1:])...)
}
