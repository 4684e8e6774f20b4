package report

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// section is a part of the report below its head: lines in a fence, which a reader
// opens where it has a summary.
type section struct {
	rank int
	// name is what the part is about, empty where it has no name.
	name    safe
	summary markup
	open    bool
	// info is the language of the fence.
	info   markup
	pieces []piece
}

// piece are lines that are shown together or not at all.
type piece struct {
	lines []safe
	// path is that of a change of the first two risks: where its lines have no room,
	// it is named. It is empty for others.
	path safe
	// alarm says that the lines are shown before others where there is no room for
	// all.
	alarm bool
}

// pieced makes each line a piece.
func pieced(lines []safe) []piece {
	out := make([]piece, len(lines))
	for i := range lines {
		out[i].lines = lines[i : i+1]
	}
	return out
}

// markdownBlocks are all parts below the head, the most important first.
func markdownBlocks(doc Document, opts Options) []section {
	blocks := []section{
		{rank: rankErrors, info: "text", pieces: pieced(lines(doc.Errors))},
		{rank: rankErrors, info: "text", pieces: findingPieces(shownFindings(doc, opts))},
	}
	if doc.Apply != nil {
		blocks = append(blocks, section{rank: rankNext, info: "text", pieces: pieced(nextSteps(doc.Apply))})
		blocks = append(blocks, outcomeBlocks(doc.Apply)...)
	}
	if doc.Plan != nil {
		blocks = append(blocks, planBlocks(doc.Plan, opts)...)
	}
	blocks = slices.DeleteFunc(blocks, func(s section) bool { return len(s.pieces) == 0 })
	slices.SortStableFunc(blocks, func(a, b section) int { return cmp.Compare(a.rank, b.rank) })
	unfold(blocks)
	return blocks
}

// maxUnfolded is the number of lines that a reader sees without opening anything.
const maxUnfolded = 60

// unfold opens the first blocks: nobody should have to look for what matters.
func unfold(blocks []section) {
	left := maxUnfolded
	for i := range blocks {
		for _, p := range blocks[i].pieces {
			left -= len(p.lines)
		}
		if left < 0 || blocks[i].rank == rankRest {
			return
		}
		blocks[i].open = true
	}
}

// planBlocks are what a plan says beside its summary.
func planBlocks(pl *plan.Plan, opts Options) []section {
	_, problem, fix := blame(pl.Blame)
	var notes []safe
	if problem != "" {
		notes = append(notes, "base: "+problem)
	}
	if fix != "" {
		notes = append(notes, "fix: "+fix)
	}
	blocks := []section{
		{rank: rankSettings, name: "settings", summary: constant(settingsTitle), info: "diff", pieces: settingPieces(pl)},
		{rank: rankNotes, info: "text", pieces: pieced(append(notes, lines(pl.Notes)...))},
	}
	if n := len(pl.Advice); n > 0 {
		blocks = append(blocks, section{rank: rankAdvice, summary: constant(advices(n)), info: "text", pieces: findingPieces(alikeFindings(pl.Advice))})
	}
	for _, g := range groups(pl, opts) {
		blocks = append(blocks, groupBlock(g))
	}
	if opts.ShowUnmanaged && len(pl.Unmanaged) > 0 {
		var names []safe
		for _, k := range pl.Unmanaged {
			names = append(names, named(k))
		}
		blocks = append(blocks, section{rank: rankRest, summary: "Not in git", info: "text", pieces: pieced(names)})
	}
	return blocks
}

// settingPieces are the settings that differ from the base as a diff.
func settingPieces(pl *plan.Plan) []piece {
	var out []piece
	for _, s := range pl.Settings {
		r, notes := settingRow(s), settingNotes(pl, s)
		out = append(out, piece{lines: append(diffRow(r), noteLines(notes[0])...), path: r.path})
		for _, n := range notes[1:] {
			out = append(out, piece{lines: noteLines(n), path: ofRisk(n.risk, n.path)})
		}
	}
	return out
}

// groupBlock is an object of a plan, or several with equal changes, as a diff.
func groupBlock(g group) section {
	summary := code(g.title()) + " " + constant(headline(g.item, g.rows))
	if s := source(g.item); s != "" && !g.many() {
		summary += " (" + code(s) + ")"
	}
	name := g.title()
	if g.many() {
		name += " (" + g.names() + ")"
	}
	return section{rank: g.rank, name: name, summary: summary, info: "diff", pieces: diffPieces(g)}
}

