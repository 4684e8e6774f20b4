package route

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/kind"
)

// Reading is a rule by which the platform may select one of several locations that match a request: it
// documents none. Of locations that are equal under a reading, the first in the list serves the request.
type Reading uint8

// The readings. LongestPath prefers the longest path, and then the longest host; LongestHost the other way
// round. What is exact precedes what has a star.
const (
	FirstInList Reading = iota
	LongestPath
	LongestHost
	readings
)

// Class is a set of requests that match the same locations, before and after.
type Class struct {
	// Host is the host of the requests. "*.a.b" are the hosts below a.b, and "" all hosts, without those
	// that have classes of their own.
	Host string
	// Pattern is the longest path that matches, or "" for none. Except are the patterns below it that have
	// classes of their own.
	Pattern string
	Except  []string
	// Example is a path that no other class of the host has.
	Example       string
	Before, After Winners
}

// Winners has the location that serves a request under each reading, or nil for none.
type Winners [readings]*Location

// Plain reports whether requests are served alike under every reading.
func (w Winners) Plain() bool {
	return w[0] == nil || !slices.ContainsFunc(w[1:], func(l *Location) bool { return l.Behaviour != w[0].Behaviour })
}

// add lets the location compete with the winners.
func (w *Winners) add(l *Location) {
	for r, best := range w {
		if best == nil || l != nil && Reading(r).order(l, best) < 0 {
			w[r] = l
		}
	}
}

func (r Reading) order(a, b *Location) int {
	path, host := rank(b.Path)-rank(a.Path), rank(b.Host)-rank(a.Host)
	if r == FirstInList {
		path, host = 0, 0
	}
	if r == LongestHost {
		path, host = host, path
	}
	return cmp.Or(path, host, a.Index-b.Index)
}

// rank returns a greater number for a longer pattern, and an exact one of the same length. A star has no length.
func rank(pattern string) int {
	if stars := strings.Count(pattern, "*"); stars > 0 {
		return 2 * (len(pattern) - stars)
	}
	return 2*len(pattern) + 1
}

// node is a pattern. Its parent is the longest other one that matches all it does.
type node struct {
	pattern, stem string
	prefix        bool
	parent        int
	before, after Winners
}

func (n node) covers(stem string) bool { return n.prefix && strings.HasPrefix(stem, n.stem) }

// tree has the nodes of one host: the root, which matches everything, then the others by stem, a prefix before
// the exact path.
type tree []node

// newTree takes O(n log n) for n locations that match the host.
func newTree(host string, before, after *Site) tree {
	t, places := tree{{prefix: true, parent: -1}}, map[string]int{}
	add := func(s *Site, winners func(*node) *Winners) {
		for i := range s.Locations {
			l := &s.Locations[i]
			if !l.clear() || !hostMatches(l.Host, host) {
				continue
			}
			at, known := places[l.Path]
			if !known {
				at, places[l.Path] = len(t), len(t)
				stem, prefix := strings.CutSuffix(l.Path, "*")
				t = append(t, node{pattern: l.Path, stem: stem, prefix: prefix})
			}
			winners(&t[at]).add(l)
		}
	}
	add(before, func(n *node) *Winners { return &n.before })
	add(after, func(n *node) *Winners { return &n.after })
	slices.SortFunc(t[1:], func(a, b node) int {
		return cmp.Or(strings.Compare(a.stem, b.stem), strings.Compare(b.pattern, a.pattern))
	})
	for i := 1; i < len(t); i++ {
		n := &t[i]
		for n.parent = i - 1; !t[n.parent].covers(n.stem); {
			n.parent = t[n.parent].parent
		}
		for r := range readings {
			n.before.add(t[n.parent].before[r])
			n.after.add(t[n.parent].after[r])
		}
	}
	return t
}

