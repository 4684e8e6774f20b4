package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// What the page shows of one text, in columns; of one value and of the body of a
// request, in lines. What goes beyond is counted.
const (
	maxHTMLText  = 8000
	maxHTMLLines = 200
	maxHTMLBody  = 400
)

// htmlRoom is what the page shows of one value: columns of a text, and lines.
type htmlRoom struct{ text, lines int }

// room is what the page shows of a row's values: those of the first two risks whole.
func (r row) room() htmlRoom {
	if r.whole() {
		return htmlRoom{math.MaxInt, math.MaxInt}
	}
	return htmlRoom{maxHTMLText, maxHTMLLines}
}

// htmlDiff is a table of changes, with two values side by side.
type htmlDiff struct {
	Caption safe
	Columns htmlColumns
	Rows    []htmlRow
}

// htmlColumns are the heads of its columns; the class says them where a narrow
// screen leaves no room for heads.
type htmlColumns struct{ Class, Path, Before, After, Why safe }

type htmlRow struct {
	Mark    htmlMark
	Why, At safe
	// Path is in parts, between which a line may break.
	Path []safe
	// Said stands in place of the values.
	Said          safe
	Before, After htmlCell
	Cause         safe
	Alarm         bool
}

// htmlMark is a sign with its look, and its name for who can't see it.
type htmlMark struct{ Class, Sign, Name safe }

// lookOf is a mark as the page has it.
func lookOf(m mark) htmlMark {
	switch m {
	case markAdd:
		return htmlMark{"add", "+", "added"}
	case markChange:
		return htmlMark{"edit", "~", "changed"}
	case markRemove:
		return htmlMark{"cut", "−", "removed"}
	case markDrift:
		return htmlMark{"alarm", "!~", "not as applied"}
	case markLost:
		return htmlMark{"alarm", "!−", "would be lost"}
	case markConflict:
		return htmlMark{"alarm", "!!", "conflict"}
	case markOnce:
		return htmlMark{"once", "!", "once"}
	case markBlocked:
		return htmlMark{"stop", "×", "blocked"}
	case markLater:
		return htmlMark{"once", ">", "not now"}
	case markSame:
	}
	return htmlMark{"plain", "=", "as it is"}
}

// htmlCell is one side of a change.
type htmlCell struct {
	// Words say in short what the lines are.
	Words safe
	Lines []htmlLine
	Rest  safe
}

// htmlLine is a line of a value; its class says how it compares with the other
// side: same, diff, or pad where that one has no such line.
type htmlLine struct {
	Class, Text safe
	// Parts are there in place of the text where words of it differ.
	Parts []htmlPart
}

// htmlPart is a piece of a line, with what differs marked.
type htmlPart struct {
	Text      safe
	Gone, New bool
}

// diffRowView is a row with its values side by side.
func diffRowView(kindName string, r row) htmlRow {
	v := htmlRow{Mark: lookOf(r.mark), Why: cut(clean(string(r.why)), maxName), Path: breakable(r.path), Cause: r.cause, Alarm: r.alarm}
	if r.line > 0 {
		v.At = "line " + number(r.line)
	}
	if r.risk.Grave() {
		v.At = join(filled(v.At, clean(r.risk.Meaning())), " · ")
	}
	switch {
	case r.moved:
		v.Said = r.after
	case r.live != nil && r.desired != nil:
		v.Before, v.After = sides(r.live, r.desired, r.room())
	case r.live != nil:
		v.Before = alone(kindName, string(r.path), r.live, r.room())
	case r.desired != nil:
		v.After = alone(kindName, string(r.path), r.desired, r.room())
	}
	return v
}

// breakable are the parts of a path, each with the point that ends it.
func breakable(path safe) []safe {
	parts := kind.PathParts(string(path))
	out := make([]safe, 0, len(parts))
	for _, part := range parts {
		end := min(len(part)+1, len(path))
		out, path = append(out, path[:end]), path[end:]
	}
	return out
}

// alone is a value of a field without another side: in the words that its
// schema has for it, above all that they and the path leave out.
func alone(kindName, path string, v any, room htmlRoom) htmlCell {
	words, rest, ok := summed(kindName, path, v)
	c := htmlCell{Words: words}
	switch {
	case ok && rest == nil:
		return c
	case !tall(rest) || width(literal(rest)) <= maxInline:
		c.Lines = []htmlLine{plainLine(shorten(literal(rest), room.text))}
		return c
	}
	lines := valueLines(rest)
	for _, line := range lines[:min(len(lines), room.lines)] {
		c.Lines = append(c.Lines, plainLine(shorten(line.text, room.text)))
	}
	if len(lines) > room.lines {
		c.Rest = moreLines(len(lines) - room.lines)
	}
	return c
}

