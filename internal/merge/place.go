package merge

import (
	"slices"
	"strconv"

	"trueup/internal/effect"
)

// Step is one step down a spec: to an element of a list, or to a field.
type Step struct {
	Element bool
	Field   string
	// Index, Live and After are where the element stands in desired, in live, and in
	// what the patch makes of live. They count from 0 and skip nulls; Nowhere is a
	// list that lacks it.
	Index, Live, After int
}

// Nowhere is the index of an element in a list that lacks it.
const Nowhere = -1

// onlyLive reports whether the step leads to an element that desired lacks.
func (s Step) onlyLive() bool { return s.Element && s.Index == Nowhere }

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
		case s.Element && s.Index == Nowhere:
			return place
		case s.Element:
			place += "[" + strconv.Itoa(s.Index) + "]"
		default:
			place = joinPath(place, s.Field)
		}
	}
	return place
}

// Line is the change as a check of the request reads it.
func (c Change) Line() effect.Line {
	line := lineAt(c.Path, c.At)
	line.Live, line.After, line.Moved = c.Live, c.Desired, c.Moved
	return line
}

// Line is the loss of the value as a check of the request reads it.
func (v Value) Line() effect.Line {
	line := lineAt(v.Path, v.At)
	line.Live = v.Value
	return line
}

func lineAt(path string, at []Step) effect.Line {
	line := effect.Line{Path: path, LiveAt: make([]any, 0, len(at)), AfterAt: make([]any, 0, len(at))}
	for _, s := range at {
		if s.Element {
			line.LiveAt, line.AfterAt = append(line.LiveAt, s.Live), append(line.AfterAt, s.After)
			continue
		}
		line.LiveAt, line.AfterAt = append(line.LiveAt, s.Field), append(line.AfterAt, s.Field)
	}
	return line
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
