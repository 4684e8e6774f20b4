package route

import (
	"cmp"
	"slices"
)

// Change is what a change of a site does to requests. It is empty only if every request is served as before,
// under every reading.
type Change struct {
	// Site are the facets that differ for all requests.
	Site []SiteFacet
	// Classes are served in another way under some reading: first those that nothing serves any more, then
	// those that something serves for the first time.
	Classes []Class
	// Unclear are the paths of locations that can't be matched with requests. If any location of the site
	// differs, they are listed, because what they serve may have changed.
	Unclear []string
}

// Compare returns the Change from one site to another.
func Compare(before, after *Site) Change {
	var c Change
	for f := range siteFacets {
		if before.Facets[f] != after.Facets[f] {
			c.Site = append(c.Site, f)
		}
	}
	for _, class := range NewMap(before, after).Classes() {
		if class.differs() {
			c.Classes = append(c.Classes, class)
		}
	}
	slices.SortStableFunc(c.Classes, func(a, b Class) int { return cmp.Compare(a.severity(), b.severity()) })
	if slices.EqualFunc(before.Locations, after.Locations, func(a, b Location) bool { return a == b }) {
		return c
	}
	for _, s := range []*Site{before, after} {
		for i := range s.Locations {
			if l := &s.Locations[i]; !l.clear() {
				c.Unclear = append(c.Unclear, l.Path)
			}
		}
	}
	slices.Sort(c.Unclear)
	c.Unclear = slices.Compact(c.Unclear)
	return c
}

func (c Class) severity() int {
	switch {
	case c.After[0] == nil:
		return 0
	case c.Before[0] == nil:
		return 1
	}
	return 2
}

func (c Class) differs() bool {
	for r := range readings {
		before, after := c.Before[r], c.After[r]
		if (before == nil) != (after == nil) || before != nil && before.Behaviour != after.Behaviour {
			return true
		}
	}
	return false
}

// Facets returns the facets that differ under a reading; none if nothing serves the requests before or after.
func (c Class) Facets(r Reading) (differ []Facet) {
	before, after := c.Before[r], c.After[r]
	if before == nil || after == nil {
		return nil
	}
	for f := range facets {
		if before.Behaviour[f] != after.Behaviour[f] {
			differ = append(differ, f)
		}
	}
	return differ
}
