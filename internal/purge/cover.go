package purge

import (
	"slices"
)

// RedundantPath is a path that another path of the list covers.
type RedundantPath struct {
	Index, By int  // Index is the path's, By that of the covering prefix or of the first duplicate
	Duplicate bool // true if both are the same text
}

// FindRedundant returns the paths that a purge does not need, in the order of the list. By is never
// redundant itself.
func FindRedundant(paths []string) (redundant []RedundantPath) {
	c, first := NewPrefixIndex(paths), make(map[string]int, len(paths))
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
type PrefixIndex struct {
	// places has the prefix paths by their text without the star, and lengths are those of the texts, the shortest first.
	places  map[string][]prefixPlace
	lengths []int
}

type prefixPlace struct{ list, index int }

// NewPrefixIndex returns the index of the prefix paths in lists; it ignores other paths.
func NewPrefixIndex(lists ...[]string) PrefixIndex {
	c := PrefixIndex{places: map[string][]prefixPlace{}}
	for list, paths := range lists {
		for i, path := range paths {
			if IsPrefix(path) {
				stem := prefixStem(path)
				c.places[stem], c.lengths = append(c.places[stem], prefixPlace{list, i}), append(c.lengths, len(stem))
			}
		}
	}
	slices.Sort(c.lengths)
	c.lengths = slices.Compact(c.lengths)
	return c
}

// CoveredBy returns the narrowest prefix path that covers path and for which counts is true (nil: any), if there is
// one.
func (c PrefixIndex) CoveredBy(path string, counts func(list int) bool) (by string, ok bool) {
	stem := prefixStem(path)
	for _, n := range slices.Backward(c.lengths) {
		if n > len(stem) {
			continue
		}
		for _, p := range c.places[stem[:n]] {
			if counts == nil || counts(p.list) {
				return stem[:n] + "*", true
			}
		}
	}
	return "", false
}

// widestPrefix returns the index of the widest prefix that covers path, perhaps itself.
func (c PrefixIndex) widestPrefix(path string) (index int, ok bool) {
	stem := prefixStem(path)
	for _, n := range c.lengths {
		if n > len(stem) {
			break
		}
		if places := c.places[stem[:n]]; places != nil {
			return places[0].index, true
		}
	}
	return 0, false
}
