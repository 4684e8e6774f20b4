package report

import (
	"slices"
	"strings"
)

// textRows writes the marked lines of an item, their values and causes aligned
// as far as there is room.
func textRows(p *printer, rows []row) {
	values := make([][]span, len(rows))
	l := layout{path: min(minPath, p.width*2/5), value: minValue}
	for i, r := range rows {
		values[i] = valueSpans(r)
		l.path = grow(l.path, width(r.path), min(maxAlign, p.width*2/5))
	}
	most := min(mostValue, max(maxValue, p.width-indent-l.path-4-maxCause))
	for i := range rows {
		l.value = grow(l.value, width(flat(values[i])), most)
	}
	for i, r := range rows {
		l.row(p, r, values[i])
	}
}

// layout are the widths of an item's paths and values.
type layout struct{ path, value int }

// grow widens a column, but not for what is too wide to align anyway.
func grow(column, need, most int) int {
	if need > most {
		return column
	}
	return max(column, need)
}

// valueSpans are a row's values, with what differs inside long texts marked.
func valueSpans(r row) []span {
	switch {
	case r.before != "" && r.after != "":
	case r.before != "":
		return []span{{r.before, removed}}
	case r.after != "" && (r.mark == markAdd || r.mark == markDrift):
		return []span{{r.after, added}}
	case r.after != "":
		return []span{{r.after, plain}}
	default:
		return nil
	}
	before, after := []span{{r.before, removed}}, []span{{r.after, added}}
	if a, b, ok := intraline(r.before, r.after); ok {
		before, after = partSpans(a, removed, removedPart), partSpans(b, added, addedPart)
	}
	return slices.Concat(before, []span{arrow()}, after)
}

// arrow stands between two values.
func arrow() span { return span{" → ", faint} }

func partSpans(parts []part, same, differs style) []span {
	spans := make([]span, len(parts))
	for i, part := range parts {
		spans[i] = span{part.text, same}
		if part.differs {
			spans[i].style = differs
		}
	}
	return spans
}

func markStyle(m mark) style {
	switch m {
	case markAdd:
		return added
	case markChange:
		return changed
	case markRemove:
		return removed
	case markOnce, markLater:
		return once
	case markSame:
		return faint
	case markDrift, markLost, markConflict, markBlocked:
	}
	return alarm
}

// row writes a row on one line, or its values and its cause below it where they
// are too wide for that.
func (l layout) row(p *printer, r row, values []span) {
	head := []span{{safe(strings.Repeat(" ", max(0, indent-1-len(r.mark)))+string(r.mark)) + " ", markStyle(r.mark)}, {r.path, plain}}
	cause := span{r.cause, faint}
	if r.alarm {
		cause.style = alarm
	}
	at := indent + width(r.path)
	start := indent + max(l.path, width(r.path)) + 2
	wide := width(flat(values))
	end := start + max(l.value, wide) + 2
	if wide == 0 {
		end = start
	}
	tall := start+wide > p.width
	switch {
	case tall:
		end = indent + max(l.path, width(r.path)) + 2 + l.value + 2
	case wide > 0:
		head = append(append(head, span{pad("", start-at), plain}), values...)
		at = start + wide
	}
	beside := end+width(cause.text) <= p.width
	if beside && cause.text != "" {
		head = append(head, span{pad("", end-at), plain}, cause)
	}
	p.wrapped(hang, head...)
	if tall {
		textTall(p, values)
	}
	if !beside && cause.text != "" {
		p.wrapped(hang, span{pad("", indent+2), plain}, cause)
	}
	textDetails(p, r)
}

// textDetails writes what a row's value is short for.
func textDetails(p *printer, r row) {
	if len(r.details) == 0 {
		return
	}
	s := added
	if r.before != "" {
		s = removed
	}
	for _, line := range flowLines(r.details, p.width-hang, r.whole()) {
		p.wrapped(hang, span{pad("", hang) + line, s})
	}
}

// textTall writes the values of a row on lines of their own.
func textTall(p *printer, values []span) {
	lead := span{pad("", indent+2), plain}
	i := slices.Index(values, arrow())
	if i < 0 {
		p.wrapped(hang, slices.Concat([]span{lead}, values)...)
		return
	}
	p.wrapped(hang+2, slices.Concat([]span{lead, {"  ", plain}}, values[:i])...)
	p.wrapped(hang+2, slices.Concat([]span{lead, {"→ ", faint}}, values[i+1:])...)
}
