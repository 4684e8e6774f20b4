package routing

import (
	"slices"
	"strings"

	"trueup/internal/purge"
)

// PurgeReach is what locations serve: the paths of their purges, sorted and without stars.
type PurgeReach struct {
	cover purge.PrefixIndex
	stems []string
}

// NewPurgeReach returns what locations serve.
func NewPurgeReach(locations []*Location) (r PurgeReach) {
	var paths []string
	for _, l := range locations {
		path := l.PurgePath()
		paths, r.stems = append(paths, path), append(r.stems, strings.TrimSuffix(path, "*"))
	}
	r.cover = purge.NewPrefixIndex(paths)
	slices.Sort(r.stems)
	return r
}

// ReachesAny reports whether a location serves the path, or a part of what is below it.
func (r PurgeReach) ReachesAny(path string) bool {
	if _, ok := r.cover.CoveredBy(path, nil); ok {
		return true
	}
	stem := strings.TrimSuffix(path, "*")
	i, exact := slices.BinarySearch(r.stems, stem)
	return exact || purge.IsPrefix(path) && i < len(r.stems) && strings.HasPrefix(r.stems[i], stem)
}
