package merge

import (
	"fmt"
	"slices"

	"trueup/internal/canon"
)

// Mismatch is a path that a server did not keep as it was sent.
type Mismatch struct {
	Path     string `json:"path"`
	Sent     any    `json:"sent"` // Sent and Returned are nil where the value is absent
	Returned any    `json:"returned"`
	// Hint is the override to write if the server is right, in the form that
	// the project file has: {path: spec.locations, order: set}.
	Hint string `json:"hint,omitempty"`
}

// Mismatches lists where got, a spec that was read back, lacks what was sent (docs/design.md 0.17,
// 0.19, B8). Of what got has beyond it, only list elements matter.
func Mismatches(rules *Rules, want, got any) []Mismatch {
	return mismatches(nil, node{rules: rules, want: want, have: got})
}

func mismatches(found []Mismatch, n node) []Mismatch {
	if Covers(n.rules, n.want, n.have) {
		return found
	}
	switch want := n.want.(type) {
	case map[string]any:
		if _, ok := n.have.(map[string]any); ok {
			for _, k := range canon.SortedKeys(want) {
				found = mismatches(found, n.field(k))
			}
			return found
		}
	case []any:
		if have, ok := n.have.([]any); ok {
			return mismatchesOfList(found, n.paired(elements(want), elements(have)))
		}
	}
	x, xOK := number(n.want)
	if y, yOK := number(n.have); xOK && yOK && x == y {
		return append(found, n.mismatch("type: number"))
	}
	return append(found, n.mismatch("ignore: true"))
}

func mismatchesOfList(found []Mismatch, l list) []Mismatch {
	if item := l.rules.item(); len(l.rules.key()) == 0 && len(l.git) == len(l.live) {
		anywhere := matchValues(item, l.git, l.live, func(i, j int) bool { return Covers(item, l.git[i], l.live[j]) })
		if !slices.Contains(anywhere, -1) {
			l.of, l.back = anywhere, inverse(anywhere, len(l.live))
		}
	}
	if !l.rules.set() && len(displaced(l.of)) > 0 {
		found = append(found, l.mismatch("order: set"))
	}
	for i := range l.git {
		found = mismatches(found, l.ofGit(i, i))
	}
	for j, i := range l.back {
		if i < 0 {
			found = mismatches(found, l.ofLive(j, base{}))
		}
	}
	return found
}

func (n node) mismatch(override string) Mismatch {
	hint := fmt.Sprintf("{path: %s, %s}", joinFields("spec", n.at.steps()), override)
	return Mismatch{Path: n.path, Sent: n.want, Returned: n.have, Hint: hint}
}

// Refilled returns desired without the nulls that were applied and that live has a value for, and these values. If
// the server did not keep what was sent, they are its own, and another null would change nothing. It never mutates.
func Refilled(in Input) (desired any, back []Value) {
	in.Pending = nil
	desired = refilled(in.root(), &back)
	return desired, back
}

func refilled(n node, back *[]Value) any {
	if n.rules.excluded() || n.have == nil || n.base.applied == nil {
		return n.want
	}
	switch want := n.want.(type) {
	case map[string]any:
		out := make(map[string]any, len(want))
		for _, k := range canon.SortedKeys(want) {
			c := n.field(k)
			if c.banned && c.have != nil && !c.rules.excluded() {
				*back = append(*back, c.value(c.have))
				continue
			}
			out[k] = refilled(c, back)
		}
		return out
	case []any:
		have, ok := n.have.([]any)
		if !ok {
			return n.want
		}
		l := n.paired(elements(want), elements(have))
		out := make([]any, len(l.git))
		for i := range l.git {
			out[i] = refilled(l.ofGit(i, i), back)
		}
		return out
	}
	return n.want
}

// LeftAlone lists the fields of live that git neither has nor had: the server's defaults, and what
// another client set (docs/design.md B4). Git owns the whole of a list that it has.
func LeftAlone(in Input) []Change { return leftAlone(nil, in.root()) }

func leftAlone(found []Change, n node) []Change {
	if n.rules.excluded() {
		return found
	}
	switch want := n.want.(type) {
	case map[string]any:
		have, _ := n.have.(map[string]any)
		stale := n.rules.staleSibling(want, have)
		for _, k := range canon.SortedKeys(have) {
			c := n.field(k)
			if _, said := want[k]; said {
				found = leftAlone(found, c)
			} else if c.have != nil && k != stale && !c.base.known() {
				found = append(found, Change{Path: c.path, At: c.at.steps(), Class: Unmanaged, Live: c.have})
			}
		}
	case []any:
		l := n.paired(elements(want), elements(n.have))
		for i := range l.git {
			if l.keyed[i] { // a field belongs to an element that is known to be the same
				found = leftAlone(found, l.ofGit(i, i))
			}
		}
	}
	return found
}
