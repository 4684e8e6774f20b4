package report

import (
	"cmp"
	"io"
	"slices"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

const (
	// maxMarkdown is the limit of comments on code hosts, 65,536 characters, less 512 for
	// whoever posts it. It counts bytes, which are never fewer than characters.
	maxMarkdown = 65536 - 512
	// maxSummary is the limit of a step's summary with its other text: a code host
	// silently drops one of more than 1 MiB.
	maxSummary = 1_000_000
	// maxRest is for the line that counts what did not fit.
	maxRest = 400
	// markdownColumns is about the width of a code block in a comment.
	markdownColumns = 96
)

// SummaryRoom returns how many bytes a report may append to a step's summary of that size.
func SummaryRoom(size int64) int { return int(max(0, maxSummary-size)) }

func writeMarkdown(w io.Writer, doc Document, opts view.TextOptions) error {
	_, err := io.WriteString(w, renderMarkdown(doc, opts, cmp.Or(opts.Room, maxMarkdown)).String())
	return err
}

// renderMarkdown returns the report in at most budget bytes: the summary, then what fits, the most important first, then what it omits
// and where that is, then what the plan was made from. If it has no room for all that must be shown, its top says how much is
// missing. It is empty if the summary does not fit; 2,000 bytes are enough. Text from outside is only inside fences and code tags.
func renderMarkdown(doc Document, opts view.TextOptions, budget int) markup {
	head, tail := markdownHead(doc, budget/3), markdownTail(doc, opts)
	if head.Len() > budget-maxRest {
		doc.score.CountRemaining()
		return markup{}
	}
	if head.Len()+tail.Len() > budget-maxRest {
		tail = markup{}
	}
	where := fullReportLinks(doc, budget/8)
	body, omitted := fitBlocks(markdownBlocks(doc, opts), budget-head.Len()-tail.Len(), 2*(where.Len()+maxRest), doc.score)
	if !omitted.Empty() {
		body = body.Add(safetext.M("\n**%s.** %s\n", omitted, where))
	}
	if n := doc.score.CountRemaining(); n > 0 {
		text := safetext.F("This is not whole: it leaves out %s, %s", safetext.Count(n, "change"), doc.score.CountedText())
		head = head.Add(safetext.M("\n> **%s.** %s\n", safetext.Constant(text), where))
	}
	return head.Add(body, tail)
}

// section is a part of the report: lines in a fence, folded below its summary.
type section struct {
	rank    view.Rank
	summary markup
	open    bool
	// diff makes a code host colour the lines by their first character.
	diff   bool
	pieces []lineBlock
	// names are those of several objects: each piece is about all of them. frame is the bytes without those of the pieces.
	names []safeText
	frame int
}

// lineBlock has lines that are shown together or not at all.
type lineBlock struct {
	lines []safeText
	// facts are what the lines show, and alarm makes them come first if not all fit. left is set if the lines don't fit.
	facts       []view.ChangeFact
	alarm, left bool
}

func toPieces(lines []safeText) []lineBlock {
	return diag.MapList(lines, func(line safeText) lineBlock { return lineBlock{lines: []safeText{line}} })
}

// maxUnfolded is the most lines outside folded parts.
const maxUnfolded = 60

// markdownBlocks returns all parts below the head, the most important first, which are open.
func markdownBlocks(doc Document, opts view.TextOptions) []section {
	findings := view.RankErrors
	if doc.Plan != nil && !doc.Findings.HasErrors() {
		findings = view.RankAdvice // warnings stop nothing
	}
	blocks := []section{
		{rank: view.RankErrors, summary: safetext.M("Output"), pieces: toPieces(commandLines(doc))},
		{rank: view.RankErrors, pieces: toPieces(diag.MapList(doc.Errors, view.CleanMessage))},
		{rank: findings, pieces: findingPieces(shownFindings(doc, opts))},
	}
	if doc.Apply != nil {
		blocks = append(blocks, section{rank: view.RankNext, pieces: toPieces(view.NextSteps(doc.Apply))})
		blocks = append(blocks, outcomeBlocks(doc.Apply)...)
	}
	if doc.Plan != nil {
		blocks = append(blocks, section{rank: view.RankNotes, pieces: toPieces(unrelatedWarnings(doc, opts))})
		blocks = append(blocks, planBlocks(doc.Plan, opts)...)
	}
	blocks = slices.DeleteFunc(blocks, func(s section) bool { return len(s.pieces) == 0 })
	slices.SortStableFunc(blocks, func(a, b section) int { return cmp.Compare(a.rank, b.rank) })
	unfolded := 0
	for i := range blocks {
		b := &blocks[i]
		var lines []safeText
		for _, p := range b.pieces {
			lines = append(lines, p.lines...)
		}
		lines = append(lines, b.names...)
		unfolded += len(lines)
		b.open = unfolded <= maxUnfolded && b.rank < view.RankRest
		b.frame = b.render(lines).Len() - sum(b.pieces, lineBlock.size)
	}
	return blocks
}

func planBlocks(pl *plan.Plan, opts view.TextOptions) []section {
	blocks := []section{
		{rank: view.RankSettings, summary: safetext.Constant(clean(view.SettingsTitle)), diff: true, pieces: settingPieces(pl)},
		{rank: view.RankNotes, pieces: toPieces(view.NotesOf(pl, opts))},
		{rank: view.RankAdvice, summary: safetext.Constant(view.CountAdvice(len(pl.Advice))), pieces: findingPieces(groupEqualFindings(pl.Advice))},
	}
	if requests := view.NewRequestSection(pl, opts); len(requests.Lines) > 0 {
		blocks = append(blocks, section{rank: requests.Rank, summary: safetext.Constant(requests.Title), pieces: toPieces(requests.Lines)})
	}
	for _, o := range view.ShownObjects(pl, opts, true) {
		summary := safetext.M("%s %s", safetext.Code(o.Title), safetext.Constant(o.Headline))
		if !o.Source.Empty() {
			summary = safetext.M("%s (%s)", summary, safetext.Code(o.Source))
		}
		b := section{rank: o.Rank, summary: summary, diff: true, pieces: rowPieces(o.Lines())}
		if last := len(b.pieces) - 1; len(o.Keys) > 0 {
			b.names, b.pieces = b.pieces[last].lines, b.pieces[:last]
		}
		blocks = append(blocks, b)
	}
	if opts.Verbose {
		blocks = append(blocks, section{rank: view.RankRest, summary: safetext.M("Not in git"), pieces: toPieces(diag.MapList(pl.Unmanaged, view.FormatKey))})
	}
	return blocks
}

// settingPieces keeps what changed in a setting together with its effect.
func settingPieces(pl *plan.Plan) (out []lineBlock) {
	for _, s := range view.SettingsOf(pl) {
		pieces := rowPieces(s.Lines())
		pieces[0].lines = append(pieces[0].lines, pieces[1].lines...)
		out = append(append(out, pieces[0]), pieces[2:]...)
	}
	return out
}

// findingPieces puts an empty line between findings.
func findingPieces(found []equalFindings) []lineBlock {
	out := make([]lineBlock, len(found))
	for i, f := range found {
		lines := renderLines(func(p *printer) { printFinding(p, f) })
		out[i].lines = append(make([]safeText, min(i, 1)), lines...)
	}
	return out
}

func outcomeBlocks(r *apply.Result) []section {
	column := keyWidth(r)
	var blocks []section
	parts := view.CountOutcomes(r)
	for i, kind := range view.TableOfOutcomes {
		b := section{rank: view.RankOutcomes, summary: safetext.Constant(parts[i].Text())}
		if parts[i].Calm {
			b.rank = view.RankRest
		}
		for _, o := range r.Outcomes {
			if o.EffectOrStatus() == kind.What {
				b.pieces = append(b.pieces, lineBlock{lines: renderLines(func(p *printer) { printOutcome(p, o, column) })})
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// markdownHead returns the part that a reader sees first. It always has the title and the
// counts; it omits names that would make it longer than most.
func markdownHead(doc Document, most int) markup {
	title, lede, sub := summaryOf(doc)
	text := safetext.M("## %s\n", safetext.Constant(putTitle(title, lede)))
	if !sub.Empty() {
		text = safetext.M("%s\n%s\n", text, safetext.Constant(sub))
	}
	if doc.Sandbox {
		text = safetext.M("%s\n> **%s**\n", text, safetext.Constant(clean(Banner)))
	}
	if doc.Plan != nil && doc.Plan.Offline {
		text = safetext.M("%s\n> **%s**\n", text, safetext.Constant(clean(offlineBanner)))
	}
	if doc.Plan == nil {
		return text
	}
	if name := doc.Plan.Target.Workspace.Name; name != "" {
		text = safetext.M("%s\nWorkspace %s\n", text, safetext.Code(clean(name).Truncate(maxNameInHead)))
	}
	return text.Add(noticesAndAdvice(doc.Plan, most-text.Len()))
}

// markdownTail returns the causes, and the inputs of the plan and of the run.
func markdownTail(doc Document, opts view.TextOptions) (text markup) {
	if doc.Plan == nil {
		return text
	}
	if causes := view.CausesLine(doc.Plan, opts); !causes.Empty() {
		text = safetext.M("\nCauses: %s\n", safetext.Constant(causes))
	}
	var parts []markup
	for _, t := range factsOfRun(doc) {
		values := diag.MapList(t.Values, func(v safeText) markup { return safetext.Code(v.Truncate(view.MaxPath)) })
		if !t.Words.Empty() {
			values = append(values, safetext.Constant(t.Words))
		}
		parts = append(parts, safetext.M("%s %s", safetext.Constant(clean(t.Name)), safetext.JoinMarkdown(values, ", ")))
	}
	if len(parts) == 0 {
		return text
	}
	return text.Add(safetext.M("\n%s\n", safetext.JoinMarkdown(parts, " · ")))
}

// A line of the head has at most maxNames names of maxNameInHead columns.
const (
	maxNames      = 3
	maxNameInHead = 80
	maxNotice     = 320 // a name, and what changes there
)

// noticesAndAdvice returns a line for each notice and one for the advice, with names in at most most bytes.
func noticesAndAdvice(pl *plan.Plan, most int) markup {
	var text markup
	for _, n := range view.Notices(pl) {
		text = addNames(text, n.Title, n.Names, most)
	}
	if len(pl.Advice) > 0 {
		var rules []safeText
		for _, f := range pl.Advice {
			if rule := clean(f.Rule).Truncate(view.MaxName); !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
		text = addNames(text, view.CountAdvice(len(pl.Advice)), rules, most)
	}
	if text.Empty() {
		return text
	}
	return safetext.M("\n%s", text)
}

// addNames adds a line with as many of the names as fit.
func addNames(text markup, title safeText, names []safeText, most int) markup {
	line := safetext.M("- **%s**", safetext.Constant(title))
	for i, n := range names[:min(len(names), maxNames)] {
		name := safetext.M(", %s", safetext.Code(n.Truncate(maxNotice)))
		if i == 0 {
			name = safetext.M(": %s", safetext.Code(n.Truncate(maxNotice)))
		}
		if text.Len()+line.Len()+name.Len() > most {
			break
		}
		line = line.Add(name)
		if i == maxNames-1 && len(names) > maxNames {
			line = line.Add(safetext.Constant(safetext.F(" and %d more", len(names)-maxNames)))
		}
	}
	return text.Add(line, safetext.M("\n"))
}
