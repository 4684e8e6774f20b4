package route

import (
	"cmp"
	"maps"
	"slices"
	"sort"
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
	// Host is the longest host of a location that matches: a name, "*.a.b" for the hosts below a.b, or "" for
	// any. Requests that a location of a longer host matches are in a class of that host.
	Host string
	// Pattern is the longest path that matches, or "" for none. Except are the patterns below it that have
	// classes of their own.
	Pattern string
	Except  []string
	// Example is a path that no other class of the host has.
	Example       string
	Before, After Winners
	// Elsewhere says that locations of their own match all of these requests that are for a hostname of the CDN or
	// for a host that a location names. Whether other hosts reach the CDN, the platform does not document.
	Elsewhere bool
	// Apart says that only one of the sites serves the host, because the other does not name it.
	Apart bool
	// Of a class that nothing serves on one side, Part says that narrower locations of that side serve some paths or
	// hosts, and Unless has the paths of unclear ones that may serve it.
	Part   bool
	Unless []string
}

// Precedences returns the names of the readings in trueup.yaml.
func Precedences() []string { return []string{"first-in-list", "longest-path", "longest-host"} }

// ReadingsOf returns the reading of a name, or all.
func ReadingsOf(precedence string) []Reading {
	if at := slices.Index(Precedences(), precedence); at >= 0 {
		return []Reading{Reading(at)}
	}
	return Readings()
}

// Winners has the location that serves a request under each reading, or nil for none.
type Winners [readings]*Location

// Under returns the winners if only some readings are possible: the others then have the winner of the first.
func (w Winners) Under(possible []Reading) Winners {
	for r := range w {
		if !slices.Contains(possible, Reading(r)) && len(possible) > 0 {
			w[r] = w[possible[0]]
		}
	}
	return w
}

