package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"trueup/internal/safetext"

	"github.com/sergi/go-diff/diffmatchpatch"
)

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
