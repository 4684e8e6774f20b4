package routing

import (
	"slices"
	"strconv"
	"strings"
)

// Stale returns the facets because of which a copy that the edges cached under one location is not what the
// other answers. It has none if nothing was cached, or only a copy expires sooner than a new one would.
func Stale(before, after *Location) (facets []Facet) {
	if before == nil || after == nil || !before.Cached() {
		return nil
	}
	for _, f := range []Facet{Origin, Action, EdgeTTL, CORS, Images, Rewrite, Headers} {
		a, b := before.Behaviour[f], after.Behaviour[f]
		switch {
		case a == b, f == EdgeTTL && a.noLonger(b), f == Origin && !replaced(before, after):
		default:
			facets = append(facets, f)
		}
	}
	return facets
}

// Cached reports whether the edges may cache answers: the edge TTL is not 0.
func (l *Location) Cached() bool {
	v := l.Behaviour[EdgeTTL]
	number, _, _ := strings.Cut(v.Text, " ")
	return number != "0" && (!v.Known || v.Time > 0)
}

// noLonger reports whether a TTL is known to be at most another one.
func (v Value) noLonger(other Value) bool {
	if v.Known && other.Known {
		return v.Time <= other.Time
	}
	number, unit, _ := strings.Cut(v.Text, " ")
	most, same, _ := strings.Cut(other.Text, " ")
	a, err := strconv.Atoi(number)
	b, wrong := strconv.Atoi(most)
	return err == nil && wrong == nil && unit == same && a <= b
}

// replaced reports whether the answers of two different origins may differ. Servers that were only added, or
// only removed, have the same content as the others.
func replaced(before, after *Location) bool {
	was, is := before.Servers(), after.Servers()
	if len(was) == 0 || len(is) == 0 {
		return true
	}
	lacks := func(list, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
	}
	a, b := before.scheme(), after.scheme()
	return a != b && a != "" && b != "" || lacks(was, is) && lacks(is, was)
}

func (l *Location) scheme() string {
	for _, m := range objects(l.Behaviour[Origin].Tree()) {
		return text(m["scheme"])
	}
	return ""
}
