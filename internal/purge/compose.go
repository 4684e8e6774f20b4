package purge

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
)

// WantedPath is a path to purge on a hostname or one of its subdomains.
type WantedPath struct {
	Hostname  string
	Subdomain string // empty for the hostname itself
	Path      string
}

// ReducedPurge is a request, and what it leaves out.
type ReducedPurge struct {
	Spec
	Dropped []DroppedPath // the paths that another one covers
}

// DroppedPath is a path and the prefix path, in this or another request, that covers it.
type DroppedPath struct {
	Path string `json:"path"`
	By   string `json:"coveredBy"`
}

// ComposeRequests returns the fewest requests that purge what is wanted: one for each hostname and set of
// subdomains, sorted. They purge nothing else, except that each also purges the hostname itself
// (docs/platform.md 2.3). It drops paths that a prefix path covers, in the same request or in one with more
// subdomains.
func ComposeRequests(wanted []WantedPath) []ReducedPurge {
	groups := groupByHost(wanted)
	for i := range groups {
		groups[i].dropCovered()
	}
	for i := range groups {
		groups[i].dropCoveredByOthers(groups)
	}
	return slices.DeleteFunc(groups, func(c ReducedPurge) bool { return len(c.Paths) == 0 })
}

func groupByHost(wanted []WantedPath) []ReducedPurge {
	subdomains := map[[2]string][]string{}
	for _, w := range wanted {
		at := [2]string{w.Hostname, w.Path}
		subdomains[at] = append(subdomains[at], w.Subdomain)
	}
	byGroup := map[string]*ReducedPurge{}
	for _, at := range slices.SortedFunc(maps.Keys(subdomains), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		names := slices.DeleteFunc(sortedUnique(subdomains[at]), func(s string) bool { return s == "" })
		group := at[0] + " " + strings.Join(names, " ")
		if byGroup[group] == nil {
			byGroup[group] = &ReducedPurge{Spec: Spec{Hostname: at[0], Subdomains: names}}
		}
		byGroup[group].Paths = append(byGroup[group].Paths, at[1])
	}
	return diag.MapList(slices.Sorted(maps.Keys(byGroup)), func(group string) ReducedPurge { return *byGroup[group] })
}

// dropCovered drops the paths that another one of the request covers.
func (c *ReducedPurge) dropCovered() {
	var kept []string
	from := 0
	for _, r := range FindRedundant(c.Paths) {
		kept = append(kept, c.Paths[from:r.Index]...)
		from = r.Index + 1
		if !r.Duplicate {
			c.Dropped = append(c.Dropped, DroppedPath{c.Paths[r.Index], c.Paths[r.By]})
		}
	}
	c.Paths = append(kept, c.Paths[from:]...)
}

// dropCoveredByOthers drops the paths that a request of the same hostname covers, if it has all subdomains of this one
// and more.
func (c *ReducedPurge) dropCoveredByOthers(groups []ReducedPurge) {
	var wider [][]string
	for _, g := range groups {
		if g.Hostname == c.Hostname && len(g.Subdomains) > len(c.Subdomains) && hasAll(g.Subdomains, c.Subdomains) {
			wider = append(wider, g.Paths)
		}
	}
	if wider == nil {
		return
	}
	cover := NewPrefixIndex(wider...)
	c.Paths = slices.DeleteFunc(c.Paths, func(path string) bool {
		by, ok := cover.CoveredBy(path, nil)
		if ok {
			c.Dropped = append(c.Dropped, DroppedPath{path, by})
		}
		return ok
	})
}

// CoversSpec reports whether a request purges everything that other does.
func (s Spec) CoversSpec(other Spec) bool {
	if hostKey(s.Hostname) != hostKey(other.Hostname) || !hasAll(sortedUnique(s.Subdomains), other.Subdomains) {
		return false
	}
	covered := 0
	for _, r := range FindRedundant(slices.Concat(s.Paths, other.Paths)) {
		if r.Index >= len(s.Paths) {
			covered++
		}
	}
	return covered == len(other.Paths)
}

// hasAll reports whether a sorted list has all names of the second.
func hasAll(all, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, has := slices.BinarySearch(all, name)
		return !has
	})
}

// SplitByLimits returns the fewest requests that each keep the limits of a hostname (docs/platform.md 8). They have
// the same size, because a large one waits until the window of all others is over.
func (s Spec) SplitByLimits(limits Usage) []Spec {
	usage := s.Usage()
	parts := make([]Spec, usage.CountParts(limits))
	var absolute, prefixes int
	for _, path := range sortedUnique(s.Paths) {
		n, all := &absolute, usage.Paths
		if IsPrefix(path) {
			n, all = &prefixes, usage.Prefixes
		}
		at := *n * len(parts) / all
		*n++
		parts[at].Paths = append(parts[at].Paths, path)
	}
	for i := range parts {
		parts[i].Hostname, parts[i].Subdomains = s.Hostname, s.Subdomains
	}
	return parts
}
