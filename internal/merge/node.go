package merge

import (
	"iter"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
)

// node is one place of the tree as the comparison walks down.
type node struct {
	path       string
	at         *nodePath
	rules      *Rules
	base       recordedValues
	want, have any // want and have are desired and live; nil is absent or null
	// byKey says that every list element above was paired by its key, so that
	// live-only fields belong to this very element and may be carried over.
	byKey  bool
	owned  bool // owned says that the node lies in a list without keys that was taken over
	banned bool // banned says that git wants it to be absent, and had it without a value when it was last applied
}

// recordedValues is what git had before, in the spec that was applied last and those that were begun.
type recordedValues struct {
	applied any
	pending []any
	gone    bool // gone says that a write was begun that was to leave nothing here
	renamed bool // renamed says that they have this element under another key
}

func (b recordedValues) isKnown() bool { return b.applied != nil || len(b.pending) > 0 }

func (b *recordedValues) addPendingRecord(v any) {
	if v == nil {
		b.gone = true
		return
	}
	b.pending = append(b.pending, v)
}

func (b recordedValues) fieldBase(name string) recordedValues {
	c := recordedValues{applied: fieldOf(b.applied, name)}
	for _, p := range b.pending {
		c.addPendingRecord(fieldOf(p, name))
	}
	return c
}

// elementRecords has the base of each element of a list; it may be shorter than the list.
type elementRecords []recordedValues

func (b elementRecords) baseAt(i int) recordedValues {
	if i < len(b) {
		return b[i]
	}
	return recordedValues{}
}

// elementBases returns the bases of n elements; indices returns the index of each in a record's list,
// -1 for none, or nil for the same index.
func (b recordedValues) elementBases(n int, indices func(record []any) []int) elementRecords {
	if !b.isKnown() {
		return nil
	}
	out := make(elementRecords, n)
	for r, record := range append([]any{b.applied}, b.pending...) {
		list := withoutNulls(record)
		var of []int
		if len(list) > 0 {
			of = indices(list)
		}
		for i := range out {
			var v any
			if j := partnerIndex(of, i); j >= 0 && j < len(list) {
				v = list[j]
			}
			if r == 0 {
				out[i].applied = v
			} else {
				out[i].addPendingRecord(v)
			}
		}
	}
	return out
}

func partnerIndex(of []int, i int) int {
	if of == nil {
		return i
	}
	return of[i]
}

// recordedValue is the record that live is judged by. A pending write that took effect without an answer
// is no drift. If live shows nothing of one, it counts only for what git has taken back since.
func (n node) recordedValue() any {
	b := n.base
	covers := func(record any) bool { return n.have != nil && LiveCovers(n.rules, record, n.have) }
	switch {
	case n.have == nil && b.gone:
		return nil
	case len(b.pending) == 0 || b.applied != nil && covers(b.applied):
		return b.applied
	}
	for _, p := range slices.Backward(b.pending) {
		if covers(p) {
			return p
		}
	}
	if b.applied == nil && n.want == nil {
		return b.pending[len(b.pending)-1]
	}
	return b.applied
}

// isTakenOver reports whether the list at n is git's whole (docs/design.md 0.1).
func (n node) isTakenOver() bool {
	_, ok := n.base.applied.([]any)
	return ok || n.owned
}

func (n node) toValue(v any) PathValue { return PathValue{Path: n.path, Value: v, At: n.at.steps()} }

func (n node) fieldNode(name string) node {
	return node{
		path: kind.JoinField(n.path, name), at: &nodePath{n.at, PathStep{Field: name}}, rules: n.rules.fieldRules(name), base: n.base.fieldBase(name),
		want: fieldOf(n.want, name), have: fieldOf(n.have, name), byKey: n.byKey, owned: n.owned,
		banned: isNull(n.want, name) && hasEmptyField(n.rules.fieldRules(name), n.base.applied, name),
	}
}

func (n node) elementNode(name string, index, live, after int) node {
	return node{
		path: n.path + "[" + name + "]", at: &nodePath{n.at, PathStep{Element: true, Index: index, Live: live, After: after}},
		rules: n.rules.elementRules(), byKey: n.byKey, owned: n.owned,
	}
}

// childNodes returns the fields or elements of n's live value; stays says that the request keeps them.
func (n node) childNodes(stays bool) iter.Seq[node] {
	return func(yield func(node) bool) {
		switch have := n.have.(type) {
		case map[string]any:
			for _, k := range canon.SortedKeys(have) {
				if c := n.fieldNode(k); c.have != nil && !yield(c) {
					return
				}
			}
		case []any:
			list := withoutNulls(have)
			names, origins := newNamer(n.rules, nil, list), recordsOfLive(n, list)
			for j, e := range list {
				after := effect.Nowhere
				if stays {
					after = j
				}
				c := n.elementNode(names.nameOf(e, j), effect.Nowhere, j, after)
				c.have, c.base = e, origins.baseAt(j)
				if !yield(c) {
					return
				}
			}
		}
	}
}

