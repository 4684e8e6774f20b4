package diag

import "unicode"

// Blank characters that Unicode counts as symbols and marks.
const (
	blankBraille  = '\u2800'
	blankNotehead = '\U0001D159'
	khitanFiller  = '\U00016FE4'
)

// Unseen reports whether a character is invisible, or changes how the text around it looks: controls,
// separators of lines and paragraphs, format characters, and what Unicode calls default ignorable. Spaces
// and format characters that show as a sign before a number are visible.
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
