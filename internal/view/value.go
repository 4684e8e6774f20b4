package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"trueup/internal/canon"
	"trueup/internal/safetext"
)

// MaxText is the most columns of a text that is shown whole.
const MaxText = 160

// The characters that are shown at the start and at the end of a longer text, and around the places where it differs.
const (
	atEnds   = 40
	before   = 16
	behind   = 24
	maxEqual = 3 // equal elements between others that are not counted
)

// manySpaces is a run of spaces that could push what follows out of sight.
var manySpaces = regexp.MustCompile(` {9,}`)

// CountSpaces replaces long runs of spaces by their number.
func CountSpaces(t safetext.Text) safetext.Text {
	if !strings.Contains(t.String(), "         ") {
		return t
	}
	return safetext.Clean(manySpaces.ReplaceAllStringFunc(t.String(), func(run string) string { return fmt.Sprintf("·%d spaces·", len(run)) }))
}

// Literal returns v on one line: strings in quotes, objects and lists as YAML flow.
func Literal(v any) safetext.Text {
	switch v.(type) {
	case map[string]any, []any:
		return safetext.Join(Tokens(v, true), " ")
	}
	return scalar(v)
}

// scalar returns a value as JSON.
func scalar(v any) safetext.Text {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return safetext.Clean(strconv.Quote(fmt.Sprint(v)))
	}
	return CountSpaces(safetext.Clean(strings.TrimSuffix(b.String(), "\n")))
}

// Shorten returns the beginning and the end of a long text, and its length.
func Shorten(t safetext.Text) safetext.Text { return withWindows(t, nil) }

// Pair returns two values that differ. Of long texts it has both ends, the places where they differ, and the length. Of lists and
// objects it counts runs of equal elements. Unless whole is set, each is at most about MaxText columns.
func Pair(old, current any, whole bool) (a, b safetext.Text) {
	if !hasParts(old) || !hasParts(current) {
		return PairTexts(Literal(old), Literal(current))
	}
	a, b = Literal(old), Literal(current)
	if a.Width() > MaxText || b.Width() > MaxText {
		a, b = pairParts(old, current)
	}
	if !whole {
		return PairTexts(a, b)
	}
	return a, b
}

func hasParts(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// PairTexts returns two texts that differ, each of at most about MaxText columns.
func PairTexts(a, b safetext.Text) (safetext.Text, safetext.Text) {
	if a.Width() <= MaxText && b.Width() <= MaxText {
		return a, b
	}
	x, y := []rune(a.String()), []rune(b.String())
	head, tail := SharedEnds(x, y)
	return withWindows(a, []int{head, len(x) - tail}), withWindows(b, []int{head, len(y) - tail})
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

// withWindows returns a text, or of a long one both ends, what is around the first and the last of differs, the length, and where
// it differs.
func withWindows(t safetext.Text, differs []int) safetext.Text {
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

// pairParts returns the flow of two lists or objects in which runs of equal elements are counted.
func pairParts(old, current any) (a, b safetext.Text) {
	x, y := partsOf(old), partsOf(current)
	var left, right []safetext.Text
	for _, run := range Compare(x, y) {
		switch run.Op {
		case diffmatchpatch.DiffDelete:
			left, x = append(left, x[:run.N]...), x[run.N:]
		case diffmatchpatch.DiffInsert:
			right, y = append(right, y[:run.N]...), y[run.N:]
		default:
			same := x[:run.N]
			if x, y = x[run.N:], y[run.N:]; run.N > maxEqual {
				same = []safetext.Text{safetext.F("… %d equal …", run.N)}
			}
			left, right = append(left, same...), append(right, same...)
		}
	}
	return bracketed(old, left), bracketed(current, right)
}

// partsOf returns the flow of each element of a list, or of each field of an object.
func partsOf(v any) (parts []safetext.Text) {
	add := func(one any) { parts = append(parts, safetext.Join(Tokens(one, false), " ")) }
	if list, isList := v.([]any); isList {
		for _, e := range list {
			add([]any{e})
		}
		return parts
	}
	object, _ := v.(map[string]any)
	for _, name := range canon.SortedKeys(object) {
		add(map[string]any{name: object[name]})
	}
	return parts
}

func bracketed(v any, parts []safetext.Text) safetext.Text {
	text := safetext.Join(parts, ", ")
	if _, isList := v.([]any); isList {
		return safetext.F("[%s]", text)
	}
	return safetext.F("{%s}", text)
}

// Run is a number of units, such as lines, that are equal, removed or added.
type Run struct {
	Op diffmatchpatch.Operation
	N  int
}

// firstUnit starts the private use planes.
const firstUnit = '\U000F0000'

// Compare aligns two lists. It replaces each unit with a private character, so that the diff does not compare letters.
func Compare(old, current []safetext.Text) []Run {
	index := map[safetext.Text]rune{}
	encode := func(units []safetext.Text) []rune {
		out := make([]rune, len(units))
		for i, u := range units {
			if _, known := index[u]; !known {
				index[u] = firstUnit + rune(len(index))
			}
			out[i] = index[u]
		}
		return out
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the clock must not change what is shown
	var runs []Run
	for _, diff := range differ.DiffMainRunes(encode(old), encode(current), false) {
		runs = append(runs, Run{diff.Type, utf8.RuneCountInString(diff.Text)})
	}
	return slices.Clip(runs)
}
