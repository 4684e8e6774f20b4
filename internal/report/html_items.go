package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// htmlItem is an object in the page, or several of many projects with equal changes. The template calls View for each,
// to save memory.
type htmlItem struct {
	*plan.Item
	// keys has several objects.
	keys    []kind.Key
	ID      safe
	opts    Options
	offline bool
	brief   bool // without the body of the request
	score   *view.Score
	rank    rank
}

func (i htmlItem) factsOf(facts []view.Fact) []view.Fact { return group{keys: i.keys}.factsOf(facts) }

// Title is the name after the kind.
func (i htmlItem) Title() safe {
	switch g := (group{item: *i.Item, keys: i.keys}); {
	case !g.many():
		return inProject(clean(i.Name).Cut(maxPath), i.Project)
	case g.sameName():
		return safetext.F("%s in %s", clean(i.keys[0].Name).Cut(maxPath), g.where())
	default:
		return safetext.Count(len(i.keys), "object")
	}
}

// htmlObject is an object with its details. It is unfolded if it is Open.
type htmlObject struct {
	htmlItem
	Open bool
}

// htmlNamed is an object without its details. Grave are the fields of grave changes and removals, Names those of
// several objects, and Whys the cause of each line.
type htmlNamed struct {
	htmlItem
	Mark            mark
	Headline, Names safe
	Grave           []safe
	Whys            string
}

// Line returns the object as one line.
func (i htmlItem) Line() htmlNamed {
	item, rows := *i.Item, itemRows(*i.Item, i.opts)
	n := htmlNamed{htmlItem: i, Mark: opOf(item).mark, Headline: headline(item, rows)}
	var whys []string
	for _, r := range rows {
		whys = append(whys, string(r.Why))
		if view.MustShow(r.risk) || r.stops || r.Mark == markRemove {
			n.Grave = append(n.Grave, safetext.F("%s %s", string(r.Mark), wholeSentence(r)))
			i.score.Show(i.factsOf(r.facts)...)
		}
	}
	for _, note := range itemNotes(item, i.opts) {
		if view.MustShow(note.risk) {
			n.Grave = append(n.Grave, note.Text)
			i.score.Show(i.factsOf(note.facts)...)
		}
	}
	n.Whys = strings.Join(whys, " ")
	if i.keys != nil {
		n.Names = safetext.Join(group{item: item, keys: i.keys}.names(), ", ")
	}
	return n
}

// Place is where the manifest is; empty for several objects.
func (i htmlItem) Place() safe {
	if i.keys != nil {
		return safe{}
	}
	return source(*i.Item)
}

// Body is that of the request; nil for several objects, and if there are many others.
func (i htmlItem) Body() *htmlBody {
	if i.keys != nil || i.brief {
		return nil
	}
	return bodyView(i.Request)
}

// Many is the number of several objects, and 0 for one.
func (i htmlItem) Many() int { return len(i.keys) }

// items adds the visible objects and their anchors. Equal changes of many projects, or of many objects, are one object.
func (p *htmlPage) items(pl *plan.Plan, opts Options) {
	shown, taken := 0, map[safe]bool{}
	many := sum(pl.Items, func(item plan.Item) int { return oneIf(!hidden(item, opts)) }) > maxHTMLObjects
	add := func(i htmlItem, keys ...kind.Key) {
		i.opts, i.offline, i.ID, i.brief, i.score = opts, pl.Offline, anchor(*i.Item), many, p.score
		if i.ID.Empty() || taken[i.ID] {
			i.ID = safetext.F("object-%d", shown+1)
		}
		taken[i.ID] = true
		for _, k := range keys {
			if p.links[k].Empty() {
				p.links[k] = safetext.F("#%s", i.ID)
			}
		}
		shown += len(keys)
		p.Items = append(p.Items, i)
	}
	if len(p.Projects) > 0 || many {
		for _, g := range groups(pl, opts) {
			keys := g.keys
			if keys == nil {
				keys = []kind.Key{g.item.Key}
			}
			add(htmlItem{Item: &g.item, keys: g.keys, rank: g.rank}, keys...)
		}
	} else {
		for i := range pl.Items {
			if item := &pl.Items[i]; !hidden(*item, opts) {
				add(htmlItem{Item: item, rank: priority(*item, itemRows(*item, opts))}, item.Key)
			}
		}
	}
	slices.SortStableFunc(p.Items, func(a, b htmlItem) int { return cmp.Compare(a.rank, b.rank) })
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
