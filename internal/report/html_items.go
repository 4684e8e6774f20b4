package report

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
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
	if i.page.many && !i.group.many() && i.item.Request != nil {
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
