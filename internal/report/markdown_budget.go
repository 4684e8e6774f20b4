package report

import (
	"cmp"
	"slices"

	"trueup/internal/safetext"
	"trueup/internal/view"
)

func sum[T any](list []T, of func(T) int) int {
	n := 0
	for _, e := range list {
		n += of(e)
	}
	return n
}

// fitBlocks writes all blocks, or if they need more than room, the pieces that fit beside rest bytes: what a run stopped at, then
// what must be shown, then the rest, and of each the first piece of every block, so that a huge one hides no other. It notes what it
// shows, and returns words for the rest.
func fitBlocks(blocks []section, room, rest int, score *view.FactTracker) (text, omitted markup) {
	if sum(blocks, func(b section) int { return b.frame + sum(b.pieces, lineBlock.size) }) > room {
		markOmitted(blocks, room-rest)
	}
	left := 0
	for _, b := range blocks {
		var lines []safeText
		more := 0
		for _, p := range b.pieces {
			if p.left {
				more++
				continue
			}
			lines = append(lines, p.lines...)
			score.MarkShown(p.facts...)
		}
		if more == len(b.pieces) {
			left++
			continue
		}
		if more > 0 {
			lines = append(lines, safetext.F("  … and %d more", more))
		}
		text = text.Add(b.render(append(lines, b.names...)))
	}
	if left == 0 {
		return text, omitted
	}
	return text, safetext.Constant(safetext.F("%s did not fit", safetext.Count(left, "more part")))
}

// maxCount is the bytes of the line that counts the pieces of a block that don't fit.
const maxCount = 40

// The weights of pieces: others, those that come first among them, those that show what must be shown, and those about the run.
const (
	weightOfAlarms = iota + 1
	weightOfFacts
	weightOfRun
)

// markOmitted marks the pieces that don't fit into room. Nothing lighter takes the place of what must be shown.
func markOmitted(blocks []section, room int) {
	type choice struct {
		block        *section
		piece        *lineBlock
		weight, turn int
	}
	var all []choice
	for i := range blocks {
		b := &blocks[i]
		first := len(all)
		for j := range b.pieces {
			all = append(all, choice{block: b, piece: &b.pieces[j], weight: b.pieces[j].weight()})
		}
		slices.SortStableFunc(all[first:], func(x, y choice) int { return y.weight - x.weight })
		for turn := range all[first:] {
			c := &all[first+turn]
			if c.turn = turn; b.rank <= view.RankOutcomes {
				c.weight = weightOfRun + int(view.RankOutcomes-b.rank)
			} else if c.weight == weightOfAlarms {
				c.weight = 0
			}
		}
	}
	slices.SortStableFunc(all, func(x, y choice) int { return cmp.Or(y.weight-x.weight, x.turn-y.turn) })
	begun, lost := map[*section]bool{}, false
	for _, c := range all {
		size := c.piece.size()
		if !begun[c.block] {
			size += c.block.frame + maxCount
		}
		if c.piece.left = size > room || lost && c.weight < weightOfFacts; c.piece.left {
			lost = lost || c.weight == weightOfFacts
			continue
		}
		room -= size
		begun[c.block] = true
	}
}

func (p lineBlock) size() int {
	return sum(p.lines, func(line safeText) int { return len(line.EscapeCommands().String()) + len("\n") })
}

func (p lineBlock) weight() int {
	if view.MustShowOneOf(p.facts) {
		return weightOfFacts
	}
	return view.OneIf(p.alarm) * weightOfAlarms
}

func (s section) render(lines []safeText) markup {
	body := safetext.Fence("text", lines)
	if s.diff {
		body = safetext.Fence("diff", lines)
	}
	if s.summary.Empty() {
		return safetext.M("\n%s", body)
	}
	return safetext.Details(s.open, s.summary, body)
}

// fullReportLinks names other reports and the page of the run, in at most most bytes.
func fullReportLinks(doc Document, most int) markup {
	var places []markup
	for _, f := range doc.Files {
		if f.Format == "html" || f.Format == "json" {
			places = append(places, safetext.M("%s %s", safetext.Constant(f.title()), safetext.Code(clean(f.Path).Truncate(view.MaxName))))
		}
	}
	if page, ok := safetext.Link(safetext.M("the page of the run"), doc.RunURL); ok {
		places = append(places, page)
	}
	n := 0
	places = slices.DeleteFunc(places, func(place markup) bool {
		n += place.Len()
		return n > most
	})
	if len(places) == 0 {
		return safetext.M("To see everything, add %s to the run.", safetext.Code(clean("--report html=FILE")))
	}
	return safetext.M("Everything is in %s.", safetext.JoinMarkdown(places, ", "))
}
