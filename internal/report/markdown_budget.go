package report

import (
	"slices"
	"strings"

	"trueup/internal/safetext"
)

// The fewest bytes that a block is worth, where not all fit, and those for the
// count of its lines that did not.
const (
	minBlock = 800
	maxCount = 40
)

// fitBlocks writes as much of the blocks as has room, the most important first, and
// names what has none. What is of the first two risks comes first: as long as one
// change of them is neither shown nor named, nothing behind it is shown.
func fitBlocks(blocks []section, where markup, room int) markup {
	all := 0
	for _, bl := range blocks {
		all += bl.size()
	}
	if all <= room {
		text, _ := fitRanks(blocks, room)
		return text
	}
	room -= len(where) + maxRest
	grave := slices.IndexFunc(blocks, func(bl section) bool { return bl.rank > rankSecurity })
	if grave < 0 {
		grave = len(blocks)
	}
	paths := mentions(blocks[:grave])
	behind := blocks[grave:]
	if paths > room/2 {
		behind = nil
	}
	names := min(mentions(behind), room/8)
	shown, left := fitRanks(blocks[:grave+len(behind)], max(room/4, room-paths-names))
	left = append(left, blocks[grave+len(behind):]...)
	return shown + leftOut(left, where, room-len(shown))
}

// mentions is what it takes to name blocks and their changes of the first two risks.
func mentions(blocks []section) int {
	n := 0
	for _, bl := range blocks {
		n += len(bl.mention()) + len("\n")
	}
	return n
}

// mention names a block and its changes of the first two risks.
func (s section) mention() safe {
	var paths []safe
	for _, p := range s.pieces {
		if p.path != "" {
			paths = append(paths, p.path)
		}
	}
	return guarded(join(filled(cut(s.name, maxPath), join(paths, ", ")), ": "))
}

// fitRanks writes as much of the blocks as has room, and returns those of which
// nothing had. Blocks of a rank share its
// room alike, so that an enormous one hides none, and no rank takes more than half
// of what is left as long as those behind it need it, unless half is less than one
// block is worth.
func fitRanks(blocks []section, room int) (markup, []section) {
	var b strings.Builder
	var left []section
	behind := 0
	for _, bl := range blocks {
		behind += bl.size()
	}
	for len(blocks) > 0 {
		n := slices.IndexFunc(blocks, func(bl section) bool { return bl.rank != blocks[0].rank })
		if n < 0 {
			n = len(blocks)
		}
		for _, bl := range blocks[:n] {
			behind -= bl.size()
		}
		share := max(room/2, room-behind, min(room, minBlock))
		text, rest := fitRank(blocks[:n], share)
		b.WriteString(string(text))
		left = append(left, rest...)
		room -= len(text)
		blocks = blocks[n:]
	}
	return markup(b.String()), left
}

// fitRank shares room among blocks of one rank.
func fitRank(blocks []section, room int) (markup, []section) {
	sizes := make([]int, len(blocks))
	for i, bl := range blocks {
		sizes[i] = bl.size()
	}
	n := worth(sizes, room)
	most := evenly(sizes[:n], room)
	var b strings.Builder
	var left []section
	for i, bl := range blocks {
		if i < n {
			if text, ok := bl.fit(most); ok {
				b.WriteString(string(text))
				continue
			}
		}
		left = append(left, bl)
	}
	return markup(b.String()), left
}

// worth is how many of the first blocks have room, if each has at least
// minBlock of it or all that it needs.
func worth(sizes []int, room int) int {
	for i, size := range sizes {
		if room -= min(size, minBlock); room < 0 {
			return i
		}
	}
	return len(sizes)
}

// evenly is the most that any may take so that all have room together.
func evenly(sizes []int, room int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		if size*(len(sorted)-i) > room {
			return room / (len(sorted) - i)
		}
		room -= size
	}
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)-1]
}

// size is what the whole block takes.
func (s section) size() int {
	n := s.frame()
	for _, p := range s.pieces {
		n += p.size()
	}
	return n
}

