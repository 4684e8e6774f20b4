package report

import (
	"io"

	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// Banner heads every output of the embedded platform.
const Banner = safetext.SandboxBanner

const banner safe = Banner

// offlineBanner heads what was made without looking at live.
const offlineBanner safe = "OFFLINE: git is compared with git, and not with what is live"

// writeText renders for a terminal, or for the log of a pipeline.
func writeText(w io.Writer, doc Document, opts Options) error {
	p := newPrinter(w, opts)
	if doc.Sandbox {
		p.wrapped(0, span{banner, once})
	}
	if doc.Plan != nil && doc.Plan.Offline {
		p.wrapped(0, span{offlineBanner, once})
	}
	textFindings(p, doc, opts)
	if doc.Plan != nil {
		textPlan(p, doc, opts)
	}
	if doc.Apply != nil {
		textApply(p, doc, opts)
	}
	if opts.Verbose {
		textSilenced(p, doc)
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
	mostValue = 60
	maxCause  = 36
	sourceCol = 54
)

func textPlan(p *printer, doc Document, opts Options) {
	if _, why := diffStyle(p, opts); why != "" {
		p.gap()
		p.wrapped(indent, span{"Note: ", changed}, span{why, plain})
	}
	textTarget(p, doc)
	textSettings(p, doc.Plan)
	textItems(p, doc.Plan, opts)
	for _, a := range alikeFindings(doc.Plan.Advice) {
		p.gap()
		textFinding(p, a)
	}
	if len(doc.Plan.Notes) > 0 {
		p.gap()
	}
	for _, n := range doc.Plan.Notes {
		p.wrapped(indent, span{"Note: ", changed}, span{message(n), plain})
	}
	p.gap()
	p.wrapped(indent, span{planTitle(doc) + ": ", strong}, span{planSummary(doc), plain})
	if risks := risksLine(doc.Plan); risks != "" {
		p.wrapped(indent, span{"Risks: ", alarm}, span{risks, plain})
	}
	textFoot(p, doc.Plan, opts)
}

// textTarget says where the requests of a plan would go.
func textTarget(p *printer, doc Document) {
	for _, t := range target(doc) {
		p.wrapped(indent, span{t.name + ": ", strong}, span{join(t.values, ", "), plain})
	}
}

// textSettings writes what a change of the project itself does to the plan.
func textSettings(p *printer, pl *plan.Plan) {
	if len(pl.Settings) == 0 {
		return
	}
	p.gap()
	p.wrapped(indent, span{settingsTitle + ":", alarm})
	for _, s := range pl.Settings {
		textRows(p, []row{settingRow(s)})
		textNotes(p, settingNotes(pl, s))
	}
}

// textFoot says what the plan as a whole rests on.
func textFoot(p *printer, pl *plan.Plan, opts Options) {
	if causes := causesLine(pl, opts); causes != "" {
		p.wrapped(indent, span{"Causes: ", strong}, span{causes, plain})
	}
	base, problem, fix := blame(pl.Blame)
	if base != "" {
		p.wrapped(indent, span{"Base: ", strong}, span{base, plain})
	}
	if problem != "" {
		p.wrapped(indent, span{"Base: ", changed}, span{problem, plain})
	}
	if fix != "" {
		p.wrapped(hang, span{pad("", indent) + "fix: " + fix, plain})
	}
	if pl.Digest != "" {
		p.wrapped(indent, span{"Digest: ", strong}, span{cut(clean(pl.Digest), maxPath), plain})
	}
	if opts.ShowUnmanaged {
		for _, k := range pl.Unmanaged {
			p.wrapped(indent, span{"  not in git: " + named(k), faint})
		}
	}
}

func textItems(p *printer, pl *plan.Plan, opts Options) {
	before, after := sidesOf(pl)
	w := itemPrinter{p, opts, sourceColumn(pl, p.width, opts), before, after}
	short := false
	for _, g := range groups(pl, opts) {
		single := oneLine(g.item)
		if !single || !short {
			p.gap()
		}
		short = single
		if single {
			textOneLine(p, g.item)
			continue
		}
		w.group(g)
	}
}

// itemPrinter writes the items of a plan.
type itemPrinter struct {
	*printer
	opts Options
	// column is where the manifests' places stand.
	column int
	// before and after are what is compared.
	before, after safe
}

// sourceColumn is where the manifests' places stand.
func sourceColumn(pl *plan.Plan, columns int, opts Options) int {
	column := sourceCol
	for _, item := range pl.Items {
		if !hidden(item, opts) && !oneLine(item) {
			column = max(column, width(titled(item.Key))+2)
		}
	}
	return min(column, max(columns-24, columns/2))
}

// oneLine reports whether an item is only mentioned.
func oneLine(item plan.Item) bool {
	return mentioned(item) || item.Op == plan.None && len(item.Changes) == 0
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
		return "in sync"
	}
	text := "kept: " + message(item.Reason)
	if item.Fix != "" {
		text += " (" + message(item.Fix) + ")"
	}
	return text
}

func (w itemPrinter) group(g group) {
	textHeading(w.printer, g, w.column)
	style, _ := diffStyle(w.printer, w.opts)
	if style == DiffUnified || style == DiffSides {
		textRows(w.printer, wholeRows(g.item))
		w.diff(g.item, style)
		textNotes(w.printer, g.notes(effects))
		return
	}
	textRows(w.printer, g.rows)
	textNotes(w.printer, g.notes(itemNotes))
}

func textNotes(p *printer, notes []note) {
	for _, n := range notes {
		s := faint
		if n.fix {
			s = plain
		}
		p.wrapped(hang, span{pad("", indent) + n.text, s})
	}
}

// textHeading writes an item's key and where its manifest is, below it where
// both are too wide for a line.
func textHeading(p *printer, g group, column int) {
	title, place := span{g.title(), strong}, source(g.item)
	if g.many() {
		place = ""
	}
	space := max(2, min(column, p.width-width(place))-width(title.text))
	if width(title.text)+space+width(place) <= p.width {
		p.line(title, span{pad("", space) + place, faint})
		return
	}
	p.wrapped(indent, title)
	p.line(span{pad("", indent) + cutLeft(place, p.width-indent), faint})
}

// source is where the manifest is.
func source(item plan.Item) safe {
	if item.Path == "" || item.Line == 0 {
		return cut(clean(item.Path), maxPath)
	}
	return cut(clean(item.Path), maxPath) + ":" + number(item.Line)
}
