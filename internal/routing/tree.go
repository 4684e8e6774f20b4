package routing

import (
	"cmp"
	"slices"
	"strings"
)

// party is a location of a CDN on one of the sides that are compared.
type party struct {
	side int
	cdn  *CDN
	*Location
}

// node is a pattern of paths. Its parent is the longest other one that matches all it does.
type node struct {
	pattern, stem string
	// prefix says that the pattern matches what is below the stem, and path that the stem itself is a path.
	prefix, path bool
	parent       int
	own          []party
}

// shown returns the pattern for people: the paths of "*" are those of "/*".
func (n *node) shown() string {
	if n.pattern == "*" {
		return "/*"
	}
	return n.pattern
}

func (n *node) covers(stem string) bool { return n.prefix && strings.HasPrefix(stem, n.stem) }

// tree has a root, which matches everything, then the other nodes by stem, a prefix before the exact path. A parent
// stands before its children.
type tree []node

func newNode(pattern string, own ...party) node {
	stem, prefix := strings.CutSuffix(pattern, "*")
	return node{pattern: pattern, stem: stem, prefix: prefix, path: Normal(stem) == stem, own: own}
}

// newTree returns the tree of nodes in any order.
func newTree(nodes []node) tree {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &nodes[i], &nodes[j]
		return cmp.Or(strings.Compare(a.stem, b.stem), strings.Compare(b.pattern, a.pattern), i-j)
	})
	out := append(make(tree, 0, len(nodes)+1), node{prefix: true, parent: -1})
	for _, at := range order {
		n := nodes[at]
		if last := &out[len(out)-1]; len(out) > 1 && last.pattern == n.pattern {
			last.own = append(last.own, n.own...)
			continue
		}
		for n.parent = len(out) - 1; !out[n.parent].covers(n.stem); {
			n.parent = out[n.parent].parent
		}
		out = append(out, n)
	}
	return out
}

// over returns the longest node that matches all that a node of another tree does.
func (t tree) over(n *node) int {
	at := t.find(cmp.Or(n.stem, "/"))
	if n.prefix && !t[at].prefix {
		at = t[at].parent
	}
	return at
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

// isEmpty reports whether other nodes match all that a node does.
func (t tree) isEmpty(at int) bool {
	n := &t[at]
	if n.path && (at+1 == len(t) || t[at+1].stem != n.stem) {
		return false
	}
	return !t.hasBelow(at, cmp.Or(n.stem, "/"))
}

// hasBelow reports whether a node has a path that begins with a stem.
func (t tree) hasBelow(at int, stem string) bool {
	if t.owns(at, stem) {
		return true
	}
	for _, c := range []byte(allowed) {
		if t.owns(at, stem+string(c)) {
			return true
		}
	}
	for _, c := range []byte(allowed) {
		next := stem + string(c)
		found := t.find(next)
		exact := t[found].parent == at && !t[found].prefix
		dots := found == at && c == '.' // "/a/.." is no Normal path, but "/a/..." is
		if (exact || dots) && t.hasBelow(at, next) {
			return true
		}
	}
	return false
}

func (t tree) owns(at int, path string) bool { return t.find(path) == at && Normal(path) == path }
