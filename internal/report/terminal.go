package report

import (
	"bufio"
	"io"
	"strings"

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
		out := bufio.NewWriter(w) // it keeps an error for Flush
		writeCommandText(out, doc, opts)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	p := newPrinter(w, opts)
	p.score = doc.score
	printBanners(p, doc)
	printFindings(p, doc, opts)
	if doc.Plan != nil {
		printPlan(p, doc, opts)
	}
	if doc.Apply != nil {
		printApply(p, doc, opts)
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
		p.printEntry("error", alarm, view.CleanMessage(e))
	}
	return p.flush()
}

func printBanners(p *printer, doc Document) {
	if doc.Sandbox && (doc.Plan != nil || !doc.HasOwnText()) {
		p.printWrapped(0, styledText{clean(Banner), once})
	}
	if doc.Plan != nil && doc.Plan.Offline {
		p.printWrapped(0, styledText{clean(offlineBanner), once})
	}
}

// printEntry writes a name and a sentence.
func (p *printer) printEntry(name string, s style, sentence safeText) {
	p.printWrapped(indent, styledText{safetext.F("%s: ", name), s}, styledText{sentence, plain})
}

// printBelow writes an indented line about the line above.
func (p *printer) printBelow(s style, line safeText) {
	p.printWrapped(hang, styledText{safetext.F("    %s", line), s})
}

// HasOwnText reports whether the document is that of a command without a plan.
func (doc Document) HasOwnText() bool { return doc.Text != nil || doc.Messages != nil }

// commandLines returns the output of a command without a plan.
func commandLines(doc Document) []safeText {
	var b strings.Builder
	writeCommandText(&b, doc, view.TextOptions{Width: markdownColumns})
	return linesOf(b.String())
}

// writeCommandText writes the output of a command without a plan. The caller finds errors of w.
func writeCommandText(w io.Writer, doc Document, opts view.TextOptions) {
	out := NewLineWriter(w, opts.Width)
	if doc.Text != nil {
		doc.Text(out, opts)
	}
	for _, m := range doc.Messages {
		_ = out.Printf("%s\n", m)
	}
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

func printPlan(p *printer, doc Document, opts view.TextOptions) {
	for _, t := range targetFacts(doc) {
		p.printEntry(t.Name, strong, safetext.Join(t.Values, ", "))
	}
	if len(doc.Plan.Settings) > 0 {
		p.printGap()
		p.printWrapped(indent, styledText{clean(view.SettingsTitle + ":"), alarm})
	}
	for _, s := range view.SettingsOf(doc.Plan) {
		printRows(p, s)
	}
	printItems(p, doc.Plan, opts)
	printRequests(p, doc.Plan, opts)
	for _, a := range groupEqualFindings(doc.Plan.Advice) {
		p.printGap()
		printFinding(p, a)
	}
	notes := append(view.NotesOf(doc.Plan, opts), unrelatedWarnings(doc, opts)...)
	if len(notes) > 0 {
		p.printGap()
	}
	for _, n := range notes {
		p.printEntry("Note", changed, n)
	}
	p.printGap()
	doc.Apply = nil // its counts follow
	printCounts(p, doc)
	printFoot(p, doc.Plan, opts)
}

// printCounts writes the sentence of counts.
func printCounts(p *printer, doc Document) {
	title, lede, sub := summaryOf(doc)
	text := view.JoinSentences(lede, sub)
	if title == "" {
		p.printWrapped(indent, styledText{text, plain})
		return
	}
	p.printEntry(title, strong, text)
}

// printFoot writes the lines below the counts of a plan.
func printFoot(p *printer, pl *plan.Plan, opts view.TextOptions) {
	foot := func(name string, s style, text safeText) {
		if !text.Empty() {
			p.printEntry(name, s, text)
		}
	}
	foot("Risks", alarm, view.RisksLine(pl))
	foot("Removed from git, still live", strong, view.FoldedLine(pl, opts))
	if !opts.Brief {
		foot("Causes", strong, view.CausesLine(pl, opts))
		foot("Base", strong, view.DescribeBase(pl.Blame))
		foot("Digest", strong, clean(pl.Digest).Truncate(view.MaxPath))
	}
	if opts.Verbose {
		for _, k := range pl.Unmanaged {
			p.printWrapped(indent, styledText{safetext.F("  not in git: %s", view.FormatKey(k)), faint})
		}
	}
}

func printItems(p *printer, pl *plan.Plan, opts view.TextOptions) {
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
			printObjectLine(p, o)
			continue
		}
		printHeading(p, o, column)
		printRows(p, o)
	}
}

