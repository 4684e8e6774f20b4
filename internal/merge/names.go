package merge

import (
	"slices"
	"strconv"
	"strings"

	"trueup/internal/effect"
	"trueup/internal/kind"
)

// NameElements returns the name of each element, as the paths of changes have it.
func NameElements(r *Rules, list []any) []string {
	namer, names := newNamer(r, list, nil), make([]string, len(list))
	for i, e := range list {
		names[i] = namer.nameOf(e, i)
	}
	return names
}

// namer names the elements of a list for people.
type namer struct {
	rules *Rules
	// keyed says that elements are shown by their key, byText by their text, which
	// only sets of nothing but scalars are.
	keyed, byText bool
	long          map[string]bool // the last parts of keys that are unclear without the others
}

// newNamer prepares the names of the elements of both lists. It shows keys whose parts run
// together (locations) by their last part if that is enough.
func newNamer(r *Rules, want, have []any) namer {
	n := namer{rules: r, long: map[string]bool{}}
	wantKeys, wantOK := elementKeysOf(r.keyFields(), want)
	haveKeys, haveOK := elementKeysOf(r.keyFields(), have)
	if n.keyed = wantOK && haveOK; !n.keyed {
		n.byText = r.isSet() && allScalars(want) && allScalars(have)
		return n
	}
	seen := map[string][][]string{}
	for _, list := range [][][]string{wantKeys.parts, haveKeys.parts} {
		own := map[string]bool{}
		for _, parts := range list {
			last := parts[len(parts)-1]
			if n.long[last] || own[last] || slices.ContainsFunc(seen[last], func(other []string) bool { return !keysAgree(parts, other) }) {
				n.long[last] = true
				continue
			}
			own[last], seen[last] = true, append(seen[last], parts)
		}
	}
	return n
}

func (n namer) nameOf(e any, index int) string {
	if !n.keyed {
		if s, _ := scalarText(e); n.byText {
			return kind.QuoteElement(nil, s)
		}
		return strconv.Itoa(index)
	}
	last, _ := scalarText(fieldOf(e, n.rules.Key[len(n.rules.Key)-1]))
	if n.rules.Join == "" && last != "" && !n.long[last] {
		return kind.QuoteElement(n.rules.Key, last)
	}
	return n.wholeKey(e)
}

func allScalars(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		_, kind := scalarText(v)
		return kind == notScalar
	})
}

// wholeKey is the whole key of an element, without the parts that it lacks.
func (n namer) wholeKey(e any) string {
	var parts []string
	for _, k := range n.rules.Key {
		if s, _ := scalarText(fieldOf(e, k)); s != "" {
			parts = append(parts, s)
		}
	}
	return kind.QuoteElement(n.rules.Key, strings.Join(parts, n.rules.Join))
}

// PathStep is one step down a spec: to an element of a list, or to a field.
type PathStep = effect.PathStep

// nodePath is how a node was reached, last step first.
type nodePath struct {
	up *nodePath
	PathStep
}

func (w *nodePath) steps() []PathStep {
	var steps []PathStep
	for ; w != nil; w = w.up {
		steps = append(steps, w.PathStep)
	}
	slices.Reverse(steps)
	return steps
}

// FormatPlace names a place by indices, as far as desired has it: locations[2].cache.edgeTTL.
func FormatPlace(at []PathStep) string {
	place := ""
	for _, s := range at {
		switch {
		case s.IsLiveOnly():
			return place
		case s.Element:
			place += "[" + strconv.Itoa(s.Index) + "]"
		default:
			place = kind.JoinField(place, s.Field)
		}
	}
	return place
}

// FieldPath names a place by its fields alone, as overrides do: locations.cache.edgeTTL.
func FieldPath(at []PathStep) (path string) {
	for _, s := range at {
		if !s.Element {
			path = kind.JoinField(path, s.Field)
		}
	}
	return path
}
