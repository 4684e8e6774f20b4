package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

type htmlItem struct {
	ID, Link        safe
	Mark            look
	Op, Kind, Name  safe
	Why             safe
	Headline, Place safe
	Open            bool
	Leads           []htmlRow
	Diff            *htmlDiff
	Notes           []note
	Request         *htmlBody
}

// htmlEntry is an object in the page. The template calls View for each, to save memory.
type htmlEntry struct {
	ID      safe
	Open    bool
	item    *plan.Item
	opts    Options
	columns htmlColumns
	group   group
}

type htmlFilter struct {
	Name, By string
	Choices  []tally
}

// maxOpen is how many objects are unfolded.
const maxOpen = 40

// items adds the visible objects and their anchors.
func (p *htmlPage) items(pl *plan.Plan, opts Options) {
	taken := map[safe]bool{}
	columns := htmlColumns{"live", "Field", "Live", "Git", "Cause"}
	if pl.Offline {
		columns = htmlColumns{"offline", "Field", "Base", "Head", "Cause"}
	}
	p.links = map[kind.Key]safe{}
	for i := range pl.Items {
		item := &pl.Items[i]
		if hidden(*item, opts) {
			continue
		}
		id := named(item.Key)
		if taken[id] || !addressable(item.Kind) || !addressable(item.Name) {
			id = safetext.F("object-%d", i+1)
		}
		taken[id] = true
		if p.links[item.Key].Empty() {
			p.links[item.Key] = safetext.F("#%s", id)
		}
		g := group{item: plan.Item{Op: item.Op}, rank: priority(*item, itemRows(*item, opts))}
		p.Items = append(p.Items, htmlEntry{ID: id, item: item, opts: opts, columns: columns, group: g})
	}
	slices.SortStableFunc(p.Items, func(a, b htmlEntry) int {
		return cmp.Or(cmp.Compare(a.group.place(), b.group.place()), cmp.Compare(a.group.rank, b.group.rank))
	})
	for i := range p.Items {
		p.Items[i].Open = i < maxOpen
	}
	p.Many = len(p.Items) > maxOpen
	p.ItemsOf = safetext.Count(len(p.Items), "object")
	if len(p.Items) < len(pl.Items) {
		p.ItemsOf = safetext.F("%d of %s", len(p.Items), safetext.Count(len(pl.Items), "object"))
	}
	p.filters(pl, opts)
}

// addressable reports whether a text needs no escape in a URL.
func addressable(s string) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
	return s != "" && len(s) <= maxName && strings.Trim(s, literals) == ""
}

// View returns all that the page shows about the object.
func (e htmlEntry) View() htmlItem {
	item, rows := *e.item, itemRows(*e.item, e.opts)
	v := htmlItem{
		ID: e.ID, Link: safetext.F("#%s", e.ID), Open: e.Open, Mark: tableOfMarks[opMark(item)], Why: clean(string(item.Cause)).Cut(maxName),
		Op: opValue(item), Kind: clean(item.Kind).Cut(maxPath), Name: clean(item.Name).Cut(maxPath),
		Headline: headline(item, rows), Place: source(item), Request: bodyView(item.Request),
	}
	leads := len(opRows(item))
	for _, r := range rows[:leads] {
		lead := htmlRow{Mark: tableOfMarks[r.mark], Path: []safe{r.path}, Said: r.before.String() + r.after.String(), Cause: r.cause.String(), Alarm: r.alarm}
		v.Leads = append(v.Leads, lead)
	}
	if mentioned(item) {
		v.Leads = append(v.Leads, htmlRow{Mark: tableOfMarks[markSame], Path: []safe{mention(item)}})
	} else {
		v.Notes = itemNotes(item)
	}
	if len(rows) > leads {
		v.Diff = &htmlDiff{Caption: safetext.F("What differs in %s", titled(item.Key)), Columns: e.columns}
		for _, r := range rows[leads:] {
			v.Diff.Rows = append(v.Diff.Rows, rowView(item.Kind, r))
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return r.alarm }); i >= leads && item.Op == plan.Patch {
			v.Mark = tableOfMarks[rows[i].mark]
		}
	}
	return v
}

