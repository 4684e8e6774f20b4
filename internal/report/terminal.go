package report

import (
	"io"
	"slices"
	"strings"

	"trueup/internal/plan"
)

// banner heads every output of the embedded platform (design 0.13).
const banner safe = "SANDBOX: the embedded platform in .trueup/sandbox, not the real one"

// writeText renders for a terminal, or for the log of a pipeline.
func writeText(w io.Writer, doc Document, opts Options) error {
	p := newPrinter(w, opts)
	if doc.Sandbox {
		p.line(span{banner, once})
	}
	textFindings(p, doc)
	if doc.Plan != nil {
		textPlan(p, doc, opts)
	}
	if doc.Apply != nil {
		textApply(p, doc, opts)
	}
	if len(doc.Errors) > 0 {
		p.gap()
	}
	for _, e := range doc.Errors {
		p.wrapped(indent, span{"error: ", alarm}, span{message(e), plain})
	}
	return p.flush()
}

// The columns of a plan: marks end in the third, values and causes are aligned
// where there is room.
const (
	indent    = 4
	hang      = indent + 4
	minPath   = 32
	maxAlign  = 46
	minValue  = 18
	maxValue  = 34
	sourceCol = 54
)

func textPlan(p *printer, doc Document, opts Options) {
	column := sourceColumn(doc.Plan, p.width, opts)
	short := false
	for _, item := range doc.Plan.Items {
		if hidden(item, opts) {
			continue
		}
		single := oneLine(item)
		if !single || !short {
			p.gap()
		}
		short = single
		if single {
			textOneLine(p, item)
			continue
		}
		textItem(p, item, column, opts)
	}
	if len(doc.Plan.Notes) > 0 {
		p.gap()
	}
	for _, n := range doc.Plan.Notes {
		p.wrapped(indent, span{"Note: ", changed}, span{message(n), plain})
	}
	p.gap()
	p.wrapped(indent, span{planTitle(doc) + ": ", strong}, span{planSummary(doc), plain})
	if opts.ShowUnmanaged {
		for _, k := range doc.Plan.Unmanaged {
			p.line(span{"  not in git: " + named(k), faint})
		}
	}
}

// sourceColumn is where the manifests' places stand.
func sourceColumn(pl *plan.Plan, columns int, opts Options) int {
	column := sourceCol
	for _, item := range pl.Items {
		if !hidden(item, opts) && !oneLine(item) {
			column = max(column, width(titled(item.Key))+2)
		}
	}
	return min(column, columns-20)
}

// oneLine tells whether an item is only mentioned.
func oneLine(item plan.Item) bool {
	return item.Op == plan.Kept || item.Op == plan.None && len(item.Changes) == 0
}

func textOneLine(p *printer, item plan.Item) {
	p.wrapped(indent, span{pad(titled(item.Key), minPath+indent) + "  " + mention(item), faint})
	if item.Op == plan.None {
		for _, h := range item.Hints {
			p.wrapped(hang, span{"    note: " + message(h), faint})
		}
	}
}

// mention is the text of an item that is only mentioned.
func mention(item plan.Item) safe {
	if item.Op == plan.None {
		return "as git says"
	}
	text := "kept: " + message(item.Reason)
	if item.Fix != "" {
		text += " (" + message(item.Fix) + ")"
	}
	return text
}

func textItem(p *printer, item plan.Item, column int, opts Options) {
	textHeading(p, item, column)
	rows := itemRows(item, opts)
	values := make([][]span, len(rows))
	pathWidth, valueWidth := minPath, minValue
	for i, r := range rows {
		values[i] = valueSpans(r)
		pathWidth = grow(pathWidth, width(r.path), min(maxAlign, p.width*2/5))
		valueWidth = grow(valueWidth, width(flat(values[i])), maxValue)
	}
	for i, r := range rows {
		textRow(p, r, values[i], pathWidth, valueWidth)
	}
	for _, n := range itemNotes(item) {
		s := faint
		if n.fix {
			s = plain
		}
		p.wrapped(hang, span{pad("", indent) + n.text, s})
	}
}

// textHeading writes an item's key and where its manifest is, below it where
// both are too wide for a line.
func textHeading(p *printer, item plan.Item, column int) {
	title, place := span{titled(item.Key), strong}, source(item)
	space := max(2, column-width(title.text))
	if width(title.text)+space+width(place) <= p.width {
		p.line(title, span{pad("", space) + place, faint})
		return
	}
	p.line(title)
	p.line(span{pad("", indent) + cutLeft(place, p.width-indent), faint})
}

// grow widens a column, but not for what is too wide to align anyway.
func grow(column, need, most int) int {
	if need > most {
		return column
	}
	return max(column, need)
}

// source is where the manifest is.
func source(item plan.Item) safe {
	if item.Path == "" || item.Line == 0 {
		return cut(clean(item.Path), maxPath)
	}
	return cut(clean(item.Path), maxPath) + ":" + number(item.Line)
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

// textRow writes a row on one line, or its values below it where they are too
// wide for that.
func textRow(p *printer, r row, values []span, pathWidth, valueWidth int) {
	head := []span{{safe(strings.Repeat(" ", max(0, indent-1-len(r.mark)))+string(r.mark)) + " ", markStyle(r.mark)}, {r.path, plain}}
	causeStyle := faint
	if r.alarm {
		causeStyle = alarm
	}
	wide := width(flat(values))
	start := indent + max(pathWidth, width(r.path)) + 2
	head = append(head, span{pad("", start-indent-width(r.path)), plain})
	cause := span{r.cause, causeStyle}
	end := start + wide
	if wide > 0 && r.cause != "" {
		end = start + max(valueWidth, wide) + 2
	}
	switch {
	case wide == 0:
		textHead(p, head, cause)
	case end+width(r.cause) <= p.width:
		line := append(head, values...)
		p.line(append(line, span{pad("", end-start-wide), plain}, cause)...)
	case start+wide <= p.width:
		p.line(append(head, values...)...)
		p.wrapped(hang, span{pad("", indent+2), plain}, cause)
	default:
		textHead(p, head, cause)
		textTall(p, values)
	}
	textDetails(p, r)
}

// textHead writes a row without its values, the cause below it where both are
// too wide for a line.
func textHead(p *printer, head []span, cause span) {
	if width(flat(head))+width(cause.text) <= p.width {
		p.line(append(head, cause)...)
		return
	}
	p.wrapped(hang, head...)
	if cause.text != "" {
		p.wrapped(hang, span{pad("", indent+2), plain}, cause)
	}
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
	for _, line := range flowLines(r.details, p.width-hang) {
		p.line(span{pad("", hang) + line, s})
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