// find returns the longest node that matches a path, in O(log n) and a step for each pattern that matches the
// one before it.
func (t tree) find(path string) int {
	at, exact := slices.BinarySearchFunc(t[1:], path, func(n node, path string) int { return strings.Compare(n.stem, path) })
	for exact && at+2 < len(t) && t[at+2].stem == path {
		at++
	}
	if !exact {
		at--
	}
	for at++; t[at].stem != path && !t[at].covers(path); {
		at = t[at].parent
	}
	return at
}

// allowed are the characters that a Normal path can have.
const allowed = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_./~!$&'()*+,;=:@"

// example returns a path of the node that begins with stem, or "" if no path of the allowed characters does.
func (t tree) example(at int, stem string) string {
	if t.owns(at, stem) {
		return stem
	}
	for _, c := range []byte(allowed) {
		if next := stem + string(c); t.owns(at, next) {
			return next
		}
	}
	for _, c := range []byte(allowed) {
		next := stem + string(c)
		below := t.find(next)
		exact := t[below].parent == at && !t[below].prefix
		dots := below == at && c == '.' // "/a/.." is no Normal path, but "/a/..." is
		if exact || dots {
			if found := t.example(at, next); found != "" {
				return found
			}
		}
	}
	return ""
}

func (t tree) owns(at int, path string) bool { return t.find(path) == at && Normal(path) == path }

// Map has the classes of all requests.
type Map struct {
	hosts   []string
	trees   map[string]tree
	classes map[string][]Class
}

// NewMap returns the classes of two sites. For each host it takes O(n log n) for n locations that match.
func NewMap(before, after *Site) *Map {
	m := &Map{trees: map[string]tree{"": nil}, classes: map[string][]Class{}}
	for _, s := range []*Site{before, after} {
		for _, l := range s.Locations {
			if l.clear() {
				m.trees[l.Host] = nil
			}
		}
	}
	m.hosts = slices.Sorted(maps.Keys(m.trees))
	for _, host := range m.hosts {
		t := newTree(host, before, after)
		classes := make([]Class, len(t))
		for i, n := range t {
			classes[i] = Class{Host: host, Pattern: n.pattern, Example: t.example(i, cmp.Or(n.stem, "/")), Before: n.before, After: n.after}
			if i > 0 {
				classes[n.parent].Except = append(classes[n.parent].Except, n.pattern)
			}
		}
		m.trees[host], m.classes[host] = t, classes
	}
	return m
}

// Find returns the class of a request. The path must be Normal.
func (m *Map) Find(host, path string) *Class {
	host = kind.HostKey(host)
	if _, known := m.trees[host]; !known || strings.HasPrefix(host, "*") {
		host = m.wildcard(host)
	}
	return &m.classes[host][m.trees[host].find(path)]
}

// wildcard returns the longest "*.a.b" that matches a host and has classes of its own, or "".
func (m *Map) wildcard(host string) string {
	for {
		_, parent, below := strings.Cut(strings.TrimPrefix(host, "*."), ".")
		if !below {
			return ""
		}
		host = "*." + parent
		if _, known := m.trees[host]; known {
			return host
		}
	}
}

// Classes returns the classes that have requests, at most one for each pattern of a host and one for the
// rest: by host, and then by pattern.
func (m *Map) Classes() []Class {
	var out []Class
	for _, host := range m.hosts {
		out = append(out, slices.DeleteFunc(slices.Clone(m.classes[host]), func(c Class) bool { return c.Example == "" })...)
	}
	return out
}

// clear reports whether it is known which requests a location matches: its path is a Normal path, or the
// beginning of one and a star, and its host is a name, or a star and a domain.
func (l *Location) clear() bool {
	stem, prefix := strings.CutSuffix(l.Path, "*")
	if prefix {
		stem += "x"
	}
	domain := strings.TrimPrefix(l.Host, "*.")
	return !strings.Contains(stem+domain, "*") && (l.Path == "*" || Normal(stem) == stem)
}

// hostMatches reports whether a pattern matches a host, or all hosts of another pattern.
func hostMatches(pattern, host string) bool {
	domain, below := strings.CutPrefix(pattern, "*")
	return pattern == "" || pattern == host || below && strings.HasSuffix(host, domain)
}
