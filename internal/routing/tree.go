package routing

import (
	"cmp"
	"slices"
	"strings"
)

// sideLocation is a location of a CDN on one of the sides that are compared.
type sideLocation struct {
	side int
	cdn  *CDN
	*Location
}

// pathNode is a pattern of paths. Its parent is the longest other one that matches all it does.
type pathNode struct {
	pattern, stem string
	// prefix says that the pattern matches what is below the stem.
	prefix bool
	parent int
	own    []sideLocation
}

func newNode(pattern string) pathNode {
	stem, prefix := strings.CutSuffix(pattern, "*")
	return pathNode{pattern: pattern, stem: stem, prefix: prefix}
}

// shownPattern returns the pattern for people: the paths of "*" are those of "/*".
func (n *pathNode) shownPattern() string {
	if n.pattern == "*" {
		return "/*"
	}
	return n.pattern
}

// covers reports whether the pattern matches all that another one does.
func (n pathNode) covers(other pathNode) bool {
	return n.pattern == other.pattern || n.matches(other.stem)
}

// matches reports whether the pattern is a prefix that matches the path.
func (n *pathNode) matches(path string) bool { return n.prefix && strings.HasPrefix(path, n.stem) }

// pathTree has a root, which matches everything, then the other nodes by stem, a prefix before the exact path. A parent
// stands before its children.
type pathTree []pathNode

// newTree returns the tree of the paths of locations, which patternOf returns. It sorts the locations.
func newTree(parties []sideLocation, patternOf func(*Location) string) pathTree {
	slices.SortFunc(parties, func(p, q sideLocation) int {
		a, b := newNode(patternOf(p.Location)), newNode(patternOf(q.Location))
		return cmp.Or(strings.Compare(a.stem, b.stem), strings.Compare(b.pattern, a.pattern))
	})
	out := append(make(pathTree, 0, len(parties)+1), pathNode{prefix: true, parent: -1})
	for i, p := range parties {
		n := newNode(patternOf(p.Location))
		if last := &out[len(out)-1]; len(out) > 1 && last.pattern == n.pattern {
			last.own = last.own[:len(last.own)+1] // the next party
			continue
		}
		n.own = parties[i : i+1]
		for n.parent = len(out) - 1; !out[n.parent].matches(n.stem); {
			n.parent = out[n.parent].parent
		}
		out = append(out, n)
	}
	return out
}

// findNode returns the longest node that matches a path, in O(log n) and a step for each pattern that matches the
// one before it.
func (t pathTree) findNode(path string) int {
	at, exact := slices.BinarySearchFunc(t[1:], path, func(n pathNode, path string) int { return strings.Compare(n.stem, path) })
	for exact && at+2 < len(t) && t[at+2].stem == path {
		at++
	}
	if !exact {
		at--
	}
	for at++; t[at].stem != path && !t[at].matches(path); {
		at = t[at].parent
	}
	return at
}

// isEmpty reports whether a node has no requests: it is the root or "*", and the next node takes all of them.
func (t pathTree) isEmpty(at int) bool {
	return t[at].stem == "" && at+1 < len(t) && (t[at+1].stem == "" || t[at+1].pattern == "/*")
}
