package report

import (
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// htmlItem is an object in the page, or several with equal changes.
type htmlItem struct {
	view.ObjectView
	ID   safeText
	page *htmlPageData
	// Open is set if the details are unfolded.
	Open bool
}

// Sides names the two sides of the table of changes: what is live and git, or what happened, or two commits.
func (i htmlItem) Sides() string {
	switch {
	case i.Happened:
		return "happened"
	case i.page.Plan.Offline:
		return "offline"
	}
	return "live"
}

// Grave returns the rows about the grave changes and the removals of an object without details.
func (i htmlItem) Grave() []view.Row {
	return slices.DeleteFunc(i.Lines(), func(r view.Row) bool {
		return !view.MustShowOneOf(r.Facts) && !r.Stops && r.Mark != view.MarkRemove
	})
}

// Whys has the cause of each line.
func (i htmlItem) Whys() string {
	whys := diag.MapList(i.Rows(), func(r view.Row) string { return string(r.Why) })
	return strings.Join(whys, " ")
}

// objects counts the objects.
func (i htmlItem) objects() int { return max(len(i.Keys), 1) }

// Kind is that of the object.
func (i htmlItem) Kind() safeText { return clean(i.Key.Kind).Truncate(view.MaxPath) }

// Name is the name after the kind.
func (i htmlItem) Name() safeText {
	switch {
	case len(i.Keys) == 0:
		return view.WithProject(clean(i.Key.Name).Truncate(view.MaxPath), i.Key.Project)
	case i.SameName():
		return safetext.F("%s in %s", clean(i.Key.Name).Truncate(view.MaxPath), i.Where())
	}
	return safetext.Count(len(i.Keys), "object")
}

// addObjects adds the visible objects and their anchors. Equal changes of many projects, or of many objects, are one object.
func (p *htmlPageData) addObjects(pl *plan.Plan, opts view.TextOptions) {
	shown, taken := 0, map[safeText]bool{}
	opts.Brief = false
	objects := view.ShownObjects(pl, opts, len(p.Projects) > 0)
	if len(objects) > maxHTMLObjects {
		objects = view.ShownObjects(pl, opts, true)
	}
	for n, o := range objects {
		i := htmlItem{ObjectView: o, ID: anchorOf(o.Key), page: p, Open: n < maxUnfoldedObjects}
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
	p.addFilters(pl, opts)
}

// anchorOf is the ID of an object that is the same in every page with it; empty if its name does not fit in one.
func anchorOf(key kind.Key) safeText {
	if !isAddressable(key.Kind) || !isAddressable(key.Name) || !isAddressable(strings.ReplaceAll(key.Project+"-", "/", "-")) {
		return safeText{}
	}
	project := clean(key.Project)
	key.Project = ""
	return safetext.Join(safetext.NonEmpty(project, view.FormatKey(key)), "/")
}

// isAddressable reports whether a text needs no escape in a URL.
func isAddressable(s string) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
	return s != "" && len(s) <= view.MaxName && strings.Trim(s, literals) == ""
}

// Limits of a whole page. Of more than maxHTMLObjects objects, equal changes are one. Once the
// details of objects have maxHTMLDetails bytes, the rest are lines.
const (
	maxUnfoldedObjects = 40
	maxHTMLObjects     = 1000
	maxHTMLDetails     = 8 << 20
	maxHTMLFindings    = 1000
)
