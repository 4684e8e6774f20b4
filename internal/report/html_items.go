package report

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// htmlItem is one object of a plan.
type htmlItem struct {
	ID, Link       safe
	Mark           htmlMark
	Op, Kind, Name safe
	Why            safe
	Headline       safe
	Place          safe
	Open           bool
	Leads          []htmlLead
	Diff           *htmlDiff
	Notes          []htmlText
	Request        *htmlBody
}

// htmlEntry is where an object stands in a page. What the page says of it is made
// when its turn comes: all of that together would be larger than the page.
type htmlEntry struct {
	ID              safe
	Open            bool
	item            *plan.Item
	opts            Options
	columns         htmlColumns
	place, priority int
}

// View is all that the page says of the object.
func (e htmlEntry) View() htmlItem {
	v := itemView(*e.item, e.opts, e.columns)
	v.ID, v.Link, v.Open = e.ID, "#"+e.ID, e.Open
	return v
}

// htmlLead is what happens to an object as a whole.
type htmlLead struct {
	Mark        htmlMark
	Why         safe
	Text, Value safe
	Cause       safe
	Alarm       bool
}

// htmlFilter is a group of boxes to tick.
type htmlFilter struct {
	Name, By safe
	Choices  []htmlChoice
}

type htmlChoice struct {
	Class, Value, Name safe
	Number             int
}

// maxOpen is how many objects are unfolded, the most important first.
const maxOpen = 40

// items adds the objects for which there is anything to say, and returns the
// address of each in the page.
func (p *htmlPage) items(pl *plan.Plan, opts Options) map[kind.Key]safe {
	taken := map[safe]bool{}
	columns := htmlColumns{"live", "Field", "Live", "Git", "Cause"}
	if pl.Offline {
		columns = htmlColumns{"offline", "Field", "Base", "Head", "Cause"}
	}
	links := map[kind.Key]safe{}
	for i := range pl.Items {
		item := &pl.Items[i]
		if hidden(*item, opts) {
			continue
		}
		id := anchor(item.Key, i, taken)
		if links[item.Key] == "" {
			links[item.Key] = "#" + id
		}
		g := group{item: *item, rank: priority(*item, itemRows(*item, opts))}
		p.Items = append(p.Items, htmlEntry{ID: id, item: item, opts: opts, columns: columns, place: g.place(), priority: g.rank})
	}
	slices.SortStableFunc(p.Items, func(a, b htmlEntry) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.priority, b.priority))
	})
	for i := range p.Items {
		p.Items[i].Open = i < maxOpen
	}
	p.Many = len(p.Items) > maxOpen
	p.ItemsOf = count(len(p.Items), "object")
	if len(p.Items) < len(pl.Items) {
		p.ItemsOf = number(len(p.Items)) + " of " + count(len(pl.Items), "object")
	}
	p.filters(pl, opts)
	return links
}

// anchor is the address of an object: its key where that can stand in a link as
// it is, else its number. No two are the same.
func anchor(k kind.Key, i int, taken map[safe]bool) safe {
	id := named(k)
	if taken[id] || !addressable(k.Kind) || !addressable(k.Name) {
		id = "object-" + number(i+1)
	}
	taken[id] = true
	return id
}

// addressable reports whether a text means itself in an address.
func addressable(s string) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
	return s != "" && len(s) <= maxName && strings.Trim(s, literals) == ""
}

func itemView(item plan.Item, opts Options, columns htmlColumns) htmlItem {
	rows := itemRows(item, opts)
	v := htmlItem{
		Op: opValue(item), Kind: kindValue(item), Name: cut(clean(item.Name), maxPath),
		Why: cut(clean(string(item.Cause)), maxName), Headline: headline(item, rows), Place: source(item),
		Request: bodyView(item.Request),
	}
	v.Mark = opMark(item.Op)
	leads := len(opRows(item))
	for _, r := range rows[:leads] {
		lead := htmlLead{Mark: lookOf(r.mark), Why: v.Why, Text: r.path, Value: r.before + r.after, Cause: r.cause, Alarm: r.alarm}
		v.Leads = append(v.Leads, lead)
	}
	if mentioned(item) {
		v.Leads = append(v.Leads, htmlLead{Mark: lookOf(markSame), Why: v.Why, Text: mention(item)})
	}
	if len(rows) > leads {
		v.Diff = &htmlDiff{Caption: "What differs in " + titled(item.Key), Columns: columns}
		for _, r := range rows[leads:] {
			v.Diff.Rows = append(v.Diff.Rows, diffRowView(item.Kind, r))
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return r.alarm }); i >= leads && item.Op == plan.Patch {
			v.Mark = lookOf(rows[i].mark)
		}
	}
	if !mentioned(item) {
		for _, n := range itemNotes(item) {
			text := htmlText{Text: n.text}
			if n.fix {
				text.Class = "fix"
			}
			v.Notes = append(v.Notes, text)
		}
	}
	return v
}

