package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
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

// room is what the page shows of a row's values: grave ones whole.
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

// htmlColumns are its heads; the class names them on narrow screens.
type htmlColumns struct{ Class, Path, Before, After, Why string }

type htmlRow struct {
	Mark look
	Why  safe
	// Path is in parts, between which a line may break.
	Path []safe
	// Said is there in place of the two values. These are strings because the template
	// asks which are empty.
	At, Said, Cause string
	Before, After   htmlCell
	Alarm           bool
}

// htmlCell is one side of a change.
type htmlCell struct {
	// Words say in short what the lines are.
	Words, Rest string
	Lines       []htmlLine
}

// htmlLine is a line of a value; its class is same, diff, or pad for a line of the other side.
type htmlLine struct {
	Class string
	Text  safe
	// Parts replace the text where words in it differ; New is for the right side.
	Parts []part
	New   bool
}

func rowView(kindName string, r row) htmlRow {
	v := htmlRow{Mark: tableOfMarks[r.mark], Why: clean(string(r.why)).Cut(maxName), Path: breakable(r.path), Cause: r.cause.String(), Alarm: r.alarm}
	if r.line > 0 {
		v.At = safetext.F("line %d", r.line).String()
	}
	if r.risk.Grave() {
		v.At = safetext.Join(safetext.Filled(clean(v.At), clean(r.risk.Meaning())), " · ").String()
	}
	switch {
	case r.moved:
		v.Said = r.after.String()
	case r.live != nil && r.desired != nil:
		v.Before, v.After = sides(r.live, r.desired, r.room())
	case r.live != nil:
		v.Before = alone(kindName, r.path.String(), r.live, r.room())
	case r.desired != nil:
		v.After = alone(kindName, r.path.String(), r.desired, r.room())
	}
	return v
}

// breakable are the parts of a path, each with the point that ends it.
func breakable(path safe) []safe {
	text := path.String()
	var out []safe
	for _, part := range kind.PathParts(text) {
		end := min(len(part)+1, len(text))
		out, text = append(out, clean(text[:end])), text[end:]
	}
	return out
}

// alone is a value without another side: in words of its schema, and the rest.
func alone(kindName, path string, v any, room htmlRoom) htmlCell {
	words, rest, ok := summed(kindName, path, v)
	c := htmlCell{Words: words.String()}
	switch {
	case ok && rest == nil:
		return c
	case !tall(rest) || literal(rest).Width() <= maxInline:
		c.Lines = []htmlLine{{Class: "diff", Text: shorten(literal(rest), room.text)}}
		return c
	}
	lines := valueLines(rest)
	for _, line := range lines[:min(len(lines), room.lines)] {
		c.Lines = append(c.Lines, htmlLine{Class: "diff", Text: shorten(line.text, room.text)})
	}
	c.Rest = moreLines(len(lines) - room.lines)
	return c
}

// moreLines counts what is not shown, if anything.
func moreLines(n int) string {
	if n <= 0 {
		return ""
	}
	return safetext.F("… and %s", safetext.Count(n, "more line")).String()
}

// tall reports whether a value is better read on several lines.
func tall(v any) bool {
	text, _ := v.(string)
	return hasMembers(v) || strings.Contains(strings.TrimSuffix(text, "\n"), "\n")
}

// sides are two values with the words or lines marked that differ.
func sides(before, after any, room htmlRoom) (a, b htmlCell) {
	switch {
	case before == nil && after == nil:
		return a, b
	case before == nil:
		return a, alone("", "", after, room)
	case after == nil:
		return alone("", "", before, room), b
	case !tall(before) && !tall(after):
		left, right := wordsOf(apart(literal(before), literal(after), room.text))
		return htmlCell{Lines: []htmlLine{left}}, htmlCell{Lines: []htmlLine{right}}
	}
	changes := compareLines(valueLines(before), valueLines(after))
	for _, c := range changes[:min(len(changes), room.lines)] {
		left, right := besideLine(c, room.text)
		a.Lines, b.Lines = append(a.Lines, left), append(b.Lines, right)
	}
	a.Rest = moreLines(len(changes) - room.lines)
	b.Rest = a.Rest
	return a, b
}

// besideLine is a line of a comparison on both sides.
func besideLine(c lineChange, columns int) (a, b htmlLine) {
	a, b = htmlLine{Class: "pad"}, htmlLine{Class: "pad"}
	switch {
	case c.same():
		a = htmlLine{Class: "same", Text: shorten(c.before.text, columns)}
		return a, a
	case c.after == nil:
		a = htmlLine{Class: "diff", Text: shorten(c.before.text, columns)}
	case c.before == nil:
		b = htmlLine{Class: "diff", Text: shorten(c.after.text, columns)}
	default:
		return wordsOf(apart(c.before.text, c.after.text, columns))
	}
	return a, b
}

// wordsOf are two lines with the words marked that differ.
func wordsOf(before, after safe) (a, b htmlLine) {
	a, b = htmlLine{Class: "diff"}, htmlLine{Class: "diff"}
	x, y, ok := intraline(before, after)
	if !ok {
		x, y, ok = middle(before, after)
	}
	if !ok {
		a.Text, b.Text = before, after
		return a, b
	}
	a.Parts, b.Parts, b.New = x, y, true
	return a, b
}

// middle marks what differs in texts that are too long to compare by word.
func middle(before, after safe) (a, b []part, ok bool) {
	x, y := []rune(before.String()), []rune(after.String())
	long := max(len(x), len(y))
	if long <= maxIntraline {
		return nil, nil, false
	}
	head, tail := sharedEnds(x, y)
	split := func(t safe, n int) []part {
		var parts []part
		for i, text := range []safe{t.Slice(0, head), t.Slice(head, n-tail), t.Slice(n-tail, n)} {
			if !text.Empty() {
				parts = append(parts, part{text, i == 1})
			}
		}
		return parts
	}
	return split(before, len(x)), split(after, len(y)), 3*(head+tail) >= long
}

type htmlBody struct {
	Of    safe
	Lines []safe
	Rest  string
}

// bodyView is the body of a request as it is sent, laid out.
func bodyView(r *plan.Request) *htmlBody {
	var text bytes.Buffer
	if r == nil || string(r.Body) == "null" || json.Indent(&text, r.Body, "", "  ") != nil {
		return nil
	}
	v := &htmlBody{Of: safetext.F("%s, %s", clean(r.ContentType).Cut(maxName), safetext.Count(len(r.Body), "byte"))}
	for line := range strings.Lines(safetext.CleanJSON(text.Bytes()).String()) {
		v.Lines = append(v.Lines, shorten(clean(strings.TrimSuffix(line, "\n")), maxHTMLText))
	}
	v.Rest = moreLines(len(v.Lines) - maxHTMLBody)
	v.Lines = v.Lines[:min(len(v.Lines), maxHTMLBody)]
	return v
}
