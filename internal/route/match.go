package route

import (
	"slices"
	"strings"
)

// Readings returns all readings.
func Readings() []Reading { return []Reading{FirstInList, LongestPath, LongestHost} }

// Matching returns the locations that match a request, in the order of the list, and those that may match: the
// platform does not document their patterns.
func (s *Site) Matching(r Request) (matching, unclear []*Location) {
	s.indexed.Do(s.makeIndex)
	matching = append(s.hosts[""].find(r.Path), s.hosts[r.Host].find(r.Path)...)
	for i, c := range r.Host {
		if c == '.' {
			matching = append(matching, s.hosts["*"+r.Host[i:]].find(r.Path)...)
		}
	}
	return inOrder(matching), inOrder(s.unclear.find(r.Path))
}

// inOrder returns locations in the order of the list, each once.
func inOrder(list []*Location) []*Location {
	slices.SortFunc(list, func(a, b *Location) int { return a.Index - b.Index })
	return slices.Compact(list)
}

func (s *Site) makeIndex() {
	hosts := map[string]map[string][]*Location{}
	for i := range s.Locations {
		if l := &s.Locations[i]; l.clear() {
			if hosts[l.Host] == nil {
				hosts[l.Host] = map[string][]*Location{}
			}
			hosts[l.Host][l.Path] = append(hosts[l.Host][l.Path], l)
		}
	}
	s.hosts, s.unclear = map[string]patterns{}, unclear(s.Locations)
	for host, locations := range hosts {
		s.hosts[host] = newPatterns(locations)
	}
}

// unclear returns the locations that are not clear, by what they match at most: all paths with the beginning of
// theirs, as it is written or in its normal form.
func unclear(locations []Location) patterns {
	most := map[string][]*Location{}
	for i := range locations {
		if l := &locations[i]; !l.clear() {
			start, _, _ := strings.Cut(l.Path, "*")
			most[start+"*"] = append(most[start+"*"], l)
			most[Normal(start)+"*"] = append(most[Normal(start)+"*"], l)
		}
	}
	return newPatterns(most)
}

// patterns finds locations by their patterns.
type patterns struct {
	tree      tree
	locations map[string][]*Location
}

func newPatterns(locations map[string][]*Location) patterns {
	t := root()
	for pattern := range locations {
		t = append(t, newNode(pattern))
	}
	return patterns{t.grown(), locations}
}

// find returns the locations whose patterns match a path, in any order, and some perhaps twice.
func (p patterns) find(path string) (found []*Location) {
	if p.tree == nil {
		return nil
	}
	for at := p.tree.find(path); at > 0; at = p.tree[at].parent {
		found = append(found, p.locations[p.tree[at].pattern]...)
	}
	return found
}

// MayServe reports whether the location is for requests of a host, or whether that is not documented.
func (l *Location) MayServe(host string) bool {
	domain, below := strings.CutPrefix(l.Host, "*")
	return l.Host == "" || l.Host == host || below && strings.HasSuffix(host, domain) || strings.Contains(domain, "*")
}

// Purged returns the path of a purge that covers everything that the location serves.
func (l *Location) Purged() string {
	path, _, isPrefix := strings.Cut(l.Path, "*")
	switch {
	case !strings.HasPrefix(path, "/"):
		return "/*"
	case isPrefix:
		path += "*"
	}
	return path
}

// Select returns which of the locations that match a request serves it under each reading.
func Select(matching []*Location) (w Winners) {
	for _, l := range matching {
		w.join(Winners{l, l, l})
	}
	return w
}
