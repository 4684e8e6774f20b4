package report

import (
	"cmp"
	"io"
	"slices"

	"trueup/internal/apply"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

const (
	// maxMarkdown is the room in a comment of a code host, which may have 65,536
	// characters, of which 512 are left to whoever posts it. Bytes are counted:
	// however a host counts characters, they are never more.
	maxMarkdown = 65536 - 512
	// maxSummary is the room in the file of a step's summary, other text included: a
	// code host silently drops one of more than 1 MiB.
	maxSummary = 1_000_000
	// maxRest is the room for the count of what did not fit, without its place.
	maxRest = 400
	// markdownColumns is the width of a comment's fence, about.
	markdownColumns = 96
)

// SummaryRoom is how many bytes a report may add to a step's summary of that size.
func SummaryRoom(size int64) int { return int(max(0, maxSummary-size)) }

// writeMarkdown renders in at most so many bytes.
func writeMarkdown(most int) writer {
	return func(w io.Writer, doc Document, opts Options) error {
		room := most
		if opts.Room > 0 {
			room = min(room, opts.Room)
		}
		_, err := io.WriteString(w, markdown(doc, opts, room).String())
		return err
	}
}

// markdown is the report in at most so many bytes, of which it needs 2,000: the
// summary, then as much of the rest as fits, the most important first, then what
// is left out and where to find it. It is empty where even the summary does not fit.
// Text from outside is only inside fences and code tags.
func markdown(doc Document, opts Options, budget int) markup {
	head := markdownHead(doc, opts, budget/3)
	if head.Len() > budget-maxRest {
		return markup{}
	}
	return head.Add(fitBlocks(markdownBlocks(doc, opts), everythingIn(doc, budget/8), budget-head.Len()))
}

// section is a part of the report: lines in a fence, folded below its summary.
type section struct {
	rank rank
	// name is what the part is about, empty where it has no name.
	name    safe
	summary markup
	open    bool
	// diff says that a code host colours the lines by their first characters.
	diff   bool
	pieces []piece
	// size is what it takes in all.
	size int
}

// piece are lines that are shown together or not at all.
type piece struct {
	lines []safe
	// path is that of a grave change: where its lines have no room, it is named.
	path safe
	// alarm gives the lines precedence where there is no room for all.
	alarm bool
}

func pieced(lines []safe) []piece {
	out := make([]piece, len(lines))
	for i := range lines {
		out[i].lines = lines[i : i+1]
	}
	return out
}

// maxUnfolded is the number of lines that a reader sees without opening anything.
const maxUnfolded = 60

// markdownBlocks are all parts below the head, the most important first. The first
// ones are open: nobody should have to look for what matters.
func markdownBlocks(doc Document, opts Options) []section {
	blocks := []section{
		{rank: rankErrors, pieces: pieced(messages(doc.Errors))},
		{rank: rankErrors, pieces: findingPieces(shownFindings(doc, opts))},
	}
	if doc.Apply != nil {
		blocks = append(blocks, section{rank: rankNext, pieces: pieced(nextSteps(doc.Apply))})
		blocks = append(blocks, outcomeBlocks(doc.Apply)...)
	}
	if doc.Plan != nil {
		blocks = append(blocks, planBlocks(doc.Plan, opts)...)
	}
	blocks = slices.DeleteFunc(blocks, func(s section) bool { return len(s.pieces) == 0 })
	slices.SortStableFunc(blocks, func(a, b section) int { return cmp.Compare(a.rank, b.rank) })
	unfolded := 0
	for i := range blocks {
		b := &blocks[i]
		var lines []safe
		for _, p := range b.pieces {
			lines = append(lines, p.lines...)
		}
		unfolded += len(lines)
		b.open = unfolded <= maxUnfolded && b.rank < rankRest
		b.size = b.text(lines).Len()
	}
	return blocks
}

func planBlocks(pl *plan.Plan, opts Options) []section {
	_, problem, fix := blame(pl.Blame)
	notes := messages(pl.Notes)
	if !fix.Empty() {
		notes = slices.Insert(notes, 0, safetext.F("fix: %s", fix))
	}
	if !problem.Empty() {
		notes = slices.Insert(notes, 0, safetext.F("base: %s", problem))
	}
	blocks := []section{
		{rank: rankSettings, name: clean("settings"), summary: safetext.Constant(clean(settingsTitle)), diff: true, pieces: settingPieces(pl)},
		{rank: rankNotes, pieces: pieced(notes)},
		{rank: rankAdvice, summary: safetext.Constant(advices(len(pl.Advice))), pieces: findingPieces(alikeFindings(pl.Advice))},
	}
	for _, g := range groups(pl, opts) {
		name := g.title()
		summary := safetext.M("%s %s", safetext.Code(name), safetext.Constant(headline(g.item, g.rows)))
		if s := source(g.item); !s.Empty() && !g.many() {
			summary = safetext.M("%s (%s)", summary, safetext.Code(s))
		}
		if g.many() {
			name = safetext.F("%s (%s)", name, g.names())
		}
		blocks = append(blocks, section{rank: g.rank, name: name, summary: summary, diff: true, pieces: diffPieces(g)})
	}
	if opts.ShowUnmanaged {
		blocks = append(blocks, section{rank: rankRest, summary: safetext.M("Not in git"), pieces: pieced(namesOf(pl.Unmanaged))})
	}
	return blocks
}

func settingPieces(pl *plan.Plan) []piece {
	var out []piece
	for _, s := range pl.Settings {
		r, notes := settingRow(s), settingNotes(pl, s)
		out = append(out, piece{lines: append(diffRow(r), noteLines(notes[0])...), path: r.path})
		for _, n := range notes[1:] {
			out = append(out, piece{lines: noteLines(n), path: n.gravePath()})
		}
	}
	return out
}

func diffPieces(g group) []piece {
	if mentioned(g.item) {
		return pieced([]safe{safetext.F("  %s", mention(g.item))})
	}
	var out []piece
	for _, r := range g.rows {
		p := piece{lines: diffRow(r), alarm: r.alarm || r.mark == markRemove}
		if r.risk.Grave() {
			p.path = r.path
		}
		out = append(out, p)
	}
	for _, n := range g.notes(itemNotes) {
		if n.list {
			out = append(out, pieced(noteLines(n))...)
			continue
		}
		out = append(out, piece{noteLines(n), n.gravePath(), n.fix})
	}
	return out
}

func messages(texts []string) []safe {
	out := make([]safe, len(texts))
	for i, t := range texts {
		out[i] = message(t)
	}
	return out
}

// findingPieces are findings with an empty line between them.
func findingPieces(found []alike) []piece {
	out := make([]piece, len(found))
	for i, f := range found {
		lines := printed(func(p *printer) { textFinding(p, f) })
		out[i].lines = append(make([]safe, min(i, 1)), lines...)
	}
	return out
}

func outcomeBlocks(r *apply.Result) []section {
	column := keyWidth(r)
	var blocks []section
	for _, s := range byUrgency() {
		b := section{rank: rankOutcomes}
		for _, o := range r.Outcomes {
			if o.Status == s {
				b.pieces = append(b.pieces, piece{lines: printed(func(p *printer) { textOutcome(p, o, column) })})
			}
		}
		b.summary = safetext.Constant(safetext.F("%d %s", len(b.pieces), string(s)))
		blocks = append(blocks, b)
	}
	return blocks
}

// diffRow is a row as a line for each value; a line in front says if it is no change of git.
func diffRow(r row) []safe {
	said := safetext.Join(safetext.Filled(r.path, r.after), ": ")
	switch {
	case r.mark == markOnce || r.mark == markLater:
		return commented(safetext.F("! %s", said), r.cause)
	case r.mark == markSame:
		return commented(safetext.F("  %s", said), r.cause)
	case r.moved:
		return commented(safetext.F("! %s: moved", r.path), r.cause)
	case r.alarm:
		head := safetext.F("! %s", safetext.Join(safetext.Filled(r.path, r.cause), ": "))
		r.cause = safe{}
		return append([]safe{head}, changedLines(r)...)
	}
	return changedLines(r)
}

// changedLines are the values of a row and what they are short for.
func changedLines(r row) []safe {
	before, after := safetext.F("- %s: %s", r.path, r.before), safetext.F("+ %s: %s", r.path, r.after)
	switch {
	case !r.before.Empty() && !r.after.Empty():
		return append([]safe{before}, commented(after, r.cause)...)
	case !r.before.Empty():
		return append(commented(before, r.cause), detailLines("-", r)...)
	case !r.after.Empty():
		return append(commented(after, r.cause), detailLines("+", r)...)
	case r.alarm:
		return nil
	}
	return commented(safetext.F("+ %s", r.path), r.cause)
}

func detailLines(sign string, r row) []safe {
	if len(r.details) == 0 {
		return nil
	}
	out := flowLines(r.details, markdownColumns, r.whole())
	for i := range out {
		out[i] = safetext.F("%s   %s", sign, out[i])
	}
	return out
}

// commented puts a cause behind a line, or below it where it would need scrolling.
func commented(line, cause safe) []safe {
	if cause.Empty() {
		return []safe{line}
	}
	if whole := safetext.F("%s    # %s", line, cause); whole.Width() <= markdownColumns {
		return []safe{whole}
	}
	return []safe{line, safetext.F("%s     # %s", line.String()[:1], cause)}
}

// noteLines are a note on short lines; a fix stays whole, so that it can be copied.
func noteLines(n note) []safe {
	line := safetext.F("  %s", n.text)
	if n.fix {
		return []safe{line}
	}
	var out []safe
	for _, spans := range wrap([]span{{line, plain}}, markdownColumns, 2+indent) {
		out = append(out, flat(spans).TrimRight())
	}
	return out
}
