package report

import (
	"slices"
	"strings"
)

// The fewest bytes that a block is worth, where not all fit, and those for the
// count of its lines that did not.
const (
	minBlock = 800
	maxCount = 40
)

// fitBlocks writes as much of the blocks as has room, and returns those of which
// nothing had. Blocks of a rank share its room alike, so that an enormous one
// hides none, and no rank takes more than half of what is left as long as those
// behind it need it, unless half is less than one block is worth.
func fitBlocks(blocks []section, room int) (markup, []section) {
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
// pieces, which are counted; ok is false where not one has room.
func (s section) fit(most int) (text markup, ok bool) {
	if s.size() <= most {
		return s.text(s.pieces, 0), true
	}
	room := most - s.frame() - maxCount
	taken := make([]bool, len(s.pieces))
	for _, alarms := range []bool{true, false} {
		for i, p := range s.pieces {
			if size := p.size(); p.alarm == alarms && size <= room {
				taken[i], ok, room = true, true, room-size
			}
		}
	}
	var shown []piece
	hidden := 0
	for i, p := range s.pieces {
		if taken[i] {
			shown = append(shown, p)
			continue
		}
		hidden += len(p.lines)
	}
	return s.text(shown, hidden), ok
}

func (s section) text(shown []piece, hidden int) markup {
	var content []safe
	for _, p := range shown {
		content = append(content, p.lines...)
	}
	if hidden > 0 {
		content = append(content, "  ... and "+count(hidden, "more line"))
	}
	body := fence(s.info, content)
	if s.summary == "" {
		return "\n" + body
	}
	return details(s.open, s.summary, body)
}

// leftOut counts the blocks of which nothing is shown.
func leftOut(left []section) markup {
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
	return "**" + constant(count(len(left), "more part")+" did not fit: "+join(parts, ", ")) + ".** "
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
	if page := link("the page of the run", doc.RunURL); page != "the page of the run" {
		add(page)
	}
	if len(places) == 0 {
		return "To have everything, add " + code("--report html=FILE") + " to the run."
	}
	return "Everything is in " + markup(strings.Join(places, ", ")) + "."
}
