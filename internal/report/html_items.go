package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// htmlItem is an object in the page, or several with equal changes.
type htmlItem struct {
	object
	ID   safe
	page *htmlPage
	// Open is set if the details are unfolded.
	Open bool
}

// Diff is the table of what differs in the object; nil if nothing does.
func (i htmlItem) Diff() *htmlDiff {
	class := "live"
	switch {
	case len(i.Changes) == 0:
		return nil
	case i.Happened:
		class = "happened"
	case i.page.Plan.Offline:
		class = "offline"
	}
	return &htmlDiff{class, safetext.F("What differs in %s", i.Title), i.Changes, i.Mark == markAdd}
}

// Grave returns the rows about the grave changes and the removals of an object without details.
func (i htmlItem) Grave() []row {
	return slices.DeleteFunc(i.lines(), func(r row) bool {
		return !mustShow(r.facts) && !r.stops && r.Mark != markRemove
	})
}

// Whys has the cause of each line.
func (i htmlItem) Whys() string {
	var whys []string
	for _, r := range i.rows() {
		whys = append(whys, string(r.Why))
	}
	return strings.Join(whys, " ")
}

// Names are those of several objects.
func (i htmlItem) Names() safe { return safetext.Join(i.names(), ", ") }

// Many is the number of several objects, and 0 for one.
func (i htmlItem) Many() int { return i.many() }

// Kind is that of the object.
func (i htmlItem) Kind() safe { return clean(i.Key.Kind).Cut(maxPath) }

// Name is the name after the kind.
func (i htmlItem) Name() safe {
	switch {
	case i.many() == 0:
		return inProject(clean(i.Key.Name).Cut(maxPath), i.Key.Project)
	case i.sameName():
		return safetext.F("%s in %s", clean(i.Key.Name).Cut(maxPath), i.where())
	}
	return safetext.Count(len(i.Keys), "object")
}

// Left says that the page leaves out the body of the request; empty if it does not.
func (i htmlItem) Left() safe {
	if !i.page.many || i.Request == nil {
		return safe{}
	}
	return safetext.F("body of the request: %s; -o json has it", safetext.Count(len(i.Request.Body), "byte"))
}

// Body is that of the request; nil for several objects, and if there are many others.
func (i htmlItem) Body() *htmlBody {
	if i.page.many {
		return nil
	}
	return bodyView(i.Request)
}

// items adds the visible objects and their anchors. Equal changes of many projects, or of many objects, are one object.
func (p *htmlPage) items(pl *plan.Plan, opts Options) {
	shown, taken := 0, map[safe]bool{}
	opts.Brief = false
	objects := shownObjects(pl, opts, len(p.Projects) > 0)
	if p.many = len(objects) > maxHTMLObjects; p.many {
		objects = shownObjects(pl, opts, true)
	}
	for n, o := range objects {
		i := htmlItem{object: o, ID: anchor(o.Key), page: p, Open: n < maxUnfoldedObjects}
		if i.ID.Empty() || taken[i.ID] {
			i.ID = safetext.F("object-%d", shown+1)
		}
		taken[i.ID] = true
		keys := o.Keys
		if keys == nil {
			keys = []kind.Key{o.Key}
		}
		for _, k := range keys {
			if p.links[k].Empty() {
				p.links[k] = safetext.F("#%s", i.ID)
			}
		}
		shown += len(keys)
		p.Items = append(p.Items, i)
	}
	p.ItemsOf = safetext.Count(shown, "object")
	if shown < len(pl.Items) {
		p.ItemsOf = safetext.F("%d of %s", shown, safetext.Count(len(pl.Items), "object"))
	}
	p.filters(pl, opts)
}

// anchor is the ID of an object that is the same in every page with it; empty if its name does not fit in one.
func anchor(key kind.Key) safe {
	if !addressable(key.Kind) || !addressable(key.Name) || !addressable(strings.ReplaceAll(key.Project+"-", "/", "-")) {
		return safe{}
	}
	project := clean(key.Project)
	key.Project = ""
	return safetext.Join(safetext.Filled(project, named(key)), "/")
}

// addressable reports whether a text needs no escape in a URL.
func addressable(s string) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
	return s != "" && len(s) <= maxName && strings.Trim(s, literals) == ""
}

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
	side := &c.After
	if r.After.Empty() {
		side = &c.Before
	}
	side.Lines = view.Wrap(r.details, markdownColumns, r.whole)
	return c
}

func wholePart(text safe) []part {
	if text.Empty() {
		return nil
	}
	return []part{{text, false}}
}

// Names returns the list elements that a change is about, if they are many.
func (r row) Names() string { return safetext.Join(r.names, ", ").String() }

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