func printObjectLine(p *printer, o view.ObjectView) {
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
func writeLines(w io.Writer, lines []safeText) error {
	p := newPrinter(w, view.TextOptions{})
	for _, line := range lines {
		p.printWithin(indent, styledText{line, alarm})
	}
	return p.flush()
}

// printHeading writes an object's key and its manifest, on two lines if they don't fit on one.
func printHeading(p *printer, o view.ObjectView, column int) {
	space := max(2, min(column, p.width-o.Source.Width())-o.Title.Width())
	if o.Title.Width()+space+o.Source.Width() <= p.width {
		p.printLine(styledText{o.Title, strong}, styledText{safetext.F("%s%s", safetext.Spaces(space), o.Source), faint})
		return
	}
	p.printWrapped(indent, styledText{o.Title, strong})
	p.printLine(styledText{safetext.F("    %s", o.Source.TruncateLeft(p.width-indent)), faint})
}

// printFindings writes the findings, and without a plan the sentence of counts.
func printFindings(p *printer, doc Document, opts view.TextOptions) {
	for _, f := range shownFindings(doc, opts) {
		p.printGap()
		printFinding(p, f)
	}
	if doc.Plan == nil && (len(doc.Findings) > 0 || doc.Command == "validate" || doc.Tests != nil || doc.Projects != nil) {
		p.printGap()
		printCounts(p, doc)
	}
}

func printFinding(p *printer, f equalFindings) {
	s := changed
	if f.Severity == diag.Error {
		s = alarm
	}
	p.printWrapped(indent, styledText{view.LocationPrefix(f.Finding), strong}, styledText{safetext.F("%s: ", f.Severity.String()), s},
		styledText{view.CleanMessage(f.Message), plain}, styledText{safetext.F(" [%s]", clean(f.Rule).Truncate(view.MaxPath)), faint})
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
		p.printWrapped(indent+2, styledText{safetext.F("  %s: %s", f.fixLabel(), view.CleanMessage(f.Fix)), plain})
	}
}

// printApply writes the outcomes and the next steps. It only counts untouched objects.
func printApply(p *printer, doc Document, opts view.TextOptions) {
	r := doc.Apply
	p.printGap()
	column, shown := keyWidth(r), false
	for _, o := range r.Outcomes {
		if !isUntouched(o) || opts.Verbose {
			if !opts.Verbose {
				o.Filled = nil
			}
			printOutcome(p, o, column)
			shown = true
		}
	}
	if shown {
		p.printGap()
	}
	printCounts(p, doc)
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

func printOutcome(p *printer, o apply.ItemOutcome, column int) {
	lead := safetext.Spaces(outcomeHang - 2)
	outcome := outcomeLook(o)
	p.printWrapped(outcomeHang, styledText{safetext.F("%s  ", clean(outcome.Name).Pad(statusWidth)), outcome.style},
		styledText{safetext.F("%s  %s", view.FormatKey(o.Key).Pad(column), view.CleanMessage(o.Message)), plain})
	for _, m := range o.Mismatches {
		p.printWrapped(outcomeHang+2, append([]styledText{{safetext.F("%s%s  ", lead, clean(m.Path).Truncate(view.MaxPath)), plain}}, mismatchSpans(m)...)...)
		if m.Hint != "" {
			p.printWrapped(outcomeHang+4, styledText{safetext.F("%s  hint: %s", lead, view.CleanMessage(m.Hint)), plain})
		}
	}
	for _, v := range o.Filled {
		p.printWrapped(outcomeHang+2, styledText{safetext.F("%s%s  filled in by the server: %s", lead, clean(v.Path).Truncate(view.MaxPath), view.FormatValue(v.Value, false)), faint})
	}
	if o.Fix != "" {
		p.printWrapped(outcomeHang+2, styledText{safetext.F("%sfix: %s", lead, view.CleanMessage(o.Fix)), plain})
	}
}

// mismatchLines says how the places of an object differ from what its request makes of them.
func mismatchLines(o apply.ItemOutcome) (lines []safeText) {
	for _, m := range o.Mismatches {
		lines = append(lines, safetext.F("%s: %s", clean(m.Path).Truncate(view.MaxPath), joinSpans(mismatchSpans(m))))
		if m.Hint != "" {
			lines = append(lines, safetext.F("hint: %s", view.CleanMessage(m.Hint)))
		}
	}
	return lines
}

// mismatchSpans says how a place differs from what a request makes of it.
func mismatchSpans(m merge.Mismatch) []styledText {
	sent, returned := view.FormatPair(m.Sent, m.Returned, true)
	if m.Returned == nil {
		returned = view.FormatValue(nil, false)
	}
	switch m.Fault {
	case merge.NotRemoved:
		return []styledText{{clean("removed, and the server still has "), plain}, {returned, removed}}
	case merge.Altered:
		return []styledText{{clean("not sent, was "), plain}, {sent, added}, {clean(", is now "), plain}, {returned, removed}}
	case merge.NotKept:
	}
	return []styledText{{clean("sent "), plain}, {sent, added}, {clean(", returned "), plain}, {returned, removed}}
}

// printRequests writes the section about requests.
func printRequests(p *printer, pl *plan.Plan, opts view.TextOptions) {
	s := view.NewRequestSection(pl, opts)
	if len(s.Lines) == 0 {
		return
	}
	p.printGap()
	p.printWrapped(indent, styledText{safetext.F("%s:", s.Title), strong})
	for _, line := range s.Lines {
		p.printBelow(plain, line)
	}
}
