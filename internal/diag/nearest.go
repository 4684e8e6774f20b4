package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maxMeant is the longest word, in bytes, that is compared: manifests may be hostile.
const maxMeant = 300

// nearestWord returns the known word that was probably meant, or "". All suggestions of trueup use it.
func nearestWord(word string, known []string) string {
	if len(word) > maxMeant {
		return ""
	}
	const enough = 3 // letters of a word that is a part of another
	lower := strings.ToLower(word)
	letters := spelling{letters: []rune(lower)}
	best, least := "", min(len(word)/2+1, len(word)/4+3)
	part := ""
	for _, k := range known {
		if len(k) > maxMeant {
			continue
		}
		other := strings.ToLower(k)
		if d := letters.editDistance(spelling{letters: []rune(other), slips: least, letter: 1, other: 1}); d < least {
			best, least = k, d
		}
		if len(word) >= enough && strings.Contains(other, lower) && (part == "" || len(k) < len(part)) {
			part = k
		}
	}
	return cmp.Or(best, part)
}

// EditDistance counts the letters to change, add, remove or swap between two words.
func EditDistance(a, b string) int {
	return spelling{letters: []rune(a)}.editDistance(spelling{letters: []rune(b), slips: maxMeant, letter: 1, other: 1})
}

// Corrections returns the known words that a word is a misspelling of, usually one. It makes errors where nearestWord
// makes suggestions, so it accepts less: another case, other hyphens, underscores and spaces, and letters that
// are swapped, missing, extra or wrong. Numbers are never a slip: hc and hc2 are two versions of a field.
func Corrections(word string, known []string) []string {
	if len(word) > maxMeant {
		return nil
	}
	w := newSpelling(word)
	var best []string
	least := maxMeant
	for _, k := range known {
		s := newSpelling(k)
		d := w.editDistance(s)
		if d > s.slips || d > least || !slices.Equal(w.digits, s.digits) {
			continue
		}
		if d < least {
			best, least = nil, d
		}
		best = append(best, k)
	}
	return best
}

// spelling is a word in the form in which Misspelt compares it.
type spelling struct {
	letters, digits []rune
	// slips is the highest weight of the edits of a misspelling; letter is the weight of a missing or
	// extra letter, other that of a wrong one. A short word resembles many: of three letters only
	// swapped and doubled ones are slips, of five any one.
	slips, letter, other int
}

// anyLetter is a character that may look like any letter.
const anyLetter = -1

// newSpelling returns the spelling of a word. A letter beyond ASCII may look like an ASCII one, if it is
// lower-case or the word also has ASCII letters.
func newSpelling(word string) spelling {
	s := spelling{slips: 1, letter: 2, other: 2}
	mixed := strings.ContainsFunc(word, func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) })
	for _, r := range strings.ToLower(word) {
		switch {
		case strings.ContainsRune("-_ ", r):
			continue
		case r > unicode.MaxASCII && (mixed || unicode.IsLower(r)):
			r = anyLetter
		case unicode.IsDigit(r):
			s.digits = append(s.digits, r)
		}
		s.letters = append(s.letters, r)
	}
	switch n := len(s.letters); {
	case n >= 6:
		s.slips, s.letter = max(2, n/4), 1
	case n >= 4:
		s.letter, s.other = 1, 1
	}
	return s
}

// editDistance weighs the edits between a word and a known one, by the weights of the known one: the
// Damerau-Levenshtein distance.
func (s spelling) editDistance(known spelling) int {
	a, b := s.letters, known.letters
	if d := len(a) - len(b); max(d, -d) > known.slips {
		return maxMeant
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j * known.letter
	}
	for i := range a {
		before, last, row = last, row, before
		extra := known.letter
		if i > 0 && a[i] == a[i-1] {
			extra = 1
		}
		row[0] = last[0] + extra
		for j := range b {
			row[j+1] = min(last[j]+known.substitutionCost(b[j], a[i]), last[j+1]+extra, row[j]+known.letter)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// substitutionCost returns the weight of a wrong character in place of a letter.
func (s spelling) substitutionCost(letter, by rune) int {
	if letter == by || by == anyLetter {
		return 0
	}
	return s.other
}

// DidYouMean ends a message with the known word that was probably meant, if there is one.
func DidYouMean(word string, known []string) string {
	return Suggest(word, known, ": did you mean %s?", "")
}

// Suggest puts the known word that was probably meant into format; without one it returns other.
func Suggest(word string, known []string, format, other string) string {
	if meant := nearestWord(word, known); meant != "" {
		return fmt.Sprintf(format, meant)
	}
	return other
}
