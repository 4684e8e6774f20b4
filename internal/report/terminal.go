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

func writeText(w io.Writer, doc Document, opts Options) error {
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
	if all := silenced(doc); opts.Verbose && len(all) > 0 {
		p.gap()
		p.entry("Silenced", strong, safetext.F("%s by comments in manifests.", safetext.Count(len(all), "finding")))
		for _, f := range all {
			p.below(faint, safetext.F("%s%s: %s", place(f), clean(f.Rule).Cut(maxPath), message(f.Silenced)))
		}
	}
	if len(doc.Errors) > 0 {
		p.gap()
	}
	for _, e := range doc.Errors {
		p.entry("error", alarm, message(e))
	}
	return p.flush()
}

func textBanners(p *printer, doc Document) {
	if doc.Sandbox && (doc.Plan != nil || !doc.HasOwnText()) {
		p.wrapped(0, span{clean(Banner), once})
	}
	if doc.Plan != nil && doc.Plan.Offline {
		p.wrapped(0, span{clean(offlineBanner), once})
	}
}

// entry writes a name and a sentence.
func (p *printer) entry(name string, s style, sentence safe) {
	p.wrapped(indent, span{safetext.F("%s: ", name), s}, span{sentence, plain})
}

// below writes an indented line about the line above.
func (p *printer) below(s style, line safe) { p.wrapped(hang, span{safetext.F("    %s", line), s}) }

// HasOwnText reports whether the document is that of a command without a plan.
func (doc Document) HasOwnText() bool { return doc.Text != nil || doc.Messages != nil }

// ownLines returns the output of a command without a plan.
func ownLines(doc Document) []safe {
	return linesOf(string(commandText(doc, Options{Width: markdownColumns})))
}

// commandText returns the output of a command without a plan.
func commandText(doc Document, opts Options) []byte {
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

func textPlan(p *printer, doc Document, opts Options) {
	for _, t := range target(doc) {
		p.entry(t.Name, strong, safetext.Join(t.Values, ", "))
	}
	if len(doc.Plan.Settings) > 0 {
		p.gap()
		p.wrapped(indent, span{clean(settingsTitle + ":"), alarm})
	}
	for _, s := range settingsOf(doc.Plan) {
		textRows(p, object{Changes: s.Rows[:1], Notes: s.Rows[1:]})
	}
	textItems(p, doc.Plan, opts)
	textRequests(p, doc.Plan, opts)
	for _, a := range alikeFindings(doc.Plan.Advice) {
		p.gap()
		textFinding(p, a)
	}
	notes := doc.Plan.Notes
	if opts.Brief {
		notes = slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return n == plan.UnseenLedger })
	}
	if len(notes) > 0 {
		p.gap()
	}
	for _, n := range notes {
		p.entry("Note", changed, message(n))
	}
	p.gap()
	doc.Apply = nil // its counts follow
	textCounts(p, doc)
	textFoot(p, doc, opts)
}

// textCounts writes the sentence of counts.
func textCounts(p *printer, doc Document) {
	title, lede, sub := summaryOf(doc)
	text := sentences(lede, sub)
	if title == "" {
		p.wrapped(indent, span{text, plain})
		return
	}
	p.entry(title, strong, text)
}

// footFact is a line below the counts of a plan, with what to do about it.
type footFact struct {
	name      string
	style     style
	text, fix safe
}

// needsBase reports whether a better base would change what the plan says: it names a commit, or the
// cause of a change is unknown.
func needsBase(pl *plan.Plan) bool {
	return pl.Blame != nil && pl.Blame.Ref != "" || slices.ContainsFunc(pl.Items, func(item plan.Item) bool {
		return caused(plan.FromUnknown)(item) > 0
	})
}

func textFoot(p *printer, doc Document, opts Options) {
	pl := doc.Plan
	base, problem, fix := blame(pl.Blame)
	facts := []footFact{{name: "Risks", style: alarm, text: risksLine(pl)}}
	if !opts.Brief {
		facts = append(facts, footFact{name: "Causes", style: strong, text: causesLine(pl, opts)}, footFact{name: "Base", style: strong, text: base})
	}
	if !opts.Brief || needsBase(pl) {
		facts = append(facts, footFact{"Base", changed, problem, fix})
	}
	if opts.Brief {
		facts = append(facts, footFact{name: "Removed from git, still live", style: strong, text: foldedLine(pl, opts)},
			footFact{name: "Warnings", style: changed, text: quietLine(doc)})
	}
	for _, f := range facts {
		if f.text.Empty() {
			continue
		}
		p.entry(f.name, f.style, f.text)
		if !f.fix.Empty() {
			p.below(plain, safetext.F("fix: %s", f.fix))
		}
	}
	if pl.Digest != "" && !opts.Brief {
		p.entry("Digest", strong, clean(pl.Digest).Cut(maxPath))
	}
	if opts.ShowUnmanaged {
		for _, k := range pl.Unmanaged {
			p.wrapped(indent, span{safetext.F("  not in git: %s", named(k)), faint})
		}
	}
}

func textItems(p *printer, pl *plan.Plan, opts Options) {
	objects := shownObjects(pl, opts, true)
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
			p.gap()
			p.wrapped(indent, span{clean("In git, and not applied:"), strong})
		}
		if !o.Short || !short {
			p.gap()
		}
		if short = o.Short; short {
			textOneLine(p, o)
			continue
		}
		textHeading(p, o, column)
		textRows(p, o)
	}
}

