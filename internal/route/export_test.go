package route

import "slices"

// Plain reports whether requests are served alike under every reading.
func (w Winners) Plain() bool {
	return w[0] == nil || !slices.ContainsFunc(w[1:], func(l *Location) bool { return l.Behaviour != w[0].Behaviour })
}

// Classes returns the classes that have requests, by host, and then by pattern. A host has at most one for each
// pattern that matches its requests, and all others have one for the rest.
func (m *Map) Classes() (out []Class) {
	for _, host := range m.hosts {
		t := m.tree(host, nil)
		out = append(out, t.classes(host, m.nodes(host, t))...)
	}
	return out
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
