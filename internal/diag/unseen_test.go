package diag

import (
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// ignorable is Default_Ignorable_Code_Point, as Unicode publishes it
// (DerivedCoreProperties); it is stable.
var ignorable = [][2]rune{
	{0xAD, 0xAD},
	{0x34F, 0x34F},
	{0x61C, 0x61C},
	{0x115F, 0x1160},
	{0x17B4, 0x17B5},
	{0x180B, 0x180F},
	{0x200B, 0x200F},
	{0x202A, 0x202E},
	{0x2060, 0x206F},
	{0x3164, 0x3164},
	{0xFE00, 0xFE0F},
	{0xFEFF, 0xFEFF},
	{0xFFA0, 0xFFA0},
	{0xFFF0, 0xFFF8},
	{0x1BCA0, 0x1BCA3},
	{0x1D173, 0x1D17A},
	{0xE0000, 0xE0FFF},
}

// beside are what else shows as nothing: controls, separators of lines, marks of
// annotations, controls of hieroglyphs, and characters that print as a blank.
var beside = [][2]rune{
	{0, 0x1F}, {0x7F, 0x9F}, {0x2028, 0x2029}, {0x2800, 0x2800}, {0xFFF9, 0xFFFB}, {0x13430, 0x1343F}, {0x16FE4, 0x16FE4}, {0x1D159, 0x1D159},
}

// TestUnseen holds that over all of Unicode nothing else is called unseen, and that
// nothing else takes no room but marks that change the letter before them.
func TestUnseen(t *testing.T) {
	want := map[rune]bool{}
	for _, table := range [][][2]rune{ignorable, beside} {
		for _, span := range table {
			for r := span[0]; r <= span[1]; r++ {
				want[r] = true
			}
		}
	}
	terminal := &runewidth.Condition{StrictEmojiNeutral: true}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got := IsInvisible(r); got != want[r] {
			t.Errorf("U+%04X: %t", r, got)
		}
		if unicode.IsPrint(r) && terminal.RuneWidth(r) == 0 && !unicode.Is(unicode.M, r) && !IsInvisible(r) {
			t.Errorf("U+%04X takes no room", r)
		}
	}
}