// opValue and kindValue are what the filters know an object by.
func opValue(item plan.Item) safe { return cut(clean(string(item.Op)), maxName) }

func kindValue(item plan.Item) safe { return cut(clean(item.Kind), maxPath) }

// opMark is the sign of what happens to an object as a whole.
func opMark(op plan.Op) htmlMark {
	switch op {
	case plan.Create:
		return lookOf(markAdd)
	case plan.Patch:
		return lookOf(markChange)
	case plan.Post:
		return lookOf(markOnce)
	case plan.Delete:
		return lookOf(markRemove)
	case plan.Blocked:
		return lookOf(markBlocked)
	case plan.InFlight, plan.Deferred:
		return lookOf(markLater)
	case plan.None, plan.Kept:
	}
	return lookOf(markSame)
}

const noLink safe = ""

// byFile are the items that have a manifest, by its file and in its order.
func byFile(pl *plan.Plan) map[string][]*plan.Item {
	files := map[string][]*plan.Item{}
	for i := range pl.Items {
		if item := &pl.Items[i]; item.Path != "" {
			files[item.Path] = append(files[item.Path], item)
		}
	}
	for _, items := range files {
		slices.SortStableFunc(items, func(a, b *plan.Item) int { return cmp.Compare(a.Line, b.Line) })
	}
	return files
}

// linkTo is the address of the object in whose manifest a finding is, among those
// of its file; noLink where that is not shown.
func linkTo(items []*plan.Item, links map[kind.Key]safe, f diag.Finding) safe {
	i := sort.Search(len(items), func(i int) bool { return items[i].Line > f.Line })
	if i == 0 {
		return noLink
	}
	return links[items[i-1].Key]
}

// filters offers what the objects differ in.
func (p *htmlPage) filters(pl *plan.Plan, opts Options) {
	var why, ops, kinds htmlTally
	for _, c := range causes(pl, opts) {
		if c.n == 0 {
			continue
		}
		counted := htmlCount{"plain", c.name, c.n}
		if c.alarm {
			counted.Class = "alarm"
		}
		p.Causes = append(p.Causes, counted)
		why = append(why, htmlChoice{counted.Class, clean(string(c.why)), c.name, c.n})
	}
	for _, e := range p.Items {
		ops.add(opValue(*e.item), opName(e.item.Op))
		kinds.add(kindValue(*e.item), kindValue(*e.item))
	}
	for _, f := range []htmlFilter{{"Cause", "why", why}, {"What", "op", ops}, {"Kind", "kind", kinds}} {
		if len(f.Choices) > 1 {
			p.Filters = append(p.Filters, f)
		}
	}
}

// htmlTally counts under names, in the order in which they were met.
type htmlTally []htmlChoice

func (t *htmlTally) add(value, name safe) {
	i := slices.IndexFunc(*t, func(c htmlChoice) bool { return c.Value == value })
	if i < 0 {
		i = len(*t)
		*t = append(*t, htmlChoice{Class: "plain", Value: value, Name: name})
	}
	(*t)[i].Number++
}

// opName is what happens to an object in the words of the filter.
func opName(op plan.Op) safe {
	switch op {
	case plan.Patch:
		return "to change"
	case plan.None:
		return "in sync"
	case plan.Create, plan.Post, plan.Delete, plan.Blocked, plan.InFlight, plan.Deferred, plan.Kept:
		return headlines()[op]
	}
	return clean(string(op))
}