// frame is what a block takes without its pieces.
func (s section) frame() int {
	ticks := 3
	for _, p := range s.pieces {
		for _, line := range p.lines {
			ticks = max(ticks, backticks(line)+1)
		}
	}
	n := len("\n") + 2*(ticks+len("\n")) + len(s.info)
	if s.summary != "" {
		n += len(details(s.open, s.summary, "")) - len("\n")
	}
	return n
}

func (p piece) size() int {
	n := 0
	for _, line := range p.lines {
		n += len(guarded(line)) + len("\n")
	}
	return n
}

// fit writes the block in at most so many bytes: whole, or without some of its
// pieces, which are counted, and named where they are of the first two risks; ok is
// false where there is no room for that, or for any piece.
func (s section) fit(most int) (text markup, ok bool) {
	if s.size() <= most {
		return s.text(linesOf(s.pieces)), true
	}
	lines, ok := within(s.pieces, most-s.frame())
	if !ok {
		return "", false
	}
	return s.text(lines), true
}

// within are the lines of the pieces that have room, and one for those that have
// none: their number, and the paths of those of the first two risks. It is not ok
// where there is no room for that, or for any piece.
func within(pieces []piece, room int) (lines []safe, ok bool) {
	room -= maxCount
	for _, p := range pieces {
		room -= p.mention()
	}
	taken := make([]bool, len(pieces))
	for _, weight := range []int{2, 1, 0} {
		for i, p := range pieces {
			if size := p.size() - p.mention(); p.weight() == weight && size <= room {
				taken[i], ok, room = true, true, room-size
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
		unseen = append(unseen, filled(p.path)...)
	}
	if hidden > 0 {
		lines = append(lines, join(filled("  ... and "+count(hidden, "more line"), join(unseen, ", ")), ": "))
	}
	return lines, ok
}

// mention is what it takes to name the piece in place of its lines.
func (p piece) mention() int {
	if p.path == "" {
		return 0
	}
	return len(p.path) + len(", ")
}

// weight is how important a piece is: one of the first two risks most.
func (p piece) weight() int {
	switch {
	case p.path != "":
		return 2
	case p.alarm:
		return 1
	}
	return 0
}

func (s section) text(lines []safe) markup {
	body := fence(s.info, lines)
	if s.summary == "" {
		return "\n" + body
	}
	return details(s.open, s.summary, body)
}

// leftOut counts the blocks of which nothing is shown, says where they are, and
// names as many as have room, the most important first.
func leftOut(left []section, where markup, room int) markup {
	if len(left) == 0 {
		return ""
	}
	counts := map[int]int{}
	for _, b := range left {
		counts[b.rank]++
	}
	var parts []safe
	for rank, noun := range nouns() {
		if counts[rank] > 0 {
			parts = append(parts, number(counts[rank])+" "+noun)
		}
	}
	text := "\n**" + constant(count(len(left), "more part")+" did not fit: "+join(parts, ", ")) + ".** " + where + "\n"
	var names []safe
	ticks := 0
	for i, b := range left {
		line := b.mention()
		if line == "" {
			continue
		}
		ticks = max(ticks, backticks(line))
		if room -= len(line) + len("\n"); room < 2*ticks {
			names = append(names, "... and "+number(len(left)-i)+" more")
			break
		}
		names = append(names, line)
	}
	if len(names) == 0 {
		return text
	}
	return text + "\n" + fence("text", names)
}

// whereAll says where everything is, in at most so many bytes: in other reports
// of the run, and on its page.
func whereAll(doc Document, most int) markup {
	var places []string
	n := 0
	add := func(text markup) {
		if n += len(text); n <= most {
			places = append(places, string(text))
		}
	}
	for _, f := range doc.Files {
		if f.Format == "html" || f.Format == "json" {
			add(constant(f.title()) + " " + code(cut(clean(f.Path), maxName)))
		}
	}
	if page, ok := safetext.Link("the page of the run", doc.RunURL); ok {
		add(page)
	}
	if len(places) == 0 {
		return "To see everything, add " + code("--report html=FILE") + " to the run."
	}
	return "Everything is in " + markup(strings.Join(places, ", ")) + "."
}
