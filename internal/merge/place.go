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

// liveElement is the step to an element that only live has.
func liveElement(j int) Step { return Step{Index: Nowhere, Live: j, After: Nowhere} }

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

// Place names a place by the indices of desired, as far as desired has it:
// locations[2].cache.edgeTTL.
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

// FieldPath names a place by its fields alone, as overrides do:
// locations.cache.edgeTTL.
func FieldPath(at []Step) string {
	path := ""
	for _, s := range at {
		if !s.Element {
			path = joinPath(path, s.Field)
		}
	}
	return path
}

// History holds what git says beside what it said before. It explains changes
// that Compare found; Compare itself never sees it (docs/design.md 0.3).
type History struct {
	rules *Rules
	// was and now are the two; a nil was is an object that git did not have.
	was, now any
	// lists are those that were looked at, by their places in now.
	lists map[string]*versions
}

// NewHistory prepares to tell what became of was in now.
func NewHistory(rules *Rules, was, now any) *History {
	return &History{rules: rules, was: was, now: now, lists: map[string]*versions{}}
}

// spot is one place in both versions.
type spot struct {
	rules    *Rules
	was, now any
	// had and has tell whether was and now have it: a null is something.
	had, has bool
}

// Touched reports whether the two differ in what a change speaks of.
func (h *History) Touched(c Change) bool {
	s := spot{rules: h.rules, was: h.was, now: h.now, had: h.was != nil, has: true}
	for i, step := range c.At {
		if c.Moved && i == len(c.At)-1 {
			return h.reordered(s, c, step.Index)
		}
		if step.onlyLive() && c.Class == TakeOver {
			break // the question is whether git had the list
		}
		s = h.down(s, c, i)
	}
	switch {
	case s.had != s.has:
		return true
	case !s.has:
		return false
	}
	return !same(s.rules, s.was, s.now)
}

// down follows one step of the change's way.
func (h *History) down(s spot, c Change, i int) spot {
	step := c.At[i]
	if !step.Element {
		below := spot{rules: s.rules.field(step.Field)}
		below.was, below.had = member(s.was, step.Field)
		below.now, below.has = member(s.now, step.Field)
		return below
	}
	below := spot{rules: s.rules.item()}
	l := h.list(s, c.At[:i])
	switch {
	case step.onlyLive():
		below.was, below.had = l.like(s.rules, c.Live)
		below.had = below.had && (!l.placed || !l.same)
	case step.Index < len(l.now):
		below.now, below.has = l.now[step.Index], true
		if j := l.of[step.Index]; j >= 0 && (j == step.Index || !l.placed) {
			below.was, below.had = l.was[j], true
		}
	}
	return below
}

// byPlace reports whether nothing but its place says which element is which.
func byPlace(r *Rules, was, now []any) bool {
	if r.set() && len(r.key()) == 0 {
		return false
	}
	_, keyed := pairByKey(r.key(), was, now)
	return !keyed
}

// versions are a list in both versions.
type versions struct {
	was, now []any
	// of says which elements of was those of now are, -1 for none.
	of []int
	// placed says that nothing but its place says which element is which, and same
	// that such lists are equal.
	placed, same bool
	// gone are elements of was that live may have and now has not; of lists that are
	// placed all, for what stands elsewhere by now goes from where it stood.
	gone []any
	// keys are theirs, if they have any.
	keys  keys
	keyed bool
	// live is the order that moving was last asked of, and moving the answer.
	live   []int
	moving []bool
}

// moves tells which elements have to move for an order, which all changes of the
// list have in common.
func (l *versions) moves(live []int) []bool {
	if len(l.live) == 0 || &l.live[0] != &live[0] {
		l.live, l.moving = live, make([]bool, len(live))
		for _, k := range displaced(live) {
			l.moving[k] = true
		}
	}
	return l.moving
}

// list is what is known of the list at a place of now.
func (h *History) list(s spot, at []Step) *versions {
	place := Place(at)
	if l := h.lists[place]; l != nil {
		return l
	}
	was, _ := elements(s.was)
	now, _ := elements(s.now)
	l := &versions{was: was, now: now, of: pair(s.rules, now, was).of, placed: byPlace(s.rules, was, now), gone: was}
	if l.placed {
		l.same = same(s.rules, s.was, s.now)
	} else {
		l.gone = gone(was, l.of)
	}
	l.keys, l.keyed = keysOf(s.rules.key(), l.gone)
	h.lists[place] = l
	return l
}

// reordered reports whether git says otherwise than before in which order the element
// of a moved change and those that it has to pass stand. A conflict is of the list.
func (h *History) reordered(s spot, c Change, i int) bool {
	l := h.list(s, c.At[:len(c.At)-1])
	was := l.of
	if i >= len(was) || was[i] < 0 {
		return true
	}
	if c.Class == Conflict {
		return len(displaced(was)) > 0
	}
	moves := l.moves(c.live)
	for k, j := range c.live {
		if j < 0 || (i < k) == (c.live[i] < j) {
			continue // it stands where it stood, seen from the element
		}
		if !moves[k] && (was[k] < 0 || (i < k) != (was[i] < was[k])) {
			return true
		}
	}
	return false
}

// gone are the elements of a list that of pairs with none.
func gone(was []any, of []int) []any {
	var list []any
	for j, i := range inverse(of, len(was)) {
		if i < 0 {
			list = append(list, was[j])
		}
	}
	return list
}

// like finds the element that was there and that a live one is, by key or by all
// of it.
func (l *versions) like(r *Rules, live any) (any, bool) {
	if k, ok := keysOf(r.key(), []any{live}); ok && l.keyed {
		i, found := l.keys.index[joinKey(k.parts[0])]
		switch {
		case found:
			return l.gone[i], true
		case !k.wild && !l.keys.wild:
			return nil, false
		}
	}
	for _, e := range l.gone {
		p, keyed := pairByKey(r.key(), []any{e}, []any{live})
		if keyed && p.of[0] == 0 || !keyed && Covers(r.item(), e, live) {
			return e, true
		}
	}
	return nil, false
}

func member(v any, name string) (any, bool) {
	m, _ := v.(map[string]any)
	value, ok := m[name]
	return value, ok
}
