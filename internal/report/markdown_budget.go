package report

import (
	"slices"

	"trueup/internal/safetext"
)

// minBlock is the fewest bytes for a block, and maxCount is for the line that counts the rest.
const (
	minBlock = 800
	maxCount = 40
)

func sum[T any](list []T, of func(T) int) int {
	n := 0
	for _, e := range list {
		n += of(e)
	}
	return n
}

func sizeOf(blocks []section) int { return sum(blocks, func(b section) int { return b.size }) }

// fitBlocks writes the blocks that fit, the most important first, and names the others.
// It shows nothing after a grave change that it can neither show nor name.
func fitBlocks(blocks []section, where markup, room int) markup {
	if sizeOf(blocks) <= room {
		text, _ := fitRanks(blocks, room)
		return text
	}
	room -= where.Len() + maxRest
	grave := slices.IndexFunc(blocks, func(b section) bool { return b.rank > rankCreate })
	if grave < 0 {
		grave = len(blocks)
	}
	behind := len(blocks)
	paths := mentions(blocks[:grave])
	if paths > room/2 {
		behind = grave
	}
	names := min(mentions(blocks[grave:behind]), room/8)
	shown, left := fitRanks(blocks[:behind], max(room/4, room-paths-names))
	left = append(left, blocks[behind:]...)
	return shown.Add(leftOut(left, where, room-shown.Len()))
}

// mentions returns the bytes that the names of blocks and of their grave changes take.
func mentions(blocks []section) int {
	return sum(blocks, func(b section) int { return len(b.mention().String()) + len("\n") })
}

func (s section) mention() safe {
	var paths []safe
	for _, p := range s.pieces {
		paths = append(paths, safetext.Filled(p.path)...)
	}
	return safetext.Join(safetext.Filled(s.name.Cut(maxPath), safetext.Join(paths, ", ")), ": ").Guarded()
}

// fitRanks writes the blocks that fit, and returns those that don't. Blocks of a rank get
// equal room, so that a huge one hides no other. A rank gets at most half of the room
// while later ranks need the rest, but always enough for one block.
func fitRanks(blocks []section, room int) (text markup, left []section) {
	behind := sizeOf(blocks)
	for len(blocks) > 0 {
		n := slices.IndexFunc(blocks, func(b section) bool { return b.rank != blocks[0].rank })
		if n < 0 {
			n = len(blocks)
		}
		behind -= sizeOf(blocks[:n])
		shown, rest := fitRank(blocks[:n], max(room/2, room-behind, min(room, minBlock)))
		text, left = text.Add(shown), append(left, rest...)
		room -= shown.Len()
		blocks = blocks[n:]
	}
	return text, left
}

// fitRank shares room among the first blocks of a rank, as many as can have minBlock bytes.
func fitRank(blocks []section, room int) (markup, []section) {
	sizes := make([]int, len(blocks))
	n, free := len(blocks), room
	for i, b := range blocks {
		sizes[i] = b.size
		if free -= min(sizes[i], minBlock); free < 0 {
			n = min(n, i)
		}
	}
	most := evenly(sizes[:n], room)
	var texts []markup
	var left []section
	for i, b := range blocks {
		if i < n {
			if lines, ok := within(b.pieces, most-(b.size-sum(b.pieces, piece.size))); ok {
				texts = append(texts, b.text(lines))
				continue
			}
		}
		left = append(left, b)
	}
	return markup{}.Add(texts...), left
}

// evenly returns the largest size so that all fit into room if none exceeds it.
func evenly(sizes []int, room int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	most := 0
	for i, size := range sorted {
		if size*(len(sorted)-i) > room {
			return room / (len(sorted) - i)
		}
		room -= size
		most = size
	}
	return most
}

func (p piece) size() int {
	return sum(p.lines, func(line safe) int { return len(line.Guarded().String()) + len("\n") })
}

// within returns the lines of the pieces that fit into most bytes, grave ones and alarms
// first. A last line counts the others and names their grave paths. ok is false if no
// piece fits.
func within(pieces []piece, most int) (lines []safe, ok bool) {
	all, room := sum(pieces, piece.size) <= most, most-maxCount
	mentioned := func(p piece) int { return len(p.path.String()) + oneIf(!p.path.Empty())*len(", ") }
	room -= sum(pieces, mentioned)
	taken := make([]bool, len(pieces))
	for weight := 2; weight >= 0; weight-- {
		for i, p := range pieces {
			need := p.size() - mentioned(p)
			if all || p.weight() == weight && need <= room {
				taken[i], ok, room = true, true, room-need
			}
		}
	}
	var unseen []safe
	hidden := 0
	for i, p := range pieces {
		if taken[i] {
			lines = append(lines, p.lines...)
			continue
		}
		hidden += len(p.lines)
		unseen = append(unseen, safetext.Filled(p.path)...)
	}
	if hidden > 0 {
		count := safetext.F("  ... and %s", safetext.Count(hidden, "more line"))
		lines = append(lines, safetext.Join(safetext.Filled(count, safetext.Join(unseen, ", ")), ": "))
	}
	return lines, ok
}

func (p piece) weight() int {
	switch {
	case !p.path.Empty():
		return 2
	case p.alarm:
		return 1
	}
	return 0
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

// leftOut counts and names the omitted blocks, and points to where they are.
func leftOut(left []section, where markup, room int) markup {
	if len(left) == 0 {
		return markup{}
	}
	counts := map[rank]int{}
	for _, b := range left {
		counts[b.rank]++
	}
	var parts []safe
	for r, noun := range tableOfRanks() {
		if n := counts[rank(r)]; n > 0 {
			parts = append(parts, safetext.F("%d %s", n, noun))
		}
	}
	head := safetext.F("%s did not fit: %s", safetext.Count(len(left), "more part"), safetext.Join(parts, ", "))
	text := safetext.M("\n**%s.** %s\n", safetext.Constant(head), where)
	var names []safe
	ticks := 0
	for i, b := range left {
		line := b.mention()
		if line.Empty() {
			continue
		}
		ticks = max(ticks, line.Backticks())
		if room -= len(line.String()) + len("\n"); room < 2*ticks {
			names = append(names, safetext.F("... and %d more", len(left)-i))
			break
		}
		names = append(names, line)
	}
	if len(names) == 0 {
		return text
	}
	return safetext.M("%s\n%s", text, safetext.Fence("text", names))
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
