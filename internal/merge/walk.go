package merge

import (
	"slices"
	"strconv"

	"trueup/internal/canon"
	"trueup/internal/effect"
)

// patchBuilder makes the patch and lists the changes in one walk, so that neither lacks anything.
type patchBuilder struct {
	res             Comparison
	takeOver, leave bool
	// recorded says that the object has a record to judge by: one that was applied, or a write without an
	// answer that live shows.
	recorded bool
	// whole says that the walk is in a list that is sent whole: all of its value is sent, and not only what differs.
	whole bool
}

// valueToSend returns what to send for n, whose want is not nil, and whether it differs from live.
func (w *patchBuilder) valueToSend(n node) (any, bool) {
	switch want := n.want.(type) {
	case map[string]any:
		if have, ok := n.have.(map[string]any); ok {
			return w.objectToSend(n, want, have)
		}
	case []any:
		if have, ok := n.have.([]any); ok {
			return w.listToSend(n, withoutNulls(want), withoutNulls(have))
		}
	default:
		if scalarEqual(n.rules, n.want, n.have) {
			w.recordAgreed(n)
			return carryLive(n.rules, n.have), false
		}
	}
	return w.recordDifference(n)
}

func (w *patchBuilder) objectToSend(n node, want, have map[string]any) (map[string]any, bool) {
	out, changed := map[string]any{}, false
	put := func(k string, v any, differs bool) {
		changed = changed || differs
		if differs && !w.whole || w.whole && v != nil {
			out[k] = v
		}
	}
	for _, k := range canon.SortedKeys(want) {
		v, differs := w.fieldToSend(n.fieldNode(k))
		put(k, v, differs)
	}
	stale := n.rules.staleVariantField(want, have)
	if stale != "" && w.leavesLive(w.classify(n.fieldNode(n.rules.Discriminator))) {
		stale = ""
	}
	for _, k := range canon.SortedKeys(have) {
		if _, said := want[k]; !said {
			v, differs := w.liveOnlyToSend(n.fieldNode(k), k == stale)
			put(k, v, differs)
		}
	}
	return out, changed
}

// fieldToSend returns what to send for a field that git mentions.
func (w *patchBuilder) fieldToSend(n node) (any, bool) {
	switch {
	case n.rules.isExcluded() || n.want == nil && n.rules.isEmpty(n.have):
		return w.carryUnmanaged(n), false
	case n.rules.areEmpty(n.want, n.have):
		return SendableValue(n.rules, n.want), false
	case n.want != nil:
		return w.valueToSend(n)
	}
	return w.recordDifference(n)
}

// liveOnlyToSend returns what to send for a field that only live has; stale is a discriminator's old one.
func (w *patchBuilder) liveOnlyToSend(n node, stale bool) (any, bool) {
	switch {
	case n.have == nil:
		if w.whole && !n.rules.isExcluded() { // a list that is sent has no nulls (docs/design.md B2.4)
			w.recordCollateral(n)
		}
		return nil, false
	case n.rules.isExcluded(): // it goes along with the element
	case n.base.isKnown() && !n.rules.isEmpty(n.have):
		return w.recordDifference(n)
	case stale:
		w.recordCollateral(n)
		w.recordFirstContact(n)
		return nil, true
	case w.whole && !n.byKey: // it may belong to another element (docs/design.md B3)
		w.recordCollateral(n)
		return nil, false
	}
	v := w.carryUnmanaged(n)
	if v != nil {
		w.res.Preserved = append(w.res.Preserved, n.toValue(v))
	}
	return v, false
}

// recordDifference records a place where git and live differ, and returns what is to be sent.
func (w *patchBuilder) recordDifference(n node) (any, bool) {
	class := w.classify(n)
	w.recordChange(n, class)
	if w.leavesLive(class) {
		w.res.Changes[len(w.res.Changes)-1].Left = true
		return nil, false
	}
	w.recordFirstContact(n)
	return SendableValue(n.rules, n.want), true
}

// leavesLive reports whether live's value stays. A list that is sent whole is judged as a whole.
func (w *patchBuilder) leavesLive(c ChangeKind) bool { return w.leave && !w.whole && w.mayBeDrift(c) }

// mayBeDrift reports whether a class does not prove that git changed the value. Without a record, git may have, unless a
// person has said that git owns the object.
func (w *patchBuilder) mayBeDrift(c ChangeKind) bool {
	return c == DriftOverwrite || c == UnknownBase && !w.takeOver
}

// carryUnmanaged returns live's value of n as a list that is sent takes it along, or nil, and lists what a rule omits from it.
func (w *patchBuilder) carryUnmanaged(n node) any {
	if !w.whole || n.have == nil {
		return nil
	}
	if n.rules.hasAnywhere((*Rules).isOmitted) {
		w.recordOmitted(n)
	}
	if n.rules.isOmitted() {
		return nil
	}
	return carryLive(n.rules, n.have)
}

func (w *patchBuilder) recordOmitted(n node) {
	if n.rules.isOmitted() {
		w.recordCollateral(n)
		return
	}
	for c := range n.childNodes(true) {
		w.recordOmitted(c)
	}
}

