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
func fitBlocks(blocks []section, room, rest int, score *view.Score) (text, omitted markup) {
	fits := func(_, _ int) bool { return true }
	if sum(blocks, func(b section) int { return b.frame + sum(b.pieces, piece.size) }) > room {
		fits = choose(blocks, room-rest)
	}
	counts := map[rank]int{}
	left := 0
	for i, b := range blocks {
		var lines []safe
		more := 0
		for j, p := range b.pieces {
			if !fits(i, j) {
				more++
				continue
			}
			lines = append(lines, p.lines...)
			score.Show(p.facts...)
		}
		if more == len(b.pieces) {
			counts[b.rank]++
			left++
			continue
		}
		if more > 0 {
			lines = append(lines, safetext.F("  … and %d more", more))
		}
		text = text.Add(b.text(append(lines, b.names...)))
	}
	if left == 0 {
		return text, omitted
	}
	var parts []safe
	for r, noun := range tableOfRanks() {
		if n := counts[rank(r)]; n > 0 {
			parts = append(parts, safetext.F("%d %s", n, noun))
		}
	}
	return text, safetext.Constant(safetext.F("%s did not fit: %s", safetext.Count(left, "more part"), safetext.Join(parts, ", ")))
}

// maxCount is the bytes of the line that counts the pieces of a block that don't fit.
const maxCount = 40

// choose returns which pieces of which blocks fit into room.
func choose(blocks []section, room int) (fits func(block, piece int) bool) {
	type choice struct{ weight, turn, block, piece int }
	var all []choice
	for i, b := range blocks {
		order := make([]int, len(b.pieces))
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(x, y int) int { return b.pieces[y].urgency() - b.pieces[x].urgency() })
		for turn, j := range order {
			all = append(all, choice{b.weight(b.pieces[j]), turn, i, j})
		}
	}
	slices.SortFunc(all, func(a, b choice) int {
		return cmp.Or(b.weight-a.weight, a.turn-b.turn, a.block-b.block, a.piece-b.piece)
	})
	chosen, begun, lost := map[[2]int]bool{}, map[int]bool{}, false
	for _, c := range all {
		size := blocks[c.block].pieces[c.piece].size()
		if !begun[c.block] {
			size += blocks[c.block].frame + maxCount
		}
		if lost && c.weight < weightOfFacts {
			break // nothing else takes the place of what must be shown
		}
		if size > room {
			lost = lost || c.weight == weightOfFacts
			continue
		}
		room -= size
		begun[c.block], chosen[[2]int{c.block, c.piece}] = true, true
	}
	return func(block, piece int) bool { return chosen[[2]int{block, piece}] }
}

func (p piece) size() int {
	return sum(p.lines, func(line safe) int { return len(line.Guarded().String()) + len("\n") })
}

// The weights of pieces that show what must be shown, and of those of blocks about the run.
const weightOfFacts, weightOfRun = 1, 2

// weight orders the pieces of all blocks.
func (s section) weight(p piece) int {
	if s.rank <= rankOutcomes {
		return weightOfRun + int(rankOutcomes-s.rank)
	}
	return oneIf(p.urgency() == maxUrgency)
}

// maxUrgency is that of a piece that shows what must be shown.
const maxUrgency = 2

// urgency orders the pieces of a block.
func (p piece) urgency() int {
	if mustShow(p.facts) {
		return maxUrgency
	}
	return oneIf(p.alarm)
}

func (s section) text(lines []safe) markup {
	body := safetext.Fence("text", lines)
	if s.diff {
		body = safetext.Fence("diff", lines)
	}
	if s.summary.Empty() {
		return safetext.M("\n%s", body)
	}
	return safetext.Details(s.open, s.summary, body)
}

// everythingIn names other reports and the page of the run, in at most most bytes.
func everythingIn(doc Document, most int) markup {
	var places []markup
	for _, f := range doc.Files {
		if f.Format == "html" || f.Format == "json" {
			places = append(places, safetext.M("%s %s", safetext.Constant(f.title()), safetext.Code(clean(f.Path).Cut(maxName))))
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
