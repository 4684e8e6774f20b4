// Package diag has the type of findings: what is wrong, where, by which rule, and how to fix it. It also
// has the exit codes, knows invisible characters, and returns a panic from goroutines to their caller.
package diag

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Severity reports whether a finding stops the run.
type Severity uint8

// The severities: an Error stops the run (exit 4), a Warning does not, and Advice never becomes an error,
// not even in a strict run.
const (
	Warning Severity = iota
	Error
	Advice
)

func severities() []string { return []string{Warning: "warning", Error: "error", Advice: "advice"} }

// String returns "warning", "error" or "advice".
func (s Severity) String() string { return severities()[s] }

// MarshalText writes the severity as its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a severity.
func (s *Severity) UnmarshalText(b []byte) error {
	i := slices.Index(severities(), string(b))
	if i < 0 {
		return fmt.Errorf("unknown severity %q", b)
	}
	*s = Severity(i)
	return nil
}

// Finding is an error, warning or hint at a line of a file.
type Finding struct {
	// Path is the file as the user named it; "-" is standard input.
	Path string `json:"path,omitempty"`
	// Line and Column count from 1, columns in characters; 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the path in the object, such as spec.tls.forced.
	Field string `json:"field,omitempty"`
	// Rule is the name of a page in docs/rules.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	// Write is YAML that replaces the value or key at the finding's place, or empty if the rule is not sure.
	Write    string   `json:"-"`
	Severity Severity `json:"severity"`
	// Source is the text of the line, without its end.
	Source string `json:"source,omitempty"`
	// Silenced is the reason of a comment in the file that hides the finding. Such findings have
	// lists of their own.
	Silenced string `json:"silenced,omitempty"`
}

// String returns the finding as editors and problem matchers expect it.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", f.Path, f.Line, f.Column, f.Severity, f.Message, f.Rule)
}

// Place returns FILE:LINE, or FILE if the line is unknown.
func Place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// List is a list of findings.
type List []Finding

// Count returns how many findings have the severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, f := range l {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether any finding is an error.
func (l List) HasErrors() bool { return l.Count(Error) > 0 }

// Sort sorts by file and place, then by rule and text.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// Plural returns a number with its noun, such as "1 path" or "2 paths".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// JoinFirst returns the first entries of a list, about most, and how many more there are if these are several.
func JoinFirst(list []string, most int) string {
	if more := len(list) - most; more > 1 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// Pattern returns a regular expression that is compiled when it is used first, not at every start of the program.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// MapList returns what a function returns for each element of a list.
func MapList[T, R any](list []T, of func(T) R) (out []R) {
	out = slices.Grow(out, len(list))
	for _, e := range list {
		out = append(out, of(e))
	}
	return out
}

// GroupBy returns the elements of a list in groups with the same key, in the order of the first of each.
func GroupBy[T any, K comparable](list []T, keyOf func(T) K) (groups [][]T) {
	at := map[K]int{}
	for _, e := range list {
		key := keyOf(e)
		i, known := at[key]
		if !known {
			i, at[key], groups = len(groups), len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// SharedEnds counts the elements that two lists share at their start and at their end.
func SharedEnds[T comparable](x, y []T) (head, tail int) {
	short := min(len(x), len(y))
	for head < short && x[head] == y[head] {
		head++
	}
	for tail < short-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	return head, tail
}

// OneLine returns the text of an error, such as that of errors.Join, on one line without repeated parts.
func OneLine(err error) string {
	return strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "; ")
}

// ErrReadOnly is the error of everything that would change the platform, a ledger or a code host in a read-only run.
var ErrReadOnly = errors.New("TRUEUP_READ_ONLY is set, so trueup changes no platform, ledger or code host: unset it, or try it with --sandbox")

// ErrorIfInvalid returns an error with ExitInvalid that has the first error of the list, nil if there is none. what says what
// was not done because of it.
func (l List) ErrorIfInvalid(what string) error {
	i := slices.IndexFunc(l, func(f Finding) bool { return f.Severity == Error })
	if i < 0 {
		return nil
	}
	return WithExit(ExitInvalid, fmt.Errorf("%s: %s", what, l[i]))
}

// Blank characters that Unicode counts as symbols and marks.
const (
	blankBraille  = '\u2800'
	blankNotehead = '\U0001D159'
	khitanFiller  = '\U00016FE4'
)

// IsInvisible reports whether a character is invisible, or changes how the text around it looks: controls,
// separators of lines and paragraphs, format characters, and what Unicode calls default ignorable. Spaces
// and format characters that show as a sign before a number are visible.
func IsInvisible(r rune) bool {
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

// Shorten shortens a text that a message quotes.
func Shorten(s string) string { return Truncate(s, 60) }

// Quote quotes and shortens a text of a file for a message.
func Quote(s string) string { return strconv.Quote(Shorten(s)) }

// Truncate shortens a text to a number of bytes.
func Truncate(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

var placeholder = Pattern(`\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Z][A-Z0-9_]+\b|\{\{.*?\}\}|%[A-Z_][A-Z0-9_]{2,}%|<[A-Za-z_][A-Za-z0-9_ -]*>`)

// FindPlaceholder returns the first part of a text that templates and shells replace, or "". Digits and %2E%2E are none.
func FindPlaceholder(text string) string { return placeholder().FindString(text) }

// MisreadError is about a character that editors, diffs and parsers read differently. Line and Column count
// from 1, lines by line feeds and columns in characters.
type MisreadError struct {
	Line, Column int
	Message, Fix string
}

func (m MisreadError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s: %s", m.Line, m.Column, m.Message, m.Fix)
}

// FindMisread returns the first character that no file may have as it is, not even in a comment or in quotes:
// control characters but tab and the ends of lines, which are line feeds and CR LF, other separators of lines,
// characters that change the direction of text, byte order marks but the first, noncharacters, and bytes that are
// not UTF-8.
func FindMisread(text []byte) (m MisreadError, found bool) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for i, size := 0, 0; i < len(text); i += size {
		if size = 1; ' ' <= text[i] && text[i] < 0x7F || text[i] == '\n' || text[i] == '\t' {
			continue
		}
		var r rune
		r, size = utf8.DecodeRune(text[i:])
		if !isMisread(r, size) || bytes.HasPrefix(text[i:], []byte("\r\n")) {
			continue
		}
		before := text[:i]
		m = MisreadError{
			Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
			Message: describeCharacter(r), Fix: "remove the character",
		}
		if r == utf8.RuneError {
			m.Message, m.Fix = fmt.Sprintf("the byte 0x%02X is not UTF-8", text[i]), "save the file as UTF-8"
		}
		return m, true
	}
	return m, false
}

func isMisread(r rune, size int) bool {
	if r == utf8.RuneError {
		return size == 1
	}
	return r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF' || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func describeCharacter(r rune) string {
	kind := "the control character"
	switch {
	case r == '\r':
		kind = "a carriage return without a line feed,"
	case r == '\u0085':
		kind = "the line break (next line)"
	case r == '\u2028':
		kind = "the line break (line separator)"
	case r == '\u2029':
		kind = "the line break (paragraph separator)"
	case r == '\uFFFE', r == '\uFFFF':
		kind = "the noncharacter"
	case r == '\uFEFF':
		kind = "a byte order mark that is not at the start,"
	case unicode.Is(unicode.Bidi_Control, r):
		kind = "a character that changes the direction of text,"
	}
	return fmt.Sprintf("%s U+%04X", kind, r)
}
