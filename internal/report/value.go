package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"trueup/internal/kind"
	"trueup/internal/safetext"
)

// The most columns of a text. Only JSON cuts nothing.
const (
	maxText    = 160
	maxName    = 80
	maxSubject = 50
	maxPath    = 200
	maxMessage = 1000
)

// literal returns v on one line: strings in quotes, objects and lists as YAML flow.
func literal(v any) safe {
	switch v.(type) {
	case map[string]any, []any:
		f := flow{most: math.MaxInt}
		f.write("", v, "")
		return safetext.Join(f.tokens, " ")
	}
	return jsonText(v)
}

func jsonText(v any) safe {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return clean(strconv.Quote(fmt.Sprint(v)))
	}
	return clean(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// value returns v on one line, shortened unless whole is set.
func value(v any, whole bool) safe {
	if v == nil {
		return clean("(absent)")
	}
	return shorten(literal(v), limit(whole, maxText))
}

// limit returns most, and no limit if whole is set.
func limit(whole bool, most int) int {
	if whole {
		return math.MaxInt
	}
	return most
}

// shorten cuts a text and adds its size in bytes.
func shorten(s safe, columns int) safe {
	if short := s.Cut(columns); short != s {
		return safetext.F("%s (%d bytes)", short, len(s.String()))
	}
	return s
}

// leadIn is how many equal characters are shown around a difference.
const leadIn = 16

// pair returns two values that differ on one line each, shortened unless whole is set.
func pair(before, after any, whole bool) (safe, safe) {
	return apart(literal(before), literal(after), limit(whole, maxText))
}

// apart shortens two texts that differ to about columns: first their equal ends, then the
// middle, so that the first and the last difference stay visible.
func apart(a, b safe, columns int) (safe, safe) {
	if a.Width() <= columns && b.Width() <= columns {
		return a, b
	}
	x, y := []rune(a.String()), []rune(b.String())
	head, tail := sharedEnds(x, y)
	return inside(a, head, tail, columns), inside(b, head, tail, columns)
}

// sharedEnds counts the runes or lines that two texts share at their start and end.
func sharedEnds[T comparable](x, y []T) (head, tail int) {
	short := min(len(x), len(y))
	for head < short && x[head] == y[head] {
		head++
	}
	for tail < short-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	return head, tail
}

// inside returns a text without its equal ends.
func inside(whole safe, head, tail, columns int) safe {
	start, end := "", ""
	from, to := 0, utf8.RuneCountInString(whole.String())
	if head > 2*leadIn {
		start, from = "…", head-leadIn
	}
	if tail > 2*leadIn {
		end, to = "…", to-tail+leadIn
	}
	s := whole.Slice(from, to)
	if s.Width() > columns {
		s = safetext.F("%s%s", s.Cut(columns/2), strings.TrimPrefix(s.CutLeft(columns/2).String(), "…"))
	}
	if s = safetext.F("%s%s%s", start, s, end); s == whole {
		return s
	}
	return safetext.F("%s (%d bytes)", s, len(whole.String()))
}

// safe is escaped text. Printers accept no other.
type safe = safetext.Text

type markup = safetext.Markdown

func clean(s string) safe { return safetext.Clean(s) }

// Clean escapes a text from outside for a line of a terminal or a log.
func Clean(s string) string { return clean(s).Guarded().String() }

// CleanJSON replaces every invisible character of a JSON text with its escape.
func CleanJSON(text []byte) string { return safetext.CleanJSON(text).String() }

// named returns KIND/NAME, shortened, and its project of many.
func named(k kind.Key) safe {
	return inProject(safetext.F("%s/%s", k.Kind, k.Name).Cut(maxPath), k.Project)
}

// inProject adds the project to a name; an empty one adds nothing.
func inProject(name safe, project string) safe {
	if project == "" {
		return name
	}
	return safetext.F("%s in %s", name, clean(project).CutLeft(maxPath))
}

func namesOf(keys []kind.Key) []safe {
	names := make([]safe, len(keys))
	for i, k := range keys {
		names[i] = named(k)
	}
	return names
}

// titled returns "KIND NAME", shortened, and its project of many.
func titled(k kind.Key) safe {
	return inProject(safetext.F("%s %s", k.Kind, k.Name).Cut(maxPath), k.Project)
}

// message escapes and shortens a sentence from outside.
func message(s string) safe { return shorten(clean(s), maxMessage) }
