package report

import (
	"bytes"
	"io"
	"slices"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// Banner is the first line of every output about the embedded platform.
const Banner = safetext.SandboxBanner

// offlineBanner is the first line of the reports of --offline runs.
const offlineBanner = "OFFLINE: git is compared with git, and not with what is live"

func writeText(w io.Writer, doc Document, opts view.TextOptions) error {
	if doc.HasOwnText() {
		if _, err := w.Write(commandText(doc, opts)); err != nil {
			return err
		}
	}
	p := newPrinter(w, opts)
	p.score = doc.score
	textBanners(p, doc)
	textFindings(p, doc, opts)
	if doc.Plan != nil {
		textPlan(p, doc, opts)
	}
	if doc.Apply != nil {
		textApply(p, doc, opts)
	}
	if all := silencedLines(doc); opts.Verbose && len(all) > 0 {
		p.printGap()
		p.printEntry("Silenced", strong, safetext.F("%s by comments in manifests.", safetext.Count(len(all), "finding")))
		for _, line := range all {
			p.printBelow(faint, line)
		}
	}
	if len(doc.Errors) > 0 {
		p.printGap()
	}
	for _, e := range doc.Errors {
		p.printEntry("error", alarm, view.Message(e))
	}
	return p.flush()
}

func textBanners(p *printer, doc Document) {
	if doc.Sandbox && (doc.Plan != nil || !doc.HasOwnText()) {
		p.printWrapped(0, styledText{clean(Banner), once})
	}
	if doc.Plan != nil && doc.Plan.Offline {
		p.printWrapped(0, styledText{clean(offlineBanner), once})
	}
}

// printEntry writes a name and a sentence.
func (p *printer) printEntry(name string, s style, sentence safe) {
	p.printWrapped(indent, styledText{safetext.F("%s: ", name), s}, styledText{sentence, plain})
}

// printBelow writes an indented line about the line above.
func (p *printer) printBelow(s style, line safe) {
	p.printWrapped(hang, styledText{safetext.F("    %s", line), s})
}

// HasOwnText reports whether the document is that of a command without a plan.
func (doc Document) HasOwnText() bool { return doc.Text != nil || doc.Messages != nil }

// ownLines returns the output of a command without a plan.
func ownLines(doc Document) []safe {
	return linesOf(string(commandText(doc, view.TextOptions{Width: markdownColumns})))
}

// commandText returns the output of a command without a plan.
func commandText(doc Document, opts view.TextOptions) []byte {
	var b bytes.Buffer
	out := NewLines(&b).Within(opts.Width)
	if opts.Width == 0 {
		out = out.Piped()
	}
	if doc.Text != nil {
		doc.Text(out, opts)
	}
	for _, m := range doc.Messages {
		_ = out.Printf("%s\n", m) // a Buffer takes everything
	}
	return b.Bytes()
}

// The columns of a plan. Marks end in the third column. The other cells are aligned.
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

func textPlan(p *printer, doc Document, opts view.TextOptions) {
	for _, t := range targetFacts(doc) {
		p.printEntry(t.Name, strong, safetext.Join(t.Values, ", "))
	}
	if len(doc.Plan.Settings) > 0 {
		p.printGap()
		p.printWrapped(indent, styledText{clean(view.SettingsTitle + ":"), alarm})
	}
	for _, s := range view.SettingsOf(doc.Plan) {
		textRows(p, view.ObjectView{Changes: s.Rows[:1], Notes: s.Rows[1:]})
	}
	textItems(p, doc.Plan, opts)
	textRequests(p, doc.Plan, opts)
	for _, a := range alikeFindings(doc.Plan.Advice) {
		p.printGap()
		textFinding(p, a)
	}
	notes := doc.Plan.Notes
	if opts.Brief {
		notes = slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return n == plan.UnseenLedger })
	}
	if len(notes) > 0 {
		p.printGap()
	}
	for _, n := range notes {
		p.printEntry("Note", changed, view.Message(n))
	}
	p.printGap()
	doc.Apply = nil // its counts follow
	textCounts(p, doc)
	textFoot(p, doc, opts)
}

// textCounts writes the sentence of counts.
func textCounts(p *printer, doc Document) {
	title, lede, sub := summaryOf(doc)
	text := view.Sentences(lede, sub)
	if title == "" {
		p.printWrapped(indent, styledText{text, plain})
		return
	}
	p.printEntry(title, strong, text)
}

