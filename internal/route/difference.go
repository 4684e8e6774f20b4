package route

import (
	"cmp"
	"slices"
)

// Change is what a change of a site does to requests. If it has neither Site nor Classes nor Unclear, every
// request is served as before, under every reading.
type Change struct {
	// Site are the facets that differ for all requests.
	Site []SiteFacet
	// Classes are served in another way under some reading: first those that nothing serves any more, then
	// those that something serves for the first time. More counts those that are too many to list, and Of all
	// classes of the two sites.
	Classes  []Class
	More, Of int
	// Same are the first classes that are served as before.
	Same []Class
	// Unclear are the paths of locations that can't be matched with requests. If any location of the site
	// differs, they are listed, because what they serve may have changed.
	Unclear []string
}

// maxListed is how many classes of each Severity a Change lists.
const maxListed = 5000

// Compare returns the Change from one site to another, under the possible readings, or under all.
func Compare(before, after *Site, possible ...Reading) Change {
	var c Change
	for f := range siteFacets {
		if before.Facets[f] != after.Facets[f] {
			c.Site = append(c.Site, f)
		}
	}
	before = before.renamed(after)
	m := NewMap(before, after)
	var found [Unchanged + 1][]Class
	var memory tree
	for _, host := range m.hosts {
		t := m.tree(host, memory)
		all := m.nodes(host, t)
		for i, class := range t.classes(host, all) {
			class.Before, class.After = class.Before.Under(possible), class.After.Under(possible)
			s := class.Severity()
			if len(found[s]) < maxListed {
				m.qualify(&class, t, &t[all[i]])
				found[s] = append(found[s], class)
			} else if s != Unchanged {
				c.More++
			}
		}
		if c.Of += len(all); host != "" {
			memory = t
		}
	}
	c.Classes, c.Same = slices.Concat(found[:Unchanged]...), found[Unchanged]
	for _, unclear := range m.unclear {
		for _, list := range unclear.locations {
			for _, l := range list {
				c.Unclear = append(c.Unclear, l.Path)
			}
		}
	}
	slices.Sort(c.Unclear)
	c.Unclear = slices.Compact(c.Unclear)
	return c
}

// renamed returns a site with the hostname of another one, if it changes, so that requests for the hostname are
// compared with each other. If locations for further hosts match one of the two names, it returns the site as it is.
func (s *Site) renamed(after *Site) *Site {
	from, to := s.Facets[Hostname].Text, after.Facets[Hostname].Text
	matchesOther := func(own string) func(Location) bool {
		return func(l Location) bool {
			return l.Host != "" && l.Host != own && (l.MayServe(from) || l.MayServe(to))
		}
	}
	if from == to || from == "" || to == "" || slices.ContainsFunc(s.Locations, matchesOther(from)) ||
		slices.ContainsFunc(after.Locations, matchesOther(to)) {
		return s
	}
	r := &Site{Locations: slices.Clone(s.Locations), Facets: s.Facets}
	r.Facets[Hostname].Text = to
	for i := range r.Locations {
		if l := &r.Locations[i]; l.Host == from {
			l.Host, l.Behaviour[Host] = to, Value{Text: to}
		}
	}
	return r
}

// qualify says of a class that changes, which is a node of a tree, which of its requests may be served otherwise.
func (m *Map) qualify(c *Class, t tree, n *node) {
	s := c.Severity()
	if s == Unchanged {
		return
	}
	lacking, isApart := m.apart[c.Host]
	c.Apart = isApart && lacking != onNeither
	c.Elsewhere = c.Host == "" && m.elsewhere(n)
	if s == Otherwise {
		return
	}
	on := onAfter
	if s == Served {
		on = onBefore
	}
	c.Part = m.part(c.Host, t, n, on)
	for _, l := range inOrder(m.unclear[on].find(cmp.Or(n.stem, "/"))) {
		c.Unless = append(c.Unless, l.Path)
	}
}

// Severity is what a change does to the requests of a class.
type Severity uint8

// The severities, the worst first.
const (
	Unserved Severity = iota // nothing serves them any more
	Served                   // something serves them for the first time
	Otherwise
	Unchanged
)

// Severity returns what happens to the requests of the class.
func (c Class) Severity() Severity {
	switch {
	case c.Before[0] != nil && c.After[0] == nil:
		return Unserved
	case c.Before[0] == nil && c.After[0] != nil:
		return Served
	}
	for r := range c.Before {
		if !c.Before[r].Alike(c.After[r]) {
			return Otherwise
		}
	}
	return Unchanged
}

// Certain reports whether no reading serves the requests of the class as before.
func (c Class) Certain() bool {
	for r := range c.Before {
		if c.Before[r].Alike(c.After[r]) {
			return false
		}
	}
	return true
}

// Alike reports whether two locations, or nothing, serve requests in the same way.
func (l *Location) Alike(other *Location) bool {
	return l == other || l != nil && other != nil && l.Behaviour == other.Behaviour
}

// Outcomes groups the readings under which the class is served in the same way, before and after.
func (c Class) Outcomes() (groups [][]Reading) {
	for r := range readings {
		i := slices.IndexFunc(groups, func(of []Reading) bool {
			return c.Before[r].Alike(c.Before[of[0]]) && c.After[r].Alike(c.After[of[0]])
		})
		if i < 0 {
			groups = append(groups, []Reading{r})
		} else {
			groups[i] = append(groups[i], r)
		}
	}
	return groups
}
