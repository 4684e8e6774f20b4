package purge

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// RedundantPath is a path that another path of the list covers.
type RedundantPath struct {
	Index, By int  // Index is the path's, By that of the covering prefix or of the first duplicate
	Duplicate bool // true if both are the same text
}

// FindRedundant returns the paths that a purge does not need, in the order of the list. By is never
// redundant itself. It takes O((n+m) log m) for n absolute and m prefix paths.
func FindRedundant(paths []string) []RedundantPath {
	c := NewPrefixIndex(paths)
	first := make(map[string]int, len(paths)-len(c.sorted))
	var redundant []RedundantPath
	for i, path := range paths {
		by, covered := c.widestPrefix(path)
		if !covered {
			if by, covered = first[path]; !covered {
				by, first[path] = i, i
			}
		}
		if by != i {
			redundant = append(redundant, RedundantPath{Index: i, By: by, Duplicate: paths[by] == path})
		}
	}
	return redundant
}

// PrefixIndex finds which of the prefix paths of several lists cover a path.
type PrefixIndex struct{ sorted []prefix }

// prefix is a prefix path, its text without the star, and its place.
type prefix struct {
	path, stem  string
	list, index int
	// up is the place in sorted of the narrowest other prefix that covers this one, or -1; top that of
	// the widest, or its own.
	up, top int
}

// NewPrefixIndex returns the index of the prefix paths in lists; it ignores other paths. It takes O(m log m) for m
// prefix paths.
func NewPrefixIndex(lists ...[]string) (c PrefixIndex) {
	for list, paths := range lists {
		for i, path := range paths {
			if IsPrefix(path) {
				c.sorted = append(c.sorted, prefix{path: path, stem: prefixStem(path), list: list, index: i})
			}
		}
	}
	slices.SortFunc(c.sorted, func(a, b prefix) int {
		return cmp.Or(strings.Compare(a.stem, b.stem), a.list-b.list, a.index-b.index)
	})
	for i := range c.sorted {
		p := &c.sorted[i]
		p.up, p.top = i-1, i
		for p.up >= 0 && !strings.HasPrefix(p.stem, c.sorted[p.up].stem) {
			p.up = c.sorted[p.up].up
		}
		if p.up >= 0 {
			p.top = c.sorted[p.up].top
		}
	}
	return c
}

// CoveredBy returns the narrowest prefix path that covers path and for which counts is true (nil: any), if there is
// one. It takes O(log m), and a step for each prefix inside another.
func (c PrefixIndex) CoveredBy(path string, counts func(list int) bool) (by string, ok bool) {
	s := prefixStem(path)
	for at := c.floorPrefix(s); at >= 0; at = c.sorted[at].up {
		p := &c.sorted[at]
		if strings.HasPrefix(s, p.stem) && (counts == nil || counts(p.list)) {
			return p.path, true
		}
	}
	return "", false
}

// widestPrefix returns the index of the widest prefix that covers path, perhaps itself.
func (c PrefixIndex) widestPrefix(path string) (index int, ok bool) {
	s := prefixStem(path)
	at := c.floorPrefix(s)
	if at < 0 {
		return 0, false
	}
	top := c.sorted[c.sorted[at].top]
	return top.index, strings.HasPrefix(s, top.stem)
}

// floorPrefix returns the place of the last prefix whose stem is not greater than s, or -1. If a prefix covers s,
// it is that one, or covers that one.
func (c PrefixIndex) floorPrefix(s string) int {
	return sort.Search(len(c.sorted), func(i int) bool { return c.sorted[i].stem > s }) - 1
}
