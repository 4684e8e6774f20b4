package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// The most columns of a text, and the most lines of a value and of a request body. The page
// counts the rest.
const (
	maxHTMLText  = 8000
	maxHTMLLines = 200
	maxHTMLBody  = 400
)

// Limits of a whole page. Of more than maxHTMLObjects objects, equal changes are one, and no body is shown. Once the
// details of objects have maxHTMLDetails bytes, the rest are lines.
const (
	maxUnfoldedObjects = 40
	maxHTMLObjects     = 1000
	maxHTMLDetails     = 8 << 20
	maxHTMLFindings    = 1000
)

// htmlDiff is a table of changes, with two values side by side. Class names the sides: live, happened,
// offline or sent.
// New is set for a new object, which has no live side.
type htmlDiff struct {
	Class   string
	Caption safe
	Rows    []row
	New     bool
}

// htmlCell is one side of a change.
type htmlCell struct {
	// Words describe the value.
	Words, Rest string
	Lines       []htmlLine
}

// htmlLine is a line of a value. Class is same, diff, or pad if only the other side has a line.
type htmlLine struct {
	Class string
	Text  safe
	// Parts replace Text if they differ in words. New marks the right side.
	Parts []part
	New   bool
}

// At returns the line of a change in the manifest; empty if unknown.
func (r row) At() string {
	if r.line == 0 {
		return ""
	}
	return safetext.F("line %d", r.line).String()
}

// Cells returns the two sides of a change.
func (r row) Cells() (c struct{ Before, After htmlCell }) {
	switch {
	case r.from != nil && r.to != nil:
		c.Before, c.After = sides(r.from, r.to, r.whole())
	case r.from != nil:
		c.Before = alone(r.of, r.from, r.whole())
	case r.to != nil:
		c.After = alone(r.of, r.to, r.whole())
	}
	c.Before.Words = cmp.Or(c.Before.Words, inTime(r.from, r.fromUnit))
	c.After.Words = cmp.Or(c.After.Words, inTime(r.to, r.toUnit))
	return c
}

var faultWords = map[merge.Fault]safe{merge.NotRemoved: clean("not removed"), merge.Altered: clean("not sent")}

// mismatchView compares what apply sent with what the server returned; nil if they are equal.
func mismatchView(o apply.Outcome) *htmlDiff {
	if len(o.Mismatches) == 0 {
		return nil
	}
	d := &htmlDiff{Class: "sent", Caption: safetext.F("What the server did not keep of %s", named(o.Key))}
	for _, m := range o.Mismatches {
		d.Rows = append(d.Rows, row{
			reason: reason{Mark: markChange, Cause: cmp.Or(faultWords[m.Fault], message(m.Hint))}, Path: clean(m.Path).Cut(maxPath), from: m.Sent, to: m.Returned,
		})
	}
	return d
}

// breakable returns the parts of a path, each with its final dot.
func breakable(path safe) []safe {
	text := path.String()
	var out []safe
	for _, part := range kind.PathParts(text) {
		end := min(len(part)+1, len(text))
		out, text = append(out, clean(text[:end])), text[end:]
	}
	return out
}

// alone returns a value without another side: in the words of its schema, then the rest.
func alone(of subject, v any, whole bool) htmlCell {
	words, rest, ok := summed(of, v)
	c := htmlCell{Words: words.String()}
	if ok && rest == nil {
		return c
	}
	lines := valueLines(rest)
	if !tall(rest) || literal(rest).Width() <= maxInline {
		lines = []textLine{{text: literal(rest)}}
	}
	most := limit(whole, maxHTMLLines)
	for _, line := range lines[:min(len(lines), most)] {
		c.Lines = append(c.Lines, htmlLine{Class: "diff", Text: shorten(line.text, limit(whole, maxHTMLText))})
	}
	c.Rest = moreLines(len(lines) - most)
	return c
}

func moreLines(n int) string {
	if n <= 0 {
		return ""
	}
	return safetext.F("… and %s", safetext.Count(n, "more line")).String()
}

// tall reports whether a value needs several lines.
func tall(v any) bool {
	text, _ := v.(string)
	return hasMembers(v) || strings.Contains(strings.TrimSuffix(text, "\n"), "\n")
}

// sides returns two values with their different words or lines marked.
func sides(before, after any, whole bool) (a, b htmlCell) {
	columns, most := limit(whole, maxHTMLText), limit(whole, maxHTMLLines)
	if !tall(before) && !tall(after) {
		left, right := wordsOf(apart(literal(before), literal(after), columns))
		return htmlCell{Lines: []htmlLine{left}}, htmlCell{Lines: []htmlLine{right}}
	}
	changes := compareLines(valueLines(before), valueLines(after))
	for _, c := range changes[:min(len(changes), most)] {
		left, right := besideLine(c, columns)
		a.Lines, b.Lines = append(a.Lines, left), append(b.Lines, right)
	}
	a.Rest = moreLines(len(changes) - most)
	b.Rest = a.Rest
	return a, b
}

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

// wordsOf returns two lines with their different words marked.
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

// middle marks the difference in texts that are too long to compare by word.
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
