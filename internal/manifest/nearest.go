package manifest

import (
	"strings"

	"github.com/lithammer/fuzzysearch/fuzzy"
)

// maxMeant is the longest word, in bytes, for which a nearest is sought: it may be
// anybody's.
const maxMeant = 300

// Nearest returns the known word that was probably meant, or "". It is the one
// answer to what a person may have meant: fields, values, names, commands, flags.
func Nearest(word string, known []string) string {
	if len(word) > maxMeant {
		return ""
	}
	const enough = 3 // letters of a word that is a part of another
	lower := strings.ToLower(word)
	best, least := "", min(len(word)/2+1, len(word)/4+3)
	part := ""
	for _, k := range known {
		if len(k) > maxMeant {
			continue
		}
		other := strings.ToLower(k)
		d := fuzzy.LevenshteinDistance(lower, other)
		if d == 2 && swapped(lower, other) {
			d = 1
		}
		if d < least {
			best, least = k, d
		}
		if len(word) >= enough && strings.Contains(other, lower) && (part == "" || len(k) < len(part)) {
			part = k
		}
	}
	if best == "" {
		return part
	}
	return best
}

// swapped tells whether two words differ in the order of two neighbours.
func swapped(a, b string) bool {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return len(a) == len(b) && i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
