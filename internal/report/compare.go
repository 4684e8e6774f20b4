package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"trueup/internal/safetext"
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
	x, y := textsOf(before), textsOf(after)
	head, tail := sharedEnds(x, y)
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	middle := []run{{diffmatchpatch.DiffDelete, len(x)}, {diffmatchpatch.DiffInsert, len(y)}}
	if max(len(x), len(y)) <= maxCompared {
		middle = compareUnits(x, y)
	}
	var out []lineChange
	removed, added := 0, 0 // lines between equal ones
	for _, r := range slices.Concat([]run{{diffmatchpatch.DiffEqual, head}}, middle, []run{{diffmatchpatch.DiffEqual, tail}}) {
		switch r.op {
		case diffmatchpatch.DiffDelete:
			removed += r.n
		case diffmatchpatch.DiffInsert:
			added += r.n
		case diffmatchpatch.DiffEqual:
			out = append(out, paired(before[:removed], after[:added])...)
			before, after = before[removed:], after[added:]
			removed, added = 0, 0
			for i := range r.n {
				out = append(out, lineChange{&before[i], &after[i]})
			}
			before, after = before[r.n:], after[r.n:]
		}
	}
	return out
}

func textsOf(lines []textLine) []safe {
	texts := make([]safe, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return texts
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

// Texts shorter than minIntraline are easier to read without marked words.
const (
	minIntraline = 12
	maxIntraline = 4 * maxText
)

// part is a piece of a line.
type part struct {
	Text    safe
	Differs bool
}

// intraline splits two texts into equal and different words. ok is false for short texts,
// for numbers, and if less than a third is equal.
func intraline(before, after safe) (a, b []part, ok bool) {
	short := min(utf8.RuneCountInString(before.String()), utf8.RuneCountInString(after.String()))
	long := max(utf8.RuneCountInString(before.String()), utf8.RuneCountInString(after.String()))
	if short < minIntraline || long > maxIntraline || !wordy(before) || !wordy(after) {
		return nil, nil, false
	}
	x, y, shared := words(before), words(after), 0
	for _, r := range compareUnits(x, y) {
		if r.op != diffmatchpatch.DiffInsert {
			a = append(a, part{safetext.Join(x[:r.n], ""), r.op != diffmatchpatch.DiffEqual})
			x = x[r.n:]
		}
		if r.op != diffmatchpatch.DiffDelete {
			b = append(b, part{safetext.Join(y[:r.n], ""), r.op != diffmatchpatch.DiffEqual})
			y = y[r.n:]
		}
		if r.op == diffmatchpatch.DiffEqual {
			shared += utf8.RuneCountInString(b[len(b)-1].Text.String())
		}
	}
	return a, b, 3*shared >= long
}

// run is a number of units, words or lines, that are equal, removed or added.
type run struct {
	op diffmatchpatch.Operation
	n  int
}

// firstWord starts the private use planes.
const firstWord = '\U000F0000'

// compareUnits aligns two lists. It replaces each unit with a private character, so that the diff does not
// compare letters.
func compareUnits(before, after []safe) []run {
	index := map[safe]rune{}
	encode := func(units []safe) []rune {
		out := make([]rune, len(units))
		for i, u := range units {
			if _, known := index[u]; !known {
				index[u] = firstWord + rune(len(index))
			}
			out[i] = index[u]
		}
		return out
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the clock must not change what is shown
	var runs []run
	for _, diff := range differ.DiffMainRunes(encode(before), encode(after), false) {
		runs = append(runs, run{diff.Type, utf8.RuneCountInString(diff.Text)})
	}
	return runs
}

func words(s safe) []safe {
	var out []safe
	start := 0
	text := s.String()
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			continue
		}
		if start < i {
			out = append(out, clean(text[start:i]))
		}
		start = i + utf8.RuneLen(r)
		out = append(out, clean(text[i:start]))
	}
	if start < len(text) {
		out = append(out, clean(text[start:]))
	}
	return out
}

// wordy reports whether a value is not a number, quoted or not.
func wordy(s safe) bool { return strings.Trim(s.String(), `"0123456789+-.eE`) != "" }