// opValue is the operation as the filter's value.
func opValue(item plan.Item) safe { return clean(string(item.Op)).Cut(maxName) }

// opMark is the mark of an object as a whole.
func opMark(item plan.Item) mark {
	if rows := opRows(item); len(rows) > 0 {
		return rows[0].mark
	}
	if item.Op == plan.Patch {
		return markChange
	}
	return markSame
}

func (p *htmlPage) filters(pl *plan.Plan, opts Options) {
	p.Causes = causes(pl, opts)
	filters := []htmlFilter{{"Cause", "why", p.Causes}, {Name: "What", By: "op"}, {Name: "Kind", By: "kind"}}
	for _, e := range p.Items {
		kind := clean(e.item.Kind).Cut(maxPath).String()
		filters[1].count(opValue(*e.item).String(), headlines()[e.item.Op])
		filters[2].count(kind, kind)
	}
	p.Filters = slices.DeleteFunc(filters, func(f htmlFilter) bool { return len(f.Choices) < 2 })
}

// count counts a value; choices are in the order of their first one.
func (f *htmlFilter) count(value, name string) {
	i := slices.IndexFunc(f.Choices, func(t tally) bool { return t.Value == value })
	if i < 0 {
		i = len(f.Choices)
		f.Choices = append(f.Choices, tally{Class: "plain", Value: value, Name: name})
	}
	f.Choices[i].N++
}

type htmlOutcomes struct {
	Of        safe
	Next      []safe
	List      []htmlOutcome
	Untouched safe
}

type htmlOutcome struct {
	Look                             look
	Status, Link, Name, Message, Fix safe
	Mismatch                         *htmlDiff
}

// outcomes adds the outcome of each object; what needs a person comes first.
func (p *htmlPage) outcomes(doc Document) {
	out := &htmlOutcomes{Of: applySummary(doc.Apply), Next: nextSteps(doc.Apply)}
	p.Heading, p.Lede, p.Sub, p.Outcomes = applyTitle(doc), out.Of, safe{}, out
	p.CountsOf, p.Counts = "Outcomes", nil
	counts, untouchedOnes := map[apply.Status]int{}, 0
	order := byUrgency()
	for _, o := range slices.SortedStableFunc(slices.Values(doc.Apply.Outcomes), func(a, b apply.Outcome) int {
		return cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status))
	}) {
		counts[o.Status]++
		if untouched(o) {
			untouchedOnes++
			continue
		}
		out.List = append(out.List, outcomeView(o, p.links[o.Key]))
	}
	for _, s := range statuses() {
		p.Counts = append(p.Counts, tally{Class: statusStyles[s].countClass, Name: string(s), N: counts[s]})
	}
	withoutColour(p.Counts)
	if untouchedOnes > 0 {
		out.Untouched = safetext.F("%s equal to git: nothing was sent.", countIs(untouchedOnes, "object"))
	}
}

func outcomeView(o apply.Outcome, link safe) htmlOutcome {
	v := htmlOutcome{
		Look: statusStyles[o.Status].look, Status: message(string(o.Status)), Link: link, Name: named(o.Key),
		Message: message(o.Message), Fix: message(o.Fix),
	}
	if len(o.Mismatches) == 0 {
		return v
	}
	v.Mismatch = &htmlDiff{Caption: safetext.F("What the server did not keep of %s", v.Name), Columns: htmlColumns{"sent", "Field", "Sent", "Returned", "Hint"}}
	for _, m := range o.Mismatches {
		r := htmlRow{Mark: tableOfMarks[markDrift], Path: breakable(clean(m.Path).Cut(maxPath)), Cause: message(m.Hint).String()}
		r.Before, r.After = sides(m.Sent, m.Returned, row{}.room())
		v.Mismatch.Rows = append(v.Mismatch.Rows, r)
	}
	return v
}
