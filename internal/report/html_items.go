package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
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
	rank    rank
}

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

// Place is where the manifest is; empty for several objects.
func (i htmlItem) Place() safe {
	if i.keys != nil {
		return safe{}
	}
	return source(*i.Item)
}

// Body is that of the request; nil for several objects.
func (i htmlItem) Body() *htmlBody {
	if i.keys != nil {
		return nil
	}
	return bodyView(i.Request)
}

// items adds the visible objects and their anchors. Equal changes of many projects are one object.
func (p *htmlPage) items(pl *plan.Plan, opts Options) {
	shown, taken := 0, map[safe]bool{}
	add := func(i htmlItem, keys ...kind.Key) {
		i.opts, i.offline, i.ID = opts, pl.Offline, anchor(*i.Item)
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
	if len(p.Projects) > 0 {
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