// pairedList is a node with a list in git and in live, whose elements are paired.
type pairedList struct {
	node
	git, live []any
	pairing
	back  []int // the index in git of each element of live, or -1
	names namer
	bases elementRecords
}

// pairElements pairs the elements of two lists, which have no nulls.
func (n node) pairElements(git, live []any) pairedList {
	l := pairedList{node: n, git: git, live: live, pairing: pairLists(n.rules, git, live)}
	l.back, l.bases = invertPairs(l.of, len(live)), n.base.basesOf(n.rules, git)
	if slices.Contains(l.of, -1) && slices.Contains(l.back, -1) {
		live = l.pairRenamed()
	}
	l.names = newNamer(n.rules, git, live)
	return l
}

// basesOf returns the bases of the elements of git's list.
func (b recordedValues) basesOf(r *Rules, git []any) elementRecords {
	return b.elementBases(len(git), func(record []any) []int { return pairIfReordered(r, git, record) })
}

// desiredNode is the node of an element that git has, which is sent at an index.
func (l pairedList) desiredNode(i, after int) node {
	c := l.elementNode(l.names.nameOf(l.git[i], after), i, l.of[i], after)
	c.want, c.base, c.byKey = l.git[i], l.bases.baseAt(i), l.byKey && l.keyed[i]
	c.at.Renamed = c.base.renamed
	if j := l.of[i]; j >= 0 {
		c.have = l.live[j]
	}
	return c
}

// liveNode is the node of an element of live that git lacks.
func (l pairedList) liveNode(j int, b recordedValues) node {
	c := l.elementNode(l.names.nameOf(l.live[j], j), effect.Nowhere, j, effect.Nowhere)
	c.have, c.base = l.live[j], b
	return c
}

// recordsOfLive returns what the records of n have of each live element: by key, and without keys if live has all of it.
func recordsOfLive(n node, have []any) elementRecords {
	return n.base.elementBases(len(have), func(list []any) []int {
		p, keyed := pairByKey(n.rules.keyFields(), list, have)
		if !keyed {
			return invertPairs(matchValues(n.rules.elementRules(), list, have, func(i, j int) bool { return LiveCovers(n.rules.elementRules(), list[i], have[j]) }), len(have))
		}
		for i, keyed := range p.keyed {
			if !keyed {
				p.of[i] = -1
			}
		}
		return invertPairs(p.of, len(have))
	})
}

// originsOfDropped is origins for the live elements that git lacks. Without keys, an element that
// git still has is not one that git removed, even if live has its double; and an element of a
// record belongs first to a live element that git has, then to one that looks the same.
func originsOfDropped(l pairedList) elementRecords {
	if _, keyed := elementKeysOf(l.rules.keyFields(), l.live); keyed {
		return recordsOfLive(l.node, l.live)
	}
	item := l.rules.elementRules()
	return l.base.elementBases(len(l.live), func(record []any) []int {
		unchanged, kept := make([]bool, len(l.git)), make([]bool, len(record))
		for i, j := range pairLists(l.rules, l.git, record).of {
			if j >= 0 && isSame(item, l.git[i], record[j]) {
				unchanged[i], kept[j] = true, true
			}
		}
		var changed, dropped, removed []int
		for j, i := range l.back {
			if i < 0 {
				dropped = append(dropped, j)
			} else if !unchanged[i] {
				changed = append(changed, j)
			}
		}
		for j := range record {
			if !kept[j] {
				removed = append(removed, j)
			}
		}
		// What is paired once stays so: those that come first are.
		live, of := append(changed, dropped...), allUnpaired(len(l.live))
		for i, j := range matchValues(item, pickElements(l.live, live), pickElements(record, removed), func(i, j int) bool {
			return LiveCovers(item, record[removed[j]], l.live[live[i]])
		}) {
			if j >= 0 {
				of[live[i]] = removed[j]
			}
		}
		return of
	})
}

func pickElements(list []any, indices []int) []any {
	out := make([]any, len(indices))
	for k, i := range indices {
		out[k] = list[i]
	}
	return out
}

// isNull reports whether v is an object that says null of the field.
func isNull(v any, name string) bool {
	value, said := lookUpField(v, name)
	return said && value == nil
}

// hasEmptyField reports whether v has a field without a value: null, or a documented one that is empty.
func hasEmptyField(r *Rules, v any, name string) bool {
	value, said := lookUpField(v, name)
	return said && r.isEmpty(value)
}

func fieldOf(v any, name string) any {
	value, _ := lookUpField(v, name)
	return value
}

func lookUpField(v any, name string) (any, bool) {
	value, ok := canon.Object(v)[name]
	return value, ok
}

// withoutNulls returns the list v without nulls, which say nothing and may not be sent (docs/design.md B2.4), or nil.
func withoutNulls(v any) []any {
	list, _ := v.([]any)
	if !slices.Contains(list, nil) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e any) bool { return e == nil })
}
