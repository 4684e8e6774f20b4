package diag

import "unicode"

// These print as a blank although Unicode has them as symbols and marks: an empty
// Braille cell, a note without a head, a filler.
const (
	blankBraille  = '\u2800'
	blankNotehead = '\U0001D159'
	khitanFiller  = '\U00016FE4'
)

// Unseen reports whether a character shows as nothing, or changes how the text
// around it shows: two texts that differ in such characters look the same. They are
// controls, line and paragraph separators, format characters, and what Unicode calls
// default ignorable: variation selectors, fillers, tags and others. Spaces, and the
// format characters that show as a sign before a number, are seen.
func Unseen(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f:
		return false
	case r == blankBraille, r == blankNotehead, r == khitanFiller:
		return true
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