// footFact is a line below the counts of a plan, with what to do about it.
type footFact struct {
	name      string
	style     style
	text, fix safe
}

func textFoot(p *printer, doc Document, opts view.TextOptions) {
	pl := doc.Plan
	base, problem, fix := view.Blame(pl.Blame)
	facts := []footFact{{name: "Risks", style: alarm, text: view.RisksLine(pl)}}
	if !opts.Brief {
		facts = append(facts, footFact{name: "Causes", style: strong, text: view.CausesLine(pl, opts)}, footFact{name: "Base", style: strong, text: base})
	}
	if !opts.Brief || view.NeedsBase(pl) {
		facts = append(facts, footFact{"Base", changed, problem, fix})
	}
	if opts.Brief {
		facts = append(facts, footFact{name: "Removed from git, still live", style: strong, text: view.FoldedLine(pl, opts)},
			footFact{name: "Warnings", style: changed, text: quietLine(doc)})
	}
	for _, f := range facts {
		if f.text.Empty() {
			continue
		}
		p.printEntry(f.name, f.style, f.text)
		if !f.fix.Empty() {
			p.printBelow(plain, safetext.F("fix: %s", f.fix))
		}
	}
	if pl.Digest != "" && !opts.Brief {
		p.printEntry("Digest", strong, clean(pl.Digest).Cut(view.MaxPath))
	}
	if opts.ShowUnmanaged {
		for _, k := range pl.Unmanaged {
			p.printWrapped(indent, styledText{safetext.F("  not in git: %s", view.Named(k)), faint})
		}
	}
}

func textItems(p *printer, pl *plan.Plan, opts view.TextOptions) {
	objects := view.ShownObjects(pl, opts, true)
	column := sourceCol // where the manifest's path starts
	for _, o := range objects {
		if !o.Short {
			column = max(column, o.Title.Width()+2)
		}
	}
	column = min(column, max(p.width-24, p.width/2))
	short, waits := false, false
	for _, o := range objects {
		if o.Waits && !waits {
			waits = true
			p.printGap()
			p.printWrapped(indent, styledText{clean("In git, and not applied:"), strong})
		}
		if !o.Short || !short {
			p.printGap()
		}
		if short = o.Short; short {
			textOneLine(p, o)
			continue
		}
		textHeading(p, o, column)
		textRows(p, o)
	}
}

func textOneLine(p *printer, o view.ObjectView) {
	says := o.Headline
	if len(o.Leads) > 0 {
		says = o.Leads[0].Path
	}
	p.printWrapped(indent, styledText{safetext.F("%s  %s", o.Title.Pad(minPath+indent), says), faint})
	for _, n := range o.Notes {
		p.printBelow(faint, n.Text)
	}
}

// writeLines writes lines at the end of a text.
func writeLines(w io.Writer, lines []safe) error {
	p := newPrinter(w, view.TextOptions{})
	for _, line := range lines {
		p.printWithin(indent, styledText{line, alarm})
	}
	return p.flush()
}

// textHeading writes an object's key and its manifest, on two lines if they don't fit on one.
func textHeading(p *printer, o view.ObjectView, column int) {
	space := max(2, min(column, p.width-o.Source.Width())-o.Title.Width())
	if o.Title.Width()+space+o.Source.Width() <= p.width {
		p.printLine(styledText{o.Title, strong}, styledText{safetext.F("%s%s", safetext.Spaces(space), o.Source), faint})
		return
	}
	p.printWrapped(indent, styledText{o.Title, strong})
	p.printLine(styledText{safetext.F("    %s", o.Source.CutLeft(p.width-indent)), faint})
}

// textFindings writes the findings, and without a plan the sentence of counts.
func textFindings(p *printer, doc Document, opts view.TextOptions) {
	for _, f := range shownFindings(doc, opts) {
		p.printGap()
		textFinding(p, f)
	}
	if doc.Plan == nil && (len(doc.Findings) > 0 || doc.Command == "validate" || doc.Tests != nil || doc.Projects != nil) {
		p.printGap()
		textCounts(p, doc)
	}
}

