package merge

import (
	"slices"
	"strings"
)

// maxLike bounds how many elements of one list are compared to find renames, far above real lists.
const maxLike = 10_000

// pairRenamed pairs elements that got another key: one part of it differs, most other fields are the
// same, and no other element is so. The records know the old key, and only git or only live has
// the new one. It returns live's elements with git's instead of the renamed ones.
func (l *pairedList) pairRenamed() []any {
	isExcluded := func(part string) bool { return l.rules.elementRules().fieldRules(part).isExcluded() }
	if !l.isTakenOver() || slices.ContainsFunc(l.rules.keyFields(), isExcluded) {
		return l.live
	}
	git, gitOK := keysOf(l.rules.keyFields(), l.git)
	live, liveOK := keysOf(l.rules.keyFields(), l.live)
	if !gitOK || !liveOK {
		return l.live
	}
	origins, named := originsOfDropped(*l), slices.Clone(l.live)
	for _, whole := range []bool{true, false} { // those that are the same but for the key come first
		candidates, rivals := l.renameCandidates(git, live, origins, whole)
		for i, c := range candidates {
			if len(c) == 1 && rivals[c[0]] == 1 {
				l.joinPair(i, c[0], origins.baseAt(c[0]))
				named[c[0]] = l.git[i]
			}
		}
	}
	return named
}

// pairRenamed is pair, but also pairs renamed elements. The record is that of the list.
func pairRenamed(r *Rules, record any, xs, ys []any) pairing {
	return node{rules: r, base: recordedValues{applied: record}}.pairElements(xs, ys).pairing
}

// renameCandidates returns the live elements of which each element of git may be a renamed one, and for each of
// those how many elements of git may.
func (l *pairedList) renameCandidates(git, live keys, origins elementRecords, whole bool) (candidates [][]int, rivals []int) {
	candidates, rivals = make([][]int, len(l.git)), make([]int, len(l.live))
	near, tries := l.indexByPartialKey(live), 0
	for i, parts := range git.parts {
		for p := range parts {
			if l.of[i] >= 0 || parts[p] == "" {
				continue
			}
			for _, j := range near[keyWithout(parts, p)] {
				if tries++; tries > maxLike {
					return nil, nil
				}
				origin := origins.baseAt(j)
				if l.bases.baseAt(i).isKnown() != origin.isKnown() && l.equalsExceptKey(i, l.liveNode(j, origin), whole) {
					candidates[i], rivals[j] = append(candidates[i], j), rivals[j]+1
				}
			}
		}
	}
	return candidates, rivals
}

// indexByPartialKey returns the unpaired live elements by their keys without each part.
func (l *pairedList) indexByPartialKey(live keys) map[string][]int {
	near := map[string][]int{}
	for j, parts := range live.parts {
		for p := range parts {
			if l.back[j] < 0 && parts[p] != "" {
				key := keyWithout(parts, p)
				near[key] = append(near[key], j)
			}
		}
	}
	return near
}

// keyWithout is a key without one part, and says which.
func keyWithout(parts []string, p int) string {
	return strings.Repeat("\x01", p) + joinKey(parts[:p]) + "\x00\x00" + joinKey(parts[p+1:])
}

// joinPair makes a pair of git's element i and the live element j, whose record may have the old key.
func (l *pairedList) joinPair(i, j int, origin recordedValues) {
	l.of[i], l.back[j], l.keyed[i] = j, i, true
	if origin.isKnown() {
		l.bases[i], l.bases[i].renamed = origin, true
	}
}

// equalsExceptKey reports whether git's element i says the same as a live one that has another key: in all other
// fields, or in most of them. What the record has counts, if it has the element.
func (l *pairedList) equalsExceptKey(i int, e node, whole bool) bool {
	// One field is the key.
	enough := func(a, b any) bool {
		same, all := countEqualFields(e.rules, a, b)
		return same >= all-1 || !whole && 2*same >= all
	}
	if record := e.recordedValue(); record != nil {
		return enough(l.git[i], record) && enough(record, l.git[i])
	}
	return enough(l.git[i], e.have)
}

// countEqualFields counts the fields of a, and those that b has too. A list is one field.
func countEqualFields(r *Rules, a, b any) (same, all int) {
	fields, ok := a.(map[string]any)
	if !ok {
		if Covers(r, a, b) {
			same = 1
		}
		return same, 1
	}
	for name, v := range fields {
		if c := r.fieldRules(name); v != nil && !c.isExcluded() {
			x, y := countEqualFields(c, v, fieldOf(b, name))
			same, all = same+x, all+y
		}
	}
	return same, all
}