// join lets others compete with the winners.
func (w *Winners) join(others Winners) {
	for r, l := range others {
		if best := w[r]; best == nil || l != nil && l != best && Reading(r).order(l, best) < 0 {
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
	if strings.IndexByte(pattern, '*') >= 0 {
		return 2 * (len(pattern) - 1)
	}
	return 2*len(pattern) + 1
}

// node is a pattern. Its parent is the longest other one that matches all it does.
type node struct {
	pattern, stem string
	// prefix says that the pattern matches what is below the stem, and path that the stem itself is a path.
	prefix, path  bool
	parent        int
	before, after Winners
}

func (n *node) covers(stem string) bool { return n.prefix && strings.HasPrefix(stem, n.stem) }

func (n *node) join(other *node) {
	n.before.join(other.before)
	n.after.join(other.after)
}

// tree has a root, which matches everything, then the other nodes by stem, a prefix before the exact path.
type tree []node

func newNode(path string) node {
	stem, prefix := strings.CutSuffix(path, "*")
	return node{pattern: path, stem: stem, prefix: prefix, path: Normal(stem) == stem}
}

// grown returns the tree of nodes in any order, after the root. It reuses their memory.
func (t tree) grown() tree {
	slices.SortFunc(t[1:], func(a, b node) int {
		return cmp.Or(strings.Compare(a.stem, b.stem), strings.Compare(b.pattern, a.pattern))
	})
	out := t[:1]
	for i := 1; i < len(t); i++ {
		n, last := &t[i], &out[len(out)-1]
		if len(out) > 1 && last.pattern == n.pattern {
			last.join(n)
			continue
		}
		out = append(out, *n)
	}
	for i := 1; i < len(out); i++ {
		n := &out[i]
		for n.parent = i - 1; !out[n.parent].covers(n.stem); {
			n.parent = out[n.parent].parent
		}
		n.join(&out[n.parent])
	}
	return out
}

// root returns a tree of a root alone.
func root() tree { return tree{{prefix: true, parent: -1}} }

// below returns the nodes whose stems begin with a stem.
func (t tree) below(stem string) tree {
	from := 1 + sort.Search(len(t)-1, func(i int) bool { return t[i+1].stem >= stem })
	to := from + sort.Search(len(t)-from, func(i int) bool { return !strings.HasPrefix(t[from+i].stem, stem) })
	return t[from:to]
}

// over returns the longest node that matches all that a node of another tree does.
func (t tree) over(n *node) *node {
	at := t.find(cmp.Or(n.stem, "/"))
	if n.prefix && !t[at].prefix {
		at = t[at].parent
	}
	return &t[at]
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

// example returns a path of the node, or "" if it has none of the allowed characters.
func (t tree) example(at int) string {
	n := &t[at]
	if n.path && (at+1 == len(t) || t[at+1].stem != n.stem) {
		return n.stem
	}
	return t.exampleBelow(at, cmp.Or(n.stem, "/"))
}

func (t tree) exampleBelow(at int, stem string) string {
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
			if found := t.exampleBelow(at, next); found != "" {
				return found
			}
		}
	}
	return ""
}

func (t tree) owns(at int, path string) bool { return t.find(path) == at && Normal(path) == path }

// Map has the classes of all requests. It is not for use by several goroutines at once.
type Map struct {
	hosts []string
	// own has the tree of the locations of each host.
	own map[string]tree
	// apart are hosts with classes of their own for all paths, and the side that does not serve them.
	apart map[string]side
	// reach are the other hosts that locations or a site name.
	reach []string
	// known are the classes that Find was asked for. The last host that it was asked for is in the tree of from.
	known      map[string]*known
	last, from string
	// unclear are the locations of each site that can't be matched with requests, if any location differs.
	unclear [2]patterns
}

type known struct {
	tree    tree
	classes []Class // one for each node
}

// NewMap returns the classes of two sites, in O(n log n) for n locations.
func NewMap(before, after *Site) *Map {
	m := &Map{own: map[string]tree{"": root()}, apart: map[string]side{}, known: map[string]*known{}}
	differ := !slices.Equal(before.Locations, after.Locations)
	for on, s := range []*Site{before, after} {
		if differ {
			m.unclear[on] = unclear(s.Locations)
		}
		for i := range s.Locations {
			l := &s.Locations[i]
			if m.own[l.Host] == nil {
				m.own[l.Host] = root()
			}
			if !l.clear() {
				continue
			}
			n := newNode(l.Path)
			if side(on) == onBefore {
				n.before = Winners{l, l, l}
			} else {
				n.after = Winners{l, l, l}
			}
			m.own[l.Host] = append(m.own[l.Host], n)
		}
	}
	for host, t := range m.own {
		m.own[host] = t.grown()
	}
	m.setApart(before, after)
	m.hosts = slices.Sorted(maps.Keys(m.own))
	return m
}

// tree returns the nodes of the requests that locations of the host match, among those of wider hosts; of a host
// that is apart, those of all its requests. It reuses the memory of another tree.
func (m *Map) tree(host string, reuse tree) tree {
	own := m.own[host]
	if host == "" {
		return own
	}
	t := append(reuse[:0], own...)
	lacking, isApart := m.apart[host]
	for wider := host; wider != ""; {
		wider = m.wider(wider)
		other := m.own[wider]
		if isApart {
			t = append(t, other[1:]...)
			continue
		}
		for i := 1; i < len(own); i++ {
			if n := &own[i]; n.parent == 0 {
				t[i].join(other.over(n))
				if n.prefix {
					t = append(t, other.below(n.stem)...)
				}
			}
		}
	}
	t = t.grown()
	for i := range t {
		switch {
		case isApart && lacking == onBefore:
			t[i].before = Winners{}
		case isApart && lacking == onAfter:
			t[i].after = Winners{}
		}
	}
	return t
}

// maxHost is the greatest length of a host that requests can have, and of "*." above it.
const maxHost = 255

// wider returns the longest "*.a.b" that matches a host and that a location has, or "".
func (m *Map) wider(host string) string {
	name := strings.TrimPrefix(host, "*.")
	for i := 0; i < len(name) && len(host) <= maxHost; i++ {
		if name[i] == '.' && m.own["*"+name[i:]] != nil { // which needs no memory, as adding to a string would
			return "*" + name[i:]
		}
	}
	return ""
}

// Find returns the class of a request. The path must be Normal.
func (m *Map) Find(host, path string) *Class {
	if host != m.last {
		m.last, m.from = host, kind.HostKey(host)
		if m.own[m.from] == nil || strings.HasPrefix(m.from, "*") {
			m.from = m.wider(m.from)
		}
	}
	for host = m.from; ; host = m.wider(host) {
		k := m.known[host]
		if k == nil {
			t := m.tree(host, nil)
			all := make([]int, len(t))
			for i := range all {
				all[i] = i
			}
			k = &known{t, t.classes(host, all)}
			m.known[host] = k
		}
		if at := k.tree.find(path); at > 0 || m.isWhole(host) {
			return &k.classes[at]
		}
	}
}

// MayDiffer reports whether a request may match a location whose pattern is not documented, so that its class does
// not say all.
func (m *Map) MayDiffer(r Request) bool {
	return len(m.unclear[onBefore].find(r.Path)) > 0 || len(m.unclear[onAfter].find(r.Path)) > 0
}

// isWhole reports whether the tree of a host has all of its requests.
func (m *Map) isWhole(host string) bool {
	_, isApart := m.apart[host]
	return isApart || host == ""
}

// nodes returns those of the tree of a host that have requests, with the root only if the tree is whole.
func (m *Map) nodes(host string, t tree) (nodes []int) {
	for i := range t {
		if (i > 0 || m.isWhole(host)) && t.example(i) != "" {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// classes returns the classes of nodes.
func (t tree) classes(host string, nodes []int) []Class {
	classes, places := make([]Class, len(nodes)), make(map[int]int, len(nodes))
	for i, node := range nodes {
		n := &t[node]
		places[node], classes[i] = i, Class{Host: host, Pattern: n.pattern, Example: t.example(node), Before: n.before, After: n.after}
	}
	for i := 1; i < len(t) && len(nodes) > 0; i++ {
		if at, listed := places[t[i].parent]; listed {
			classes[at].Except = append(classes[at].Except, t[i].pattern)
		}
	}
	return classes
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