// listToSend compares two lists. A list can only be sent whole. So a list that both git and another client changed can be
// neither sent nor left (docs/design.md B4).
func (w *patchBuilder) listToSend(n node, want, have []any) (any, bool) {
	if w.whole {
		w.recordLostNulls(n)
		return w.overlayList(n.pairElements(want, have)), true
	}
	equal := needsNoPatch(n.rules, n.base, want, have)
	if equal && (!w.recorded || isSame(n.rules, n.base.applied, want)) {
		return nil, false
	}
	before := w.res
	w.whole = true
	w.recordLostNulls(n)
	out := w.overlayList(n.pairElements(want, have))
	w.whole = false
	if !equal && !w.leavesList(n.path, w.res.Changes[len(before.Changes):]) {
		w.res.Lists = append(w.res.Lists, SentList{n.path, len(want)})
		return out, true
	}
	before.Changes, before.Notes = w.res.Changes, w.res.Notes
	w.res = before
	return nil, false
}

// recordLostNulls lists the null elements of live, which a list that is sent has not (docs/design.md B2.4).
func (w *patchBuilder) recordLostNulls(n node) {
	list, _ := n.have.([]any)
	for i, e := range list {
		if e == nil {
			w.recordCollateral(n.elementNode(strconv.Itoa(i), effect.Nowhere, effect.Nowhere, effect.Nowhere))
		}
	}
}

// leavesList reports whether a list of these changes stays as live has it, and marks them.
func (w *patchBuilder) leavesList(path string, changes []Difference) bool {
	drifted := 0
	for _, c := range changes {
		if w.mayBeDrift(c.Class) {
			drifted++
		}
	}
	if !w.leave || drifted == 0 {
		return false
	}
	if drifted < len(changes) {
		w.res.Mixed = append(w.res.Mixed, path)
		return false
	}
	for i := range changes {
		changes[i].Left = true
	}
	return true
}

// overlayList returns the whole list: git's elements, with the live-only fields of elements that a key
// pairs, and with live's values of what the rules exclude.
func (w *patchBuilder) overlayList(l pairedList) []any {
	order := arrangeElements(l)
	judged := w.checkFirstContact(l)
	out := make([]any, len(l.git))
	for i, j := range l.of {
		c := l.desiredNode(i, order[i])
		if j >= 0 && !l.keyed[i] {
			c.owned = l.owned || l.isTakenOver() || judged[j]
		}
		before := len(w.res.Changes)
		out[order[i]], _ = w.valueToSend(c)
		if n := len(w.res.Changes); j < 0 && i+1 < len(l.git) && !l.rules.isSet() && n > before {
			w.res.Changes[n-1].Of = len(l.git)
		}
	}
	w.recordDropped(l)
	w.recordMoved(l)
	return out
}

// arrangeElements returns the index of each element of desired in the list that is sent. A set has live's
// order, then what live lacks: a request must not move what no line shows as moved.
func arrangeElements(l pairedList) []int {
	order, next, set := make([]int, len(l.git)), 0, l.rules.isSet()
	put := func(i int) { order[i], next = next, next+1 }
	for _, i := range l.back {
		if set && i >= 0 {
			put(i)
		}
	}
	for i, j := range l.of {
		if !set || j < 0 {
			put(i)
		}
	}
	return order
}

func (w *patchBuilder) recordDropped(l pairedList) {
	if !slices.Contains(l.back, -1) {
		return
	}
	origins := originsOfDropped(l)
	for j, i := range l.back {
		if i >= 0 {
			continue
		}
		c := l.liveNode(j, origins.baseAt(j))
		class := w.classify(c)
		switch {
		case c.base.isKnown():
		case w.recorded && l.isTakenOver():
			class = DriftOverwrite
		case w.recorded:
			class = TakeOver
		}
		w.recordChange(c, class)
		if c.rules.HasExcluded() && l.mayMatchUnpaired(c.have) {
			w.recordUnplaced(c)
		}
	}
}

// mayMatchUnpaired reports whether e may be an unpaired element of git: none of its keys differs.
func (l pairedList) mayMatchUnpaired(e any) bool {
	key := l.rules.keyFields()
	keys, keyed := elementKeysOf(key, []any{e})
	for i, j := range l.of {
		if j >= 0 {
			continue
		}
		other, ok := elementKeysOf(key, []any{l.git[i]})
		if !keyed || !ok || keysAgree(keys.parts[0], other.parts[0]) {
			return true
		}
	}
	return false
}

// recordUnplaced lists the excluded values at and below n that a request would have to carry.
func (w *patchBuilder) recordUnplaced(n node) {
	switch {
	case n.rules.isOmitted():
	case n.rules.isExcluded():
		w.res.Unplaced = append(w.res.Unplaced, n.toValue(n.have))
	default:
		for c := range n.childNodes(false) {
			w.recordUnplaced(c)
		}
	}
}

func (w *patchBuilder) recordMoved(l pairedList) {
	if l.rules.isSet() {
		return
	}
	elsewhere := findDisplaced(l.of)
	if len(elsewhere) == 0 {
		return
	}
	class := w.classifyOrder(l)
	for _, i := range elsewhere {
		c := l.desiredNode(i, i)
		w.res.Changes = append(w.res.Changes, Difference{Path: c.path, At: c.at.steps(), Class: class, Moved: true, live: l.of})
	}
}
