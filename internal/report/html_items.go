package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// htmlItem is an object in the page. The template calls View for each, to save memory.
type htmlItem struct {
	*plan.Item
	ID          safe
	opts        Options
	offline     bool
	place, rank rank
}

// htmlView is all that the page shows about an object.
type htmlView struct {
	Mark     mark
	Headline safe
	// Leads are rows about the object as a whole.
	Leads []row
	Diff  *htmlDiff
	Notes []note
}

type htmlFilter struct {
	Name, By string
	Choices  []tally
}

// items adds the visible objects and their anchors.
func (p *htmlPage) items(pl *plan.Plan, opts Options) {
	taken := map[safe]bool{}
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
		rank := priority(*item, itemRows(*item, opts))
		p.Items = append(p.Items, htmlItem{item, id, opts, pl.Offline, placeOf(item.Op, rank), rank})
	}
	slices.SortStableFunc(p.Items, func(a, b htmlItem) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.rank, b.rank)) })
	p.ItemsOf = safetext.Count(len(p.Items), "object")
	if len(p.Items) < len(pl.Items) {
		p.ItemsOf = safetext.F("%d of %s", len(p.Items), safetext.Count(len(pl.Items), "object"))
	}
	p.filters()
}

// addressable reports whether a text needs no escape in a URL.
func addressable(s string) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
	return s != "" && len(s) <= maxName && strings.Trim(s, literals) == ""
}

// View makes the view of an object.
func (i htmlItem) View() htmlView {
	item, rows := *i.Item, itemRows(*i.Item, i.opts)
	leads := opRows(item)
	v := htmlView{Mark: markSame, Headline: headline(item, rows), Leads: leads}
	if len(leads) > 0 {
		v.Mark = leads[0].Mark
	} else if item.Op == plan.Patch {
		v.Mark = markChange
	}
	if mentioned(item) {
		v.Leads = []row{{reason: reason{Mark: markSame}, Path: mention(item)}}
	} else {
		v.Notes = itemNotes(item)
	}
	if rows = rows[len(leads):]; len(rows) > 0 {
		v.Diff = &htmlDiff{"live", safetext.F("What differs in %s", titled(item.Key)), rows}
		if i.offline {
			v.Diff.Class = "offline"
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return r.Alarm }); i >= 0 && item.Op == plan.Patch {
			v.Mark = rows[i].Mark
		}
	}
	return v
}

func (p *htmlPage) filters() {
	filters := []htmlFilter{{"Cause", "why", p.Causes}, {Name: "What", By: "op"}, {Name: "Kind", By: "kind"}}
	for _, i := range p.Items {
		kind := clean(i.Kind).Cut(maxPath).String()
		filters[1].count(clean(string(i.Op)).String(), headlines()[i.Op])
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

func (p *htmlPage) list(name, noun string, lines []safe) {
	if len(lines) > 0 {
		p.Lists = append(p.Lists, htmlList{name, safetext.Count(len(lines), noun), lines})
	}
}
