package routing

import "strings"

// Hidden are locations that answer no request if the first one in the list that matches does, because By takes all
// of theirs.
type Hidden struct {
	By        *Location
	Locations []*Location
}

// Hidden returns the locations that hide others, in the order of the list. It ignores others with the same path and
// host. If the longest path or host wins, no location hides another.
func (c *Config) Hidden() (all []Hidden) {
	c.indexed.Do(c.index)
	trees, firsts := map[string]tree{}, map[string][]*Location{}
	for host := range c.hosts {
		trees[host], firsts[host] = c.firstOf(host)
	}
	hidden := make([][]*Location, len(c.Locations))
	for i := range c.Locations {
		l, widest := &c.Locations[i], c.Locations[i]
		if !l.isClear() { // it matches at most what begins like it
			start, _, _ := strings.Cut(l.Path, "*")
			widest.Path = start + "*"
		}
		if !widest.isClear() {
			continue
		}
		n := newNode(widest.Path)
		var by *Location
		for _, host := range append([]string{"", l.Host}, wider(l.Host)...) {
			if t := trees[host]; t != nil {
				by = earlier(by, firsts[host][t.over(&n)])
			}
		}
		if by != nil && by.hides(l) {
			hidden[by.Index] = append(hidden[by.Index], l)
		}
	}
	for i, list := range hidden {
		if list != nil {
			all = append(all, Hidden{&c.Locations[i], list})
		}
	}
	return all
}

// firstOf returns the paths of the locations of a host, and the first location in the list that matches each.
func (c *Config) firstOf(host string) (tree, []*Location) {
	var nodes []node
	for _, l := range c.hosts[host] {
		if l.isClear() {
			nodes = append(nodes, newNode(l.Path, party{Location: l}))
		}
	}
	t := newTree(nodes)
	first := make([]*Location, len(t))
	for i := 1; i < len(t); i++ {
		first[i] = first[t[i].parent]
		for _, p := range t[i].own {
			first[i] = earlier(first[i], p.Location)
		}
	}
	return t, first
}

// hides reports whether the location stands before another one, which has another path or host.
func (l *Location) hides(other *Location) bool {
	return l.Index < other.Index && (l.Path != other.Path || l.Host != other.Host)
}

// earlier returns the one of two locations that stands first in the list; either may be nil.
func earlier(a, b *Location) *Location {
	if a == nil || b != nil && b.Index < a.Index {
		return b
	}
	return a
}
