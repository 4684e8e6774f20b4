// Package purge is the arithmetic of purge requests: which paths a request
// names, which of them another makes needless, and how much of a hostname's
// limits it uses; it neither reads manifests nor sends anything.
package purge

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Form is what a path of a purge names (platform-api 2.3).
type Form uint8

// The two forms of a path.
const (
	// Absolute is one file: a path without a trailing "*".
	Absolute Form = iota
	// Prefix is everything below: a path whose last character is "*".
	Prefix
)

// FormOf tells which limit the path counts against, whether or not it is valid.
func FormOf(path string) Form {
	if strings.HasSuffix(path, "*") {
		return Prefix
	}
	return Absolute
}

// The reasons why a path is refused (platform-api 2.3).
var (
	errNotAbsolute = errors.New("does not start with /")
	errInnerStar   = errors.New("has * before its last character")
)

// CheckPath returns why the platform's document does not allow the path, or
// nil.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return errNotAbsolute
	}
	if i := strings.IndexByte(path, '*'); i >= 0 && i != len(path)-1 {
		return errInnerStar
	}
	return nil
}

// Redundant is a path that another path of the same list already purges.
type Redundant struct {
	// Index is the path's place in the list, By that of the prefix that
	// covers it, or of its first occurrence.
	Index, By int
	// Duplicate says that both are the same text.
	Duplicate bool
}

// FindRedundant returns the paths that can be dropped without purging less, in
// the order of the list. The prefix that it names is itself not redundant. It
// takes O((n+m) log m) for n absolute and m prefix paths.
func FindRedundant(paths []string) []Redundant {
	by, open := cover(paths)
	first := make(map[string]int, open)
	redundant := make([]Redundant, 0, len(paths)-open)
	for i, path := range paths {
		if by[i] < 0 {
			by[i] = firstOf(first, path, i)
		}
		if by[i] != i {
			redundant = append(redundant, Redundant{Index: i, By: by[i], Duplicate: paths[by[i]] == path})
		}
	}
	return redundant
}

// cover returns for each path the index of the prefix that covers it, itself
// perhaps, or -1; open counts the latter.
func cover(paths []string) (by []int, open int) {
	roots := rootsOf(paths)
	by = make([]int, len(paths))
	for i, path := range paths {
		if by[i] = roots.covering(path); by[i] < 0 {
			open++
		}
	}
	return by, open
}

// firstOf returns where the path was first seen, which is i if never before.
func firstOf(first map[string]int, path string, i int) int {
	if at, again := first[path]; again {
		return at
	}
	first[path] = i
	return i
}

// root is a prefix path, without its star, that no other prefix covers.
type root struct {
	stem  string
	index int
}

// roots are sorted by stem, and no stem begins with another: so the only one
// that can cover a path is the last that is not greater than it.
type roots []root

func rootsOf(paths []string) roots {
	var all roots
	for i, path := range paths {
		if FormOf(path) == Prefix {
			all = append(all, root{stem(path), i})
		}
	}
	slices.SortFunc(all, func(a, b root) int {
		return cmp.Or(strings.Compare(a.stem, b.stem), a.index-b.index)
	})
	kept := all[:0]
	for _, r := range all {
		if len(kept) == 0 || !strings.HasPrefix(r.stem, kept[len(kept)-1].stem) {
			kept = append(kept, r)
		}
	}
	return kept
}

// covering returns the index of the prefix path that covers the path, perhaps
// the path itself, or -1.
func (rs roots) covering(path string) int {
	s := stem(path)
	after, end := 0, len(rs)
	for after < end { // by hand: a comparing closure costs as much again
		if m := (after + end) / 2; rs[m].stem <= s {
			after = m + 1
		} else {
			end = m
		}
	}
	if after > 0 && strings.HasPrefix(s, rs[after-1].stem) {
		return rs[after-1].index
	}
	return -1
}

func stem(path string) string { return strings.TrimSuffix(path, "*") }