func textOneLine(p *printer, o object) {
	says := o.Headline
	if len(o.Leads) > 0 {
		says = o.Leads[0].Path
	}
	p.wrapped(indent, span{safetext.F("%s  %s", o.Title.Pad(minPath+indent), says), faint})
	for _, n := range o.Notes {
		p.below(faint, n.Text)
	}
}

// writeLines writes lines at the end of a text.
func writeLines(w io.Writer, lines []safe) error {
	p := newPrinter(w, Options{})
	for _, line := range lines {
		p.within(indent, span{line, alarm})
	}
	return p.flush()
}

// textHeading writes an object's key and its manifest, on two lines if they don't fit on one.
func textHeading(p *printer, o object, column int) {
	space := max(2, min(column, p.width-o.Source.Width())-o.Title.Width())
	if o.Title.Width()+space+o.Source.Width() <= p.width {
		p.line(span{o.Title, strong}, span{safetext.F("%s%s", safetext.Spaces(space), o.Source), faint})
		return
	}
	p.wrapped(indent, span{o.Title, strong})
	p.line(span{safetext.F("    %s", o.Source.CutLeft(p.width-indent)), faint})
}

// textFindings writes the findings, and without a plan the sentence of counts.
func textFindings(p *printer, doc Document, opts Options) {
	for _, f := range shownFindings(doc, opts) {
		p.gap()
		textFinding(p, f)
	}
	if doc.Plan == nil && (len(doc.Findings) > 0 || doc.Command == "validate" || doc.Tests != nil || doc.Projects != nil && doc.Text == nil) {
		p.gap()
		textCounts(p, doc)
	}
}

func textFinding(p *printer, f alike) {
	s := changed
	if f.Severity == diag.Error {
		s = alarm
	}
	p.wrapped(indent, span{place(f.Finding), strong}, span{safetext.F("%s: ", f.Severity.String()), s},
		span{message(f.Message), plain}, span{safetext.F(" [%s]", clean(f.Rule).Cut(maxPath)), faint})
	if f.Source != "" {
		code, caret := excerpt(f.Source, f.Column, p.width-2*indent)
		p.line(span{safetext.F("    %s", code), faint})
		if f.Column > 0 {
			p.line(span{safetext.Spaces(indent + caret), plain}, span{clean("^"), s})
		}
	}
	if also := f.Also(); !also.Empty() {
		p.wrapped(indent+2, span{safetext.F("  %s", also), plain})
	}
	if f.Fix != "" {
		p.wrapped(indent+2, span{safetext.F("  %s: %s", f.fixes(), message(f.Fix)), plain})
	}
}

// textApply writes the outcomes and the next steps. It only counts untouched objects.
func textApply(p *printer, doc Document, opts Options) {
	r := doc.Apply
	p.gap()
	column, shown := keyWidth(r), false
	for _, o := range r.Outcomes {
		if !untouched(o) || opts.Verbose {
			if !opts.Verbose {
				o.Filled = nil
			}
			textOutcome(p, o, column)
			shown = true
		}
	}
	if shown {
		p.gap()
	}
	textCounts(p, doc)
	for _, s := range nextSteps(r) {
		p.entry("Next", changed, s)
	}
}

// untouched reports whether apply sent nothing for an object and has nothing to say about it.
func untouched(o apply.Outcome) bool {
	return o.Status == apply.Done && !o.Sent && o.Message == "" && o.Fix == "" && len(o.Mismatches) == 0
}

// The columns of an outcome: its kind, and the indent of its other lines.
const (
	statusWidth = len(apply.Unchanged)
	outcomeHang = statusWidth + 4
)

func textOutcome(p *printer, o apply.Outcome, column int) {
	lead := safetext.Spaces(outcomeHang - 2)
	kind := outcomeKindOf(o)
	p.wrapped(outcomeHang, span{safetext.F("%s  ", kind.Label.Pad(statusWidth)), kind.style},
		span{safetext.F("%s  %s", named(o.Key).Pad(column), message(o.Message)), plain})
	for _, m := range o.Mismatches {
		p.wrapped(outcomeHang+2, append([]span{{safetext.F("%s%s  ", lead, clean(m.Path).Cut(maxPath)), plain}}, mismatchSpans(m)...)...)
		if m.Hint != "" {
			p.wrapped(outcomeHang+4, span{safetext.F("%s  hint: %s", lead, message(m.Hint)), plain})
		}
	}
	for _, v := range o.Filled {
		p.wrapped(outcomeHang+2, span{safetext.F("%s%s  filled in by the server: %s", lead, clean(v.Path).Cut(maxPath), value(v.Value, false)), faint})
	}
	if o.Fix != "" {
		p.wrapped(outcomeHang+2, span{safetext.F("%sfix: %s", lead, message(o.Fix)), plain})
	}
}

func sentAndReturned(m apply.Mismatch) (sent, returned safe) {
	sent, returned = view.Pair(m.Sent, m.Returned, true)
	if m.Returned == nil {
		returned = value(nil, false)
	}
	return sent, returned
}

// mismatchSpans says how a place differs from what a request makes of it.
func mismatchSpans(m apply.Mismatch) []span {
	sent, returned := sentAndReturned(m)
	switch m.Fault {
	case merge.NotRemoved:
		return []span{{clean("removed, and the server still has "), plain}, {returned, removed}}
	case merge.Altered:
		return []span{{clean("not sent, was "), plain}, {sent, added}, {clean(", is now "), plain}, {returned, removed}}
	case merge.NotKept:
	}
	return []span{{clean("sent "), plain}, {sent, added}, {clean(", returned "), plain}, {returned, removed}}
}