func textFinding(p *printer, f equalFindings) {
	s := changed
	if f.Severity == diag.Error {
		s = alarm
	}
	p.printWrapped(indent, styledText{view.Place(f.Finding), strong}, styledText{safetext.F("%s: ", f.Severity.String()), s},
		styledText{view.Message(f.Message), plain}, styledText{safetext.F(" [%s]", clean(f.Rule).Cut(view.MaxPath)), faint})
	if f.Source != "" {
		code, caret := excerptLine(f.Source, f.Column, p.width-2*indent)
		p.printLine(styledText{safetext.F("    %s", code), faint})
		if f.Column > 0 {
			p.printLine(styledText{safetext.Spaces(indent + caret), plain}, styledText{clean("^"), s})
		}
	}
	if also := f.Also(); !also.Empty() {
		p.printWrapped(indent+2, styledText{safetext.F("  %s", also), plain})
	}
	if f.Fix != "" {
		p.printWrapped(indent+2, styledText{safetext.F("  %s: %s", f.fixes(), view.Message(f.Fix)), plain})
	}
}

// textApply writes the outcomes and the next steps. It only counts untouched objects.
func textApply(p *printer, doc Document, opts view.TextOptions) {
	r := doc.Apply
	p.printGap()
	column, shown := keyWidth(r), false
	for _, o := range r.Outcomes {
		if !isUntouched(o) || opts.Verbose {
			if !opts.Verbose {
				o.Filled = nil
			}
			textOutcome(p, o, column)
			shown = true
		}
	}
	if shown {
		p.printGap()
	}
	textCounts(p, doc)
	for _, s := range view.NextSteps(r) {
		p.printEntry("Next", changed, s)
	}
}

// isUntouched reports whether apply sent nothing for an object and has nothing to say about it.
func isUntouched(o apply.ItemOutcome) bool {
	return o.Status == apply.Done && !o.Sent && o.Message == "" && o.Fix == "" && len(o.Mismatches) == 0
}

// The columns of an outcome: its kind, and the indent of its other lines.
const (
	statusWidth = len(apply.Unchanged)
	outcomeHang = statusWidth + 4
)

func textOutcome(p *printer, o apply.ItemOutcome, column int) {
	lead := safetext.Spaces(outcomeHang - 2)
	outcome := outcomeLook(o)
	p.printWrapped(outcomeHang, styledText{safetext.F("%s  ", clean(outcome.Name).Pad(statusWidth)), outcome.style},
		styledText{safetext.F("%s  %s", view.Named(o.Key).Pad(column), view.Message(o.Message)), plain})
	for _, m := range o.Mismatches {
		p.printWrapped(outcomeHang+2, append([]styledText{{safetext.F("%s%s  ", lead, clean(m.Path).Cut(view.MaxPath)), plain}}, mismatchSpans(m)...)...)
		if m.Hint != "" {
			p.printWrapped(outcomeHang+4, styledText{safetext.F("%s  hint: %s", lead, view.Message(m.Hint)), plain})
		}
	}
	for _, v := range o.Filled {
		p.printWrapped(outcomeHang+2, styledText{safetext.F("%s%s  filled in by the server: %s", lead, clean(v.Path).Cut(view.MaxPath), view.Value(v.Value, false)), faint})
	}
	if o.Fix != "" {
		p.printWrapped(outcomeHang+2, styledText{safetext.F("%sfix: %s", lead, view.Message(o.Fix)), plain})
	}
}

func sentAndReturned(m apply.ReadbackMismatch) (sent, returned safe) {
	sent, returned = view.Pair(m.Sent, m.Returned, true)
	if m.Returned == nil {
		returned = view.Value(nil, false)
	}
	return sent, returned
}

// mismatchSpans says how a place differs from what a request makes of it.
func mismatchSpans(m apply.ReadbackMismatch) []styledText {
	sent, returned := sentAndReturned(m)
	switch m.Fault {
	case merge.NotRemoved:
		return []styledText{{clean("removed, and the server still has "), plain}, {returned, removed}}
	case merge.Altered:
		return []styledText{{clean("not sent, was "), plain}, {sent, added}, {clean(", is now "), plain}, {returned, removed}}
	case merge.NotKept:
	}
	return []styledText{{clean("sent "), plain}, {sent, added}, {clean(", returned "), plain}, {returned, removed}}
}

// textRequests writes the section about requests.
func textRequests(p *printer, pl *plan.Plan, opts view.TextOptions) {
	s := view.RequestsOf(pl, opts)
	if len(s.Lines) == 0 {
		return
	}
	p.printGap()
	p.printWrapped(indent, styledText{safetext.F("%s:", s.Title), strong})
	for _, line := range s.Lines {
		p.printWrapped(hang, styledText{safetext.F("    %s", line), plain})
	}
}
