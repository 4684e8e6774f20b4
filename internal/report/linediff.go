package report

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// contextLines is the context around a difference. Texts that differ in more than
// maxCompared lines count as different throughout.
const (
	contextLines = 3
	maxCompared  = 2000
)

// lineChange is a line before, a line after, or both if they are equal or one replaces the
// other.
type lineChange struct {
	before, after *textLine
}

func (c lineChange) same() bool {
	return c.before != nil && c.after != nil && c.before.text == c.after.text
}

// line returns the line with the cause: after, or before if there is no after.
func (c lineChange) line() *textLine {
	if c.after != nil {
		return c.after
	}
	return c.before
}

// compareLines aligns two texts: lines that replace each other are paired.
func compareLines(before, after []textLine) []lineChange {
	var out []lineChange
	first := 0
	for first < min(len(before), len(after)) && before[first].text == after[first].text {
		out = append(out, lineChange{&before[first], &after[first]})
		first++
	}
	tail := 0
	for tail < min(len(before), len(after))-first && before[len(before)-1-tail].text == after[len(after)-1-tail].text {
		tail++
	}
	out = append(out, compareMiddle(before[first:len(before)-tail], after[first:len(after)-tail])...)
	for i := tail; i > 0; i-- {
		out = append(out, lineChange{&before[len(before)-i], &after[len(after)-i]})
	}
	return out
}

// compareMiddle compares texts whose first and last lines differ.
func compareMiddle(before, after []textLine) []lineChange {
	if len(before) == 0 || len(after) == 0 || max(len(before), len(after)) > maxCompared {
		return paired(before, after)
	}
	var d dictionary
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the clock must not change what is shown
	var out []lineChange
	i, j, gone, come := 0, 0, 0, 0
	settle := func() {
		out = append(out, paired(before[i:i+gone], after[j:j+come])...)
		i, j, gone, come = i+gone, j+come, 0, 0
	}
	for _, diff := range differ.DiffMainRunes(d.encodeLines(before), d.encodeLines(after), false) {
		n := len([]rune(diff.Text))
		switch diff.Type {
		case diffmatchpatch.DiffDelete:
			gone += n
		case diffmatchpatch.DiffInsert:
			come += n
		case diffmatchpatch.DiffEqual:
			settle()
			for k := range n {
				out = append(out, lineChange{&before[i+k], &after[j+k]})
			}
			i, j = i+n, j+n
		}
	}
	settle()
	return out
}

// paired pairs removed lines with the next added ones that have the same field name.
func paired(before, after []textLine) []lineChange {
	where := make(map[safe][]int, len(after))
	for j := range after {
		name := nameOf(after[j].text)
		where[name] = append(where[name], j)
	}
	var out []lineChange
	next := 0
	for i := range before {
		name := nameOf(before[i].text)
		places := where[name]
		for len(places) > 0 && places[0] < next {
			places = places[1:]
		}
		where[name] = places
		if len(places) == 0 {
			out = append(out, lineChange{before: &before[i]})
			continue
		}
		for ; next < places[0]; next++ {
			out = append(out, lineChange{after: &after[next]})
		}
		out = append(out, lineChange{&before[i], &after[next]})
		next++
	}
	for ; next < len(after); next++ {
		out = append(out, lineChange{after: &after[next]})
	}
	return out
}

func nameOf(line safe) safe {
	name, _, _ := strings.Cut(line.String(), ": ")
	return clean(name)
}

// hunk is a difference with context. before and after count the lines in front of it.
type hunk struct {
	lines         []lineChange
	before, after int
}

func hunks(changes []lineChange) []hunk {
	var out []hunk
	before, after, end, counted := 0, 0, 0, 0
	for i := 0; i < len(changes); i++ {
		if changes[i].same() {
			continue
		}
		start := max(i-contextLines, end)
		end = i
		for next := i; next < len(changes) && next <= end+2*contextLines; next++ {
			if !changes[next].same() {
				end = next
			}
		}
		end = min(end+1+contextLines, len(changes))
		for _, c := range changes[counted:start] {
			before, after = before+oneIf(c.before != nil), after+oneIf(c.after != nil)
		}
		counted = start
		out = append(out, hunk{changes[start:end], before, after})
		i = end - 1
	}
	return out
}
