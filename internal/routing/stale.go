package routing

import (
	"slices"
	"strconv"
	"strings"
)

// StaleFacets returns the facets because of which a copy that the edges cached under one location is not what the
// other answers. It has none if nothing was cached, or only a copy expires sooner than a new one would.
func StaleFacets(before, after *Location) (stale []Facet) {
	if before == nil || after == nil || !before.isCached() {
		return nil
	}
	for _, f := range []Facet{Origin, Action, EdgeTTL, CORS, Images, Rewrite, Headers} {
		a, b := before.Behaviour[f], after.Behaviour[f]
		if a != b && (f != EdgeTTL || !a.isNoLonger(b)) && (f != Origin || isReplaced(a, b)) {
			stale = append(stale, f)
		}
	}
	return stale
}

// isCached reports whether the edges may cache answers: the edge TTL is not 0.
func (l *Location) isCached() bool {
	v := l.Behaviour[EdgeTTL]
	number, _, _ := strings.Cut(v.Text, " ")
	return number != "0" && (!v.Known || v.Time > 0)
}

// isNoLonger reports whether a TTL is known to be at most another one.
func (v Value) isNoLonger(other Value) bool {
	if v.Known && other.Known {
		return v.Time <= other.Time
	}
	number, unit, _ := strings.Cut(v.Text, " ")
	most, sameUnit, _ := strings.Cut(other.Text, " ")
	a, err := strconv.Atoi(number)
	b, wrong := strconv.Atoi(most)
	return err == nil && wrong == nil && unit == sameUnit && a <= b
}

// isReplaced reports whether the answers of two different origins may differ. Servers that were only added, or
// only removed, have the same content as the others.
func isReplaced(before, after Value) bool {
	was, is := before.servers(), after.servers()
	if len(was) == 0 || len(is) == 0 {
		return true
	}
	lacks := func(list, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
	}
	schemeOf := func(v Value) string { return textOf(objectsOf(v.Tree())[0]["scheme"]) }
	a, b := schemeOf(before), schemeOf(after)
	return a != b && a != "" && b != "" || lacks(was, is) && lacks(is, was)
}
