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

// htmlItem is an object in the page, or several with equal changes. The template calls View, Grave and Body once for each.
type htmlItem struct {
	group
	ID   safe
	page *htmlPage
	// Open is set if the details are unfolded.
	Open bool
}

// htmlView is what the page shows of an object below its headline. Leads are rows about the object as a whole.
type htmlView struct {
	Leads []row
	Diff  *htmlDiff
	Notes []row
}

// View returns all that the page shows of an object, and notes that it does.
func (i htmlItem) View() (v htmlView) {
	if mentioned(i.item) {
		v.Leads = []row{{Why: causeSaid(i.item), reason: reason{Mark: markSame}, Path: mention(i.item, Options{})}}
		return v
	}
	i.page.score.Show(factsIn(i.rows)...)
	changes, leads := changesIn(i.rows), len(opRows(i.item, Options{}))
	v.Leads, v.Notes = changes[:leads], slices.Concat(i.rows[len(changes):], i.members())
	if i.page.many && !i.many() && i.item.Request != nil {
		v.Notes = append(v.Notes, row{Text: safetext.F("body of the request: %s; -o json has it", safetext.Count(len(i.item.Request.Body), "byte"))})
	}
	class := "live"
	switch {
	case i.item.Happened:
		class = "happened"
	case i.page.Plan.Offline:
		class = "offline"
	}
	if changes = changes[leads:]; len(changes) > 0 {
		v.Diff = &htmlDiff{class, safetext.F("What differs in %s", titled(i.item.Key)), changes, i.item.Op == plan.Create && !i.item.Happened}
	}
	return v
}

// Grave returns sentences about the grave changes and the removals of an object without details, and notes that the page shows
// them.
func (i htmlItem) Grave() (sentences []safe) {
	for _, r := range i.rows {
		if mustShow(r.facts) || r.stops || r.Mark == markRemove {
			sentences = append(sentences, safetext.Join(safetext.Filled(clean(string(r.Mark)), wholeSentence(r)), " "))
			i.page.score.Show(r.facts...)
		}
	}
	return sentences
}

// Whys has the cause of each line.
func (i htmlItem) Whys() string {
	var whys []string
	for _, r := range changesIn(i.rows) {
		whys = append(whys, string(r.Why))
	}
	return strings.Join(whys, " ")
}

// Names are those of several objects.
func (i htmlItem) Names() safe { return safetext.Join(i.names(), ", ") }

// Many is the number of several objects, and 0 for one.
func (i htmlItem) Many() int { return len(i.keys) }

// Mark is the sign of what is done with the object.
func (i htmlItem) Mark() mark { return opOf(i.item).mark }

// Kind is that of the object.
func (i htmlItem) Kind() safe { return clean(i.item.Kind).Cut(maxPath) }

// What is the operation, or in drift what happened: several operations undo the same.
func (i htmlItem) What() string {
	if i.item.Happened && !i.item.Failed {
		return opOf(i.item).headline
	}
	if i.item.Waits {
		return "not applied"
	}
	return clean(string(i.item.Op)).String()
}

// Headline counts the changes, or says what is done with the object.
func (i htmlItem) Headline() safe { return headline(i.item, i.rows) }

// Title is the name after the kind.
func (i htmlItem) Title() safe {
	switch {
	case !i.many():
		return inProject(clean(i.item.Name).Cut(maxPath), i.item.Project)
	case i.sameName():
		return safetext.F("%s in %s", clean(i.keys[0].Name).Cut(maxPath), i.where())
	}
	return safetext.Count(len(i.keys), "object")
}

// Place is where the manifest is; empty for several objects.
func (i htmlItem) Place() safe {
	if i.many() {
		return safe{}
	}
	return source(i.item)
}

// Body is that of the request; nil for several objects, and if there are many others.
func (i htmlItem) Body() *htmlBody {
	if i.many() || i.page.many {
		return nil
	}
	return bodyView(i.item.Request)
}

// items adds the visible objects and their anchors. Equal changes of many projects, or of many objects, are one object.
func (p *htmlPage) items(pl *plan.Plan, opts Options) {
	shown, taken := 0, map[safe]bool{}
	p.many = sum(pl.Items, func(item plan.Item) int { return oneIf(!hidden(item, opts)) }) > maxHTMLObjects
	opts.Brief = false
	for n, g := range groups(pl, opts, len(p.Projects) > 0 || p.many) {
		i := htmlItem{group: g, ID: anchor(g.item), page: p, Open: n < maxUnfoldedObjects}
		if i.ID.Empty() || taken[i.ID] {
			i.ID = safetext.F("object-%d", shown+1)
		}
		taken[i.ID] = true
		keys := g.keys
		if !g.many() {
			keys = []kind.Key{g.item.Key}
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
func anchor(item plan.Item) safe {
	if !addressable(item.Kind) || !addressable(item.Name) || !addressable(strings.ReplaceAll(item.Project+"-", "/", "-")) {
		return safe{}
	}
	key := item.Key
	key.Project = ""
	return safetext.Join(safetext.Filled(clean(item.Project), named(key)), "/")
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
