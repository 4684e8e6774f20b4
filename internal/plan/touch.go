package plan

import (
	"slices"
	"strings"

	"trueup/internal/merge"
)

// Touches reports whether the item changes what a finding at a field of its manifest
// is about, such as spec.locations[2].path. Of a list, that is the whole element.
func (it Item) Touches(field string) bool {
	switch {
	case len(it.Changes) == 0:
		return it.Op != None && it.Op != Kept
	case !strings.HasPrefix(field, "spec"):
		return true
	}
	return slices.ContainsFunc(it.Changes, func(c Change) bool {
		return !onlyInLive(c) && related(toElement(field), toElement("spec."+merge.Place(c.At)))
	})
}

// onlyInLive reports whether a change is of a list element that git does not have,
// so that no finding can be at it.
func onlyInLive(c Change) bool {
	return slices.ContainsFunc(c.At, func(s merge.Step) bool { return s.Element && s.Index == merge.Nowhere })
}

// toElement cuts a place behind its first list element.
func toElement(place string) string {
	if i := strings.IndexByte(place, ']'); i >= 0 {
		return place[:i+1]
	}
	return place
}

// related reports whether one place is the other, or lies in it.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, in := strings.CutPrefix(b, a)
	return in && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
