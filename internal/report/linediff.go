package report

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// The lines of context around what differs, and the lines of each text beyond
// which they are not compared: what differs is then all of one and all of the
// other.
const (
	contextLines = 3
	maxCompared  = 2000
)

// lineChange is one line of a comparison: the line of live, that of git, or both if
// they are equal or one replaces the other.
type lineChange struct {
	before, after *textLine
}

func (c lineChange) same() bool {
	return c.before != nil && c.after != nil && c.before.text == c.after.text
}

// line is the one that has the cause: git's, or live's where git has none.
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

// compareMiddle compares texts that neither begin nor end alike.
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

// paired puts removed lines beside the next added ones with the same names.
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

// hunk is a run of lines around a difference, and where it begins in each text, from 0.
type hunk struct {
	lines         []lineChange
	before, after int
}

func hunks(changes []lineChange) []hunk {
	var out []hunk
	before, after, end := 0, 0, 0
	at := make([][2]int, len(changes))
	for i, c := range changes {
		at[i] = [2]int{before, after}
		if c.before != nil {
			before++
		}
		if c.after != nil {
			after++
		}
	}
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
		out = append(out, hunk{changes[start:end], at[start][0], at[start][1]})
		i = end - 1
	}
	return out
}
