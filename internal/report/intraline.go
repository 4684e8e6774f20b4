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
	var d dictionary
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the clock must not change what is shown
	shared := 0
	for _, diff := range differ.DiffMainRunes(d.encode(words(before)), d.encode(words(after)), false) {
		text := safetext.Join(d.decode(diff.Text), "")
		switch diff.Type {
		case diffmatchpatch.DiffEqual:
			shared += utf8.RuneCountInString(text.String())
			a, b = append(a, part{text, false}), append(b, part{text, false})
		case diffmatchpatch.DiffDelete:
			a = append(a, part{text, true})
		case diffmatchpatch.DiffInsert:
			b = append(b, part{text, true})
		}
	}
	return a, b, 3*shared >= long
}

// dictionary replaces each word or line with a character, so that the diff does not compare
// letters. It holds as many as the private use planes.
type dictionary struct {
	units []safe
	index map[safe]rune
}

const firstWord = '\U000F0000'

func (d *dictionary) encode(units []safe) []rune {
	if d.index == nil {
		d.index = map[safe]rune{}
	}
	out := make([]rune, len(units))
	for i, u := range units {
		r, ok := d.index[u]
		if !ok {
			r = firstWord + rune(len(d.units))
			d.index[u] = r
			d.units = append(d.units, u)
		}
		out[i] = r
	}
	return out
}

func (d *dictionary) encodeLines(lines []textLine) []rune {
	units := make([]safe, len(lines))
	for i, l := range lines {
		units[i] = l.text
	}
	return d.encode(units)
}

func (d *dictionary) decode(s string) []safe {
	out := make([]safe, 0, utf8.RuneCountInString(s))
	for _, r := range s {
		out = append(out, d.units[r-firstWord])
	}
	return out
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
