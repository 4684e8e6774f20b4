package diag

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Plural returns a number with its noun, such as "1 path" or "2 paths".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// First returns the first entries of a list, about most, and how many more there are if these are several.
func First(list []string, most int) string {
	if more := len(list) - most; more > 1 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// OneLine returns the text of an error, such as that of errors.Join, on one line without repeated parts.
func OneLine(err error) string {
	return strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "; ")
}

// InvalidError means that manifests have errors; What says what was not done because of them.
type InvalidError struct {
	What  string
	First Finding
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.What, e.First) }

// Refuse returns an InvalidError with the first error of the list, nil if there is none.
func (l List) Refuse(what string) error {
	i := slices.IndexFunc(l, func(f Finding) bool { return f.Severity == Error })
	if i < 0 {
		return nil
	}
	return &InvalidError{what, l[i]}
}

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

// Short shortens a text that a message quotes.
func Short(s string) string { return Cut(s, 60) }

// Quote quotes and shortens a text of a file for a message.
func Quote(s string) string { return strconv.Quote(Short(s)) }

// Cut shortens a text to a number of bytes.
func Cut(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Z][A-Z0-9_]+\b|\{\{.*?\}\}|%[A-Z_][A-Z0-9_]{2,}%|<[A-Za-z_][A-Za-z0-9_ -]*>`)
})

// FindPlaceholder returns the first part of a text that templates and shells replace, or "". Digits and %2E%2E are none.
func FindPlaceholder(text string) string { return placeholder().FindString(text) }