func plainLine(s safe) htmlLine { return htmlLine{Class: "diff", Text: s} }

func moreLines(n int) safe { return "… and " + count(n, "more line") }

// tall reports whether a value is better read on several lines.
func tall(v any) bool {
	switch t := v.(type) {
	case map[string]any:
		return len(t) > 0
	case []any:
		return len(t) > 0
	case string:
		return strings.Contains(strings.TrimSuffix(t, "\n"), "\n")
	}
	return false
}

// valueLines is the text of a value.
func valueLines(v any) []textLine {
	var t objectText
	switch v := v.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(v) {
			t.value(0, flowText(k)+": ", v[k])
		}
	case []any:
		for _, e := range v {
			t.element(0, e)
		}
	default:
		t.value(0, "", v)
	}
	return t.lines
}

// sides are two values with what differs marked: words of short texts, and
// lines of all else.
func sides(before, after any, room htmlRoom) (a, b htmlCell) {
	switch {
	case before == nil && after == nil:
		return a, b
	case before == nil:
		return a, alone("", "", after, room)
	case after == nil:
		return alone("", "", before, room), b
	case !tall(before) && !tall(after):
		x, y := apart(literal(before), literal(after), room.text)
		left, right := wordsOf(x, y)
		return htmlCell{Lines: []htmlLine{left}}, htmlCell{Lines: []htmlLine{right}}
	}
	changes := compareLines(valueLines(before), valueLines(after))
	for i, c := range changes {
		if i == room.lines {
			a.Rest = moreLines(len(changes) - i)
			b.Rest = a.Rest
			break
		}
		left, right := besideLine(c, room.text)
		a.Lines, b.Lines = append(a.Lines, left), append(b.Lines, right)
	}
	return a, b
}

// besideLine is a line of a comparison on both sides; where only one has it, the
// other has room.
func besideLine(c lineChange, columns int) (a, b htmlLine) {
	a, b = htmlLine{Class: "pad"}, htmlLine{Class: "pad"}
	switch {
	case c.same():
		a = htmlLine{Class: "same", Text: shorten(c.before.text, columns)}
		return a, a
	case c.after == nil:
		a = plainLine(shorten(c.before.text, columns))
	case c.before == nil:
		b = plainLine(shorten(c.after.text, columns))
	default:
		return wordsOf(apart(c.before.text, c.after.text, columns))
	}
	return a, b
}

// wordsOf are two lines with the words marked that differ.
func wordsOf(before, after safe) (a, b htmlLine) {
	x, y, ok := intraline(before, after)
	if !ok {
		x, y, ok = middle(before, after)
	}
	if !ok {
		return plainLine(before), plainLine(after)
	}
	a, b = htmlLine{Class: "diff"}, htmlLine{Class: "diff"}
	for _, p := range x {
		a.Parts = append(a.Parts, htmlPart{Text: p.text, Gone: p.differs})
	}
	for _, p := range y {
		b.Parts = append(b.Parts, htmlPart{Text: p.text, New: p.differs})
	}
	return a, b
}

// middle marks what is between the common start and end of texts that are too
// long to compare by word.
func middle(before, after safe) (a, b []part, ok bool) {
	x, y := []rune(string(before)), []rune(string(after))
	if max(len(x), len(y)) <= maxIntraline {
		return nil, nil, false
	}
	start, end, short := 0, 0, min(len(x), len(y))
	for start < short && x[start] == y[start] {
		start++
	}
	for end < short-start && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	split := func(r []rune) []part {
		parts := []part{{safe(r[:start]), false}, {safe(r[start : len(r)-end]), true}, {safe(r[len(r)-end:]), false}}
		kept := parts[:0]
		for _, p := range parts {
			if p.text != "" {
				kept = append(kept, p)
			}
		}
		return kept
	}
	return split(x), split(y), 3*(start+end) >= max(len(x), len(y))
}

// htmlBody is what a request holds.
type htmlBody struct {
	Of    safe
	Lines []safe
	Rest  safe
}

// bodyView is the body of a request as it is sent, laid out.
func bodyView(r *plan.Request) *htmlBody {
	if r == nil || len(r.Body) == 0 || string(r.Body) == "null" {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, r.Body, "", "  "); err != nil {
		return nil
	}
	var lines []safe
	for line := range strings.Lines(CleanJSON(text.Bytes())) {
		lines = append(lines, shorten(clean(strings.TrimSuffix(line, "\n")), maxHTMLText))
	}
	v := &htmlBody{Of: cut(clean(r.ContentType), maxName) + ", " + count(len(r.Body), "byte")}
	v.Lines = lines[:min(len(lines), maxHTMLBody)]
	if len(lines) > maxHTMLBody {
		v.Rest = moreLines(len(lines) - maxHTMLBody)
	}
	return v
}
