package route

import "strings"

// Readings returns all readings.
func Readings() []Reading { return []Reading{FirstInList, LongestPath, LongestHost} }

// Facets returns all facets of locations, and SiteFacets those of sites.
func Facets() []Facet {
	all := make([]Facet, facets)
	for f := range facets {
		all[f] = f
	}
	return all
}

// SiteFacets returns all facets of sites.
func SiteFacets() []SiteFacet {
	all := make([]SiteFacet, siteFacets)
	for f := range siteFacets {
		all[f] = f
	}
	return all
}

// Matching returns the locations that match a request, in the order of the list, and those that it is not known of.
func (s *Site) Matching(r Request) (matching, unclear []*Location) {
	for i := range s.Locations {
		l := &s.Locations[i]
		path, domain := newNode(l.Path), strings.TrimPrefix(l.Host, "*")
		switch {
		case !l.clear():
			unclear = append(unclear, l)
		case l.Host != "" && l.Host != r.Host && (domain == l.Host || !strings.HasSuffix(r.Host, domain)):
		case path.stem == r.Path || path.covers(r.Path):
			matching = append(matching, l)
		}
	}
	return matching, unclear
}

// Select returns which of the locations that match a request serves it under each reading.
func Select(matching []*Location) (w Winners) {
	for _, l := range matching {
		w.join(Winners{l, l, l})
	}
	return w
}
