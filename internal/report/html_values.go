package report

import (
	"bytes"
	"encoding/json"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// The most columns of a text of the request map or of a body, and the most lines of a body. The page counts the rest.
const (
	maxHTMLText = 8000
	maxHTMLBody = 400
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

// htmlCell is one side of a change: a value in short, and the lines below it. New marks the right side.
type htmlCell struct {
	Parts []part
	Lines []safe
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
	x, y, ok := differing(r.Before, r.After)
	if !ok {
		x, y = wholePart(r.Before), wholePart(r.After)
	}
	c.Before, c.After = htmlCell{Parts: x}, htmlCell{Parts: y, New: true}
	if len(r.details) > 0 {
		side := &c.After
		if r.After.Empty() {
			side = &c.Before
		}
		side.Lines = view.Wrap(r.details, markdownColumns, r.whole)
	}
	return c
}

func wholePart(text safe) []part {
	if text.Empty() {
		return nil
	}
	return []part{{text, false}}
}

// Names returns the list elements that a change is about, if they are many.
func (r row) Names() string { return safetext.Join(r.names, " ").String() }

// faultWords says what a server did with a value, in a few words.
func faultWords(m apply.Mismatch) safe {
	switch m.Fault {
	case merge.NotRemoved:
		return clean("not removed")
	case merge.Altered:
		return clean("not sent")
	case merge.NotKept:
	}
	return message(m.Hint)
}

// mismatchView compares what apply sent with what the server returned; nil if they are equal.
func mismatchView(o apply.Outcome) *htmlDiff {
	if len(o.Mismatches) == 0 {
		return nil
	}
	d := &htmlDiff{Class: "sent", Caption: safetext.F("What the server did not keep of %s", named(o.Key))}
	for _, m := range o.Mismatches {
		r := row{reason: reason{Mark: markChange, Cause: faultWords(m)}, Path: clean(m.Path).Cut(maxPath)}
		r.Before, r.After = sentAndReturned(m)
		d.Rows = append(d.Rows, r)
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

func moreLines(n int) string {
	if n <= 0 {
		return ""
	}
	return safetext.F("… and %s", safetext.Count(n, "more line")).String()
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
