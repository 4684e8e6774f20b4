package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/safetext"
)

// MaxText is the most columns of a text that is shown whole.
const MaxText = 160

// The characters that are shown at the start and at the end of a longer text, and around the places where it differs.
const (
	atEnds = 40
	before = 16
	behind = 24
)

// manySpaces is a run of spaces that could push what follows out of sight.
var manySpaces = regexp.MustCompile(` {9,}`)

// CollapseSpaces replaces long runs of spaces by their number.
func CollapseSpaces(t safetext.Text) safetext.Text {
	if !strings.Contains(t.String(), "         ") {
		return t
	}
	return safetext.Clean(manySpaces.ReplaceAllStringFunc(t.String(), func(run string) string { return fmt.Sprintf("·%d spaces·", len(run)) }))
}

// FormatLiteral returns v on one line: strings in quotes, objects and lists as YAML flow.
func FormatLiteral(v any) safetext.Text {
	switch v.(type) {
	case map[string]any, []any:
		return safetext.Join(FlowTokens(v, true), " ")
	}
	return formatScalar(v)
}

// formatScalar returns a value as JSON.
func formatScalar(v any) safetext.Text {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return safetext.Clean(strconv.Quote(fmt.Sprint(v)))
	}
	return CollapseSpaces(safetext.Clean(strings.TrimSuffix(b.String(), "\n")))
}

// Shorten returns the beginning and the end of a long text, and its length.
func Shorten(t safetext.Text) safetext.Text { return excerptAround(t, nil) }

// FormatPair returns two values that differ. Of long ones it has both ends, the places where they differ, and the length, unless one
// is a list or an object that must be whole.
func FormatPair(old, current any, whole bool) (a, b safetext.Text) {
	a, b = formatScalar(old), formatScalar(current)
	switch {
	case max(a.Width(), b.Width()) <= MaxText:
		return FormatLiteral(old), FormatLiteral(current)
	case whole && (isCollection(old) || isCollection(current)):
		return a, b
	}
	return ShortenTextPair(a, b)
}

func isCollection(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// ShortenTextPair returns two texts that differ, each of at most about MaxText columns.
func ShortenTextPair(a, b safetext.Text) (safetext.Text, safetext.Text) {
	if a.Width() <= MaxText && b.Width() <= MaxText {
		return a, b
	}
	x, y := []rune(a.String()), []rune(b.String())
	head, tail := diag.SharedEnds(x, y)
	return excerptAround(a, []int{head, len(x) - tail}), excerptAround(b, []int{head, len(y) - tail})
}

// excerptAround returns a text, or of a long one both ends, what is around the first and the last of differs, the length, and where
// it differs.
func excerptAround(t safetext.Text, differs []int) safetext.Text {
	if t.Width() <= MaxText {
		return t
	}
	text := []rune(t.String())
	n := len(text)
	windows := [][2]int{{0, atEnds}}
	if differs != nil {
		windows = append(windows, [2]int{differs[0] - before, differs[0] + behind}, [2]int{differs[1] - behind, differs[1] + before})
	}
	var b strings.Builder
	end := 0
	for _, w := range append(windows, [2]int{n - atEnds, n}) {
		from, to := max(w[0], end), min(w[1], n)
		if from >= to {
			continue
		}
		if from > end+1 {
			b.WriteString("…")
		} else {
			from = end
		}
		b.WriteString(string(text[from:to]))
		end = to
	}
	if end == n && utf8.RuneCountInString(b.String()) == n {
		return t
	}
	short := safetext.Clean(b.String())
	if differs != nil && differs[0] > atEnds {
		return safetext.F("%s (%d bytes, differs from character %d)", short, len(t.String()), differs[0]+1)
	}
	return safetext.F("%s (%d bytes)", short, len(t.String()))
}

// flow collects a value as YAML flow, one token for each scalar.
type flow struct{ tokens []safetext.Text }

// FlowTokens returns the YAML flow of a value, a token for each scalar in it, with or without the outer brackets. Long texts in it
// are shortened unless they are all of it.
func FlowTokens(v any, brackets bool) []safetext.Text {
	var f flow
	if !brackets {
		f.members(v, "", "")
	}
	if len(f.tokens) == 0 {
		f.write("", v, "")
	}
	return f.tokens
}

func (f *flow) write(before string, v any, after string) {
	text, brackets := "", ""
	switch t := v.(type) {
	case map[string]any:
		brackets = "{}"
	case []any:
		brackets = "[]"
	case string:
		text = Shorten(QuoteFlow(t)).String()
	default:
		text = formatScalar(v).String()
	}
	n := len(f.tokens)
	if brackets != "" {
		f.members(v, before+brackets[:1], brackets[1:]+after)
	}
	if len(f.tokens) == n { // a scalar, or a structure without members
		f.tokens = append(f.tokens, safetext.Clean(before+brackets+text+after))
	}
}

func (f *flow) members(v any, before, after string) {
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	keys := canon.SortedKeys(object)
	n := len(list) + len(keys)
	for i := range n {
		end := ","
		if i == n-1 {
			end = after
		}
		if list != nil {
			f.write(before, list[i], end)
		} else {
			f.write(before+Shorten(QuoteFlow(keys[i])).String()+": ", object[keys[i]], end)
		}
		before = ""
	}
}

// QuoteFlow quotes a string unless YAML reads it as the same string without quotes.
func QuoteFlow(s string) safetext.Text {
	if s == "" || !IsPlainFlow(s) || strings.ContainsRune("0123456789-+.", rune(s[0])) {
		return formatScalar(s)
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off":
		return formatScalar(s)
	}
	return safetext.Clean(s)
}

// IsPlainFlow reports whether no character of s has a meaning in YAML flow.
func IsPlainFlow(s string) bool {
	const others = "_-./*"
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(others, r)
	})
}
