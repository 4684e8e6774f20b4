package merge

import (
	"slices"
	"strconv"

	"trueup/internal/effect"
)

// Step is one step down a spec: to an element of a list, or to a field.
type Step = effect.Step

// way is how a node was reached, last step first.
type way struct {
	up *way
	Step
}

func (w *way) steps() []Step {
	var steps []Step
	for ; w != nil; w = w.up {
		steps = append(steps, w.Step)
	}
	slices.Reverse(steps)
	return steps
}

// Place names a place by indices, as far as desired has it: locations[2].cache.edgeTTL.
func Place(at []Step) string {
	place := ""
	for _, s := range at {
		switch {
		case s.OnlyLive():
			return place
		case s.Element:
			place += "[" + strconv.Itoa(s.Index) + "]"
		default:
			place = joinPath(place, s.Field)
		}
	}
	return place
}

// FieldPath names a place by its fields alone, as overrides do: locations.cache.edgeTTL.
func FieldPath(at []Step) string { return joinFields("", at) }

func joinFields(path string, at []Step) string {
	for _, s := range at {
		if !s.Element {
			path = joinPath(path, s.Field)
		}
	}
	return path
}