// diffPieces are the rows and notes of a group as a diff: its first characters are
// what code hosts colour.
func diffPieces(g group) []piece {
	if mentioned(g.item) {
		return pieced([]safe{"  " + mention(g.item)})
	}
	var out []piece
	for _, r := range g.rows {
		out = append(out, piece{diffRow(r), ofRisk(r.risk, r.path), r.alarm || r.mark == markRemove})
	}
	for _, n := range g.notes(itemNotes) {
		if n.list {
			out = append(out, pieced(noteLines(n))...)
			continue
		}
		out = append(out, piece{noteLines(n), ofRisk(n.risk, n.path), n.fix})
	}
	return out
}

// ofRisk is the path of what is of the first two risks, and empty for others.
func ofRisk(risk kind.Risk, path safe) safe {
	if risk.Grave() {
		return path
	}
	return ""
}

// linesOf are all lines of the pieces.
func linesOf(pieces []piece) []safe {
	var out []safe
	for _, p := range pieces {
		out = append(out, p.lines...)
	}
	return out
}

// lines are texts of one line each.
func lines(texts []string) []safe {
	out := make([]safe, len(texts))
	for i, t := range texts {
		out[i] = message(t)
	}
	return out
}

// findingPieces are findings with an empty line between them.
func findingPieces(found []alike) []piece {
	var out []piece
	for i, f := range found {
		lines := printed(func(p *printer) { textFinding(p, f) })
		if i > 0 {
			lines = append([]safe{""}, lines...)
		}
		out = append(out, piece{lines: lines})
	}
	return out
}

// printed are the lines that the terminal's printer makes, without colour.
func printed(render func(*printer)) []safe {
	var b bytes.Buffer
	p := newPrinter(&b, Options{})
	render(p)
	_ = p.flush() // a bytes.Buffer takes everything
	var out []safe
	for line := range strings.Lines(b.String()) {
		out = append(out, safe(strings.TrimSuffix(line, "\n")))
	}
	return out
}

func outcomeBlocks(r *apply.Result) []section {
	column := keyWidth(r)
	var blocks []section
	for _, s := range byUrgency() {
		b := section{rank: rankOutcomes, info: "text"}
		for _, o := range r.Outcomes {
			if o.Status == s {
				b.pieces = append(b.pieces, piece{lines: printed(func(p *printer) { textOutcome(p, o, column) })})
			}
		}
		b.summary = constant(number(len(b.pieces)) + " " + safe(s))
		blocks = append(blocks, b)
	}
	return blocks
}

// diffRow is a row as one line for each value it has. What is not simply a
// change in git gets a line in front that says so.
func diffRow(r row) []safe {
	switch {
	case r.mark == markOnce || r.mark == markLater:
		return commented("! "+join(filled(r.path, r.after), ": "), r.cause)
	case r.mark == markSame:
		return commented("  "+join(filled(r.path, r.after), ": "), r.cause)
	case r.moved:
		return commented("! "+r.path+": moved", r.cause)
	}
	if r.alarm {
		return append([]safe{"! " + join(filled(r.path, r.cause), ": ")}, changedLines(r, "")...)
	}
	return changedLines(r, r.cause)
}

// changedLines are the values of a row and what they are short for.
func changedLines(r row, cause safe) []safe {
	switch {
	case r.before != "" && r.after != "":
		return append([]safe{"- " + r.path + ": " + r.before}, commented("+ "+r.path+": "+r.after, cause)...)
	case r.before != "":
		return append(commented("- "+r.path+": "+r.before, cause), detailed("-   ", r)...)
	case r.after != "":
		return append(commented("+ "+r.path+": "+r.after, cause), detailed("+   ", r)...)
	case r.alarm:
		return nil
	}
	return commented("+ "+r.path, cause)
}

// commented puts a cause behind a line, or below it where nobody would see it
// without moving the text.
func commented(line, cause safe) []safe {
	if cause == "" {
		return []safe{line}
	}
	if whole := line + "    # " + cause; width(whole) <= markdownColumns {
		return []safe{whole}
	}
	return []safe{line, line[:1] + "     # " + cause}
}

// noteLines are a note on lines that need not be moved to be read; what to do
// stays whole, so that a command can be copied.
func noteLines(n note) []safe {
	if n.fix {
		return []safe{"  " + n.text}
	}
	var out []safe
	for _, line := range wrap([]span{{"  " + n.text, plain}}, markdownColumns, 2+indent) {
		out = append(out, safe(strings.TrimRight(string(flat(line)), " ")))
	}
	return out
}

// detailed are the lines below a row.
func detailed(lead safe, r row) []safe {
	if len(r.details) == 0 {
		return nil
	}
	out := flowLines(r.details, markdownColumns, r.whole())
	for i := range out {
		out[i] = lead + out[i]
	}
	return out
}
