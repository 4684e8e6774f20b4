package merge

import (
	"slices"
	"sort"
	"strings"

	"trueup/internal/kind"
)

// pairing has the index of the partner of each element, or -1, and whether a key paired the two.
type pairing struct {
	of    []int
	keyed []bool
}

// pairLists pairs git's elements xs with ys (docs/design.md B3, 0.16). It pairs by unique keys; otherwise, in a set, an x
// with a y that has everything that x has; otherwise by position.
func pairLists(r *Rules, xs, ys []any) pairing {
	if p, ok := pairByKey(r.keyFields(), xs, ys); ok {
		return p
	}
	p := pairing{keyed: make([]bool, len(xs))}
	if r.isSet() && len(r.keyFields()) == 0 {
		p.of = matchValues(r.elementRules(), xs, ys, func(i, j int) bool { return LiveCovers(r.elementRules(), xs[i], ys[j]) })
	} else {
		p.of = pairByPosition(r, xs, ys)
	}
	return p
}

// pairByPosition pairs lists of one length by index, others from the start and from the end as far as they are the same.
func pairByPosition(r *Rules, xs, ys []any) []int {
	of := allUnpaired(len(xs))
	short, shift := min(len(xs), len(ys)), len(ys)-len(xs)
	head := 0
	for head < short && (shift == 0 || LiveCovers(r.elementRules(), xs[head], ys[head])) {
		of[head] = head
		head++
	}
	for i := len(xs) - 1; i >= head && i+shift >= head && LiveCovers(r.elementRules(), xs[i], ys[i+shift]); i-- {
		of[i] = i + shift
	}
	return of
}

// pairByKey pairs equal keys, then those that agree but for absent parts and have one candidate
// each way. If there are several, lists of one length pair by position, as far as that agrees.
func pairByKey(key []string, xs, ys []any) (pairing, bool) {
	xKeys, xOK := elementKeysOf(key, xs)
	yKeys, yOK := elementKeysOf(key, ys)
	if !xOK || !yOK {
		return pairing{}, false
	}
	p := pairing{of: allUnpaired(len(xs)), keyed: make([]bool, len(xs))}
	taken := make([]bool, len(ys))
	for i, k := range xKeys.parts {
		if j, ok := yKeys.index[joinKey(k)]; ok {
			p.of[i], p.keyed[i], taken[j] = j, true, true
		}
	}
	if xKeys.wild || yKeys.wild {
		p.pairPartialKeys(xKeys.parts, yKeys.parts, taken)
	}
	return p, true
}

// maxTries bounds how many pairs are tried in one list, far above real lists. Beyond it, elements pair by position.
const maxTries = 1_000_000

func (p pairing) pairPartialKeys(xs, ys [][]string, taken []bool) {
	candidates, rivals, tries := make([][]int, len(xs)), make([]int, len(ys)), 0
	for i, x := range xs {
		if p.of[i] >= 0 {
			continue
		}
		from, to := 0, len(ys)
		if tries += len(ys); tries > maxTries {
			from, to = min(i, to), min(i+1, to)
		}
		for j := from; j < to; j++ {
			if !taken[j] && keysAgree(x, ys[j]) {
				candidates[i] = append(candidates[i], j)
				rivals[j]++
			}
		}
	}
	p.chooseByKey(candidates, rivals, tries <= maxTries)
}

// chooseByKey pairs by key what has one candidate each way, if all were tried; the others by position.
func (p pairing) chooseByKey(candidates [][]int, rivals []int, all bool) {
	for i, c := range candidates {
		for _, j := range c {
			switch {
			case all && len(c) == 1 && rivals[j] == 1:
				p.of[i], p.keyed[i] = j, true
			case i == j && len(candidates) == len(rivals):
				p.of[i] = j
			}
		}
	}
}

// elementKeys are the keys of a list's elements.
type elementKeys struct {
	parts [][]string
	index map[string]int
	wild  bool // wild says that some part of some key is absent or empty
}

// elementKeysOf fails where an element has no key or two have the same.
func elementKeysOf(key []string, list []any) (elementKeys, bool) {
	if len(key) == 0 {
		return elementKeys{}, false
	}
	ks := elementKeys{parts: make([][]string, len(list)), index: make(map[string]int, len(list))}
	all := make([]string, len(key)*len(list))
	for i, e := range list {
		parts := all[i*len(key) : (i+1)*len(key)]
		filled := 0
		for k, name := range key {
			parts[k], _ = scalarText(fieldOf(e, name))
			if parts[k] != "" {
				filled++
			}
		}
		joined := joinKey(parts)
		if _, twice := ks.index[joined]; twice || filled == 0 {
			return elementKeys{}, false
		}
		ks.parts[i], ks.index[joined] = parts, i
		ks.wild = ks.wild || filled < len(key)
	}
	return ks, true
}

func joinKey(parts []string) string { return strings.Join(parts, "\x00") }

// keysAgree reports whether two keys can mean the same element.
func keysAgree(a, b []string) bool {
	common := false
	for i := range a {
		if a[i] == "" || b[i] == "" {
			continue
		}
		if a[i] != b[i] {
			return false
		}
		common = true
	}
	return common
}

// matchValues is match for elements that fit only if one has all of the other. It tries only equal
// scalars, or a long list would take too long.
func matchValues(item *Rules, xs, ys []any, fits func(i, j int) bool) []int {
	classes, ok := scalarClasses(item, xs)
	others, ok2 := scalarClasses(item, ys)
	if !ok || !ok2 {
		return matchAny(len(xs), len(ys), fits)
	}
	members := map[string][]int{}
	for j, class := range others {
		members[class] = append(members[class], j)
	}
	return maxMatching(len(xs), len(ys), func(i int) []int { return members[classes[i]] }, fits)
}

// scalarClasses returns a text that equal scalars share; false if there are other values.
func scalarClasses(item *Rules, list []any) ([]string, bool) {
	classes := make([]string, len(list))
	for i, v := range list {
		s, form := scalarText(v)
		if form == notScalar || item.isExcluded() {
			return nil, false
		}
		classes[i] = s
		if n, ok := numberText(v); ok && item.scalarType() == kind.Number {
			classes[i] = n + "#" // "1.0" is 1, and no other text is a number
		}
	}
	return classes, true
}

// matchAny is match where any two may fit.
func matchAny(n, m int, fits func(i, j int) bool) []int {
	all := make([]int, m)
	for j := range all {
		all[j] = j
	}
	return maxMatching(n, m, func(int) []int { return all }, fits)
}

// maxMatching finds as many pairs as there can be among n and m elements, by augmenting
// paths; same positions first, then those of among, which has all that can fit.
func maxMatching(n, m int, among func(i int) []int, fits func(i, j int) bool) []int {
	of, back := allUnpaired(n), allUnpaired(m)
	// seen is the element that the other list's were tried for last.
	seen, round, tries := allUnpaired(m), 0, 0
	var augment func(i int) bool
	try := func(i, j int) bool {
		tries++
		if seen[j] == round || !fits(i, j) {
			return false
		}
		seen[j] = round
		if back[j] >= 0 && !augment(back[j]) {
			return false
		}
		of[i], back[j] = j, i
		return true
	}
	augment = func(i int) bool {
		if i < m && try(i, i) {
			return true
		}
		for _, j := range among(i) {
			if tries >= maxTries {
				return false
			}
			if j != i && try(i, j) {
				return true
			}
		}
		return false
	}
	for round = range n {
		augment(round)
	}
	return of
}

func allUnpaired(n int) []int { return slices.Repeat([]int{-1}, n) }

// invertPairs returns, for each of m elements, the index of its partner, or -1.
func invertPairs(of []int, m int) []int {
	back := allUnpaired(m)
	for i, j := range of {
		if j >= 0 {
			back[j] = i
		}
	}
	return back
}

// findDisplaced returns the fewest elements that were moved: the indices outside a longest increasing run.
func findDisplaced(of []int) []int {
	var tails []int // tails[n] ends the best run of length n+1
	before := allUnpaired(len(of))
	for i, j := range of {
		if j < 0 {
			continue
		}
		n := sort.Search(len(tails), func(n int) bool { return of[tails[n]] >= j })
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		}
		tails[n] = i
	}
	stays := make([]bool, len(of))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			stays[i] = true
		}
	}
	var out []int
	for i, j := range of {
		if j >= 0 && !stays[i] {
			out = append(out, i)
		}
	}
	return out
}

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
	git, gitOK := elementKeysOf(l.rules.keyFields(), l.git)
	live, liveOK := elementKeysOf(l.rules.keyFields(), l.live)
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
func (l *pairedList) renameCandidates(git, live elementKeys, origins elementRecords, whole bool) (candidates [][]int, rivals []int) {
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
func (l *pairedList) indexByPartialKey(live elementKeys) map[string][]int {
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
		if LiveCovers(r, a, b) {
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
