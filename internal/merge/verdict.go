package merge

import "trueup/internal/canon"

// change says that n is not as git has it.
func (w *walker) change(n node) { w.record(n, w.classify(n)) }

func (w *walker) record(n node, class Class) {
	w.res.Changes = append(w.res.Changes, Change{
		Path: n.path, At: n.at.steps(), Class: class,
		Base: n.before(), Live: n.have, Desired: sendable(n.rules, n.want),
	})
}

// note says that live has already what git came to say.
func (w *walker) note(n node) {
	if !w.recorded {
		return
	}
	if b := n.before(); !scalarEqual(n.rules, b, n.want) {
		w.res.Notes = append(w.res.Notes, Change{Path: n.path, At: n.at.steps(), Class: Converged, Base: b, Live: n.have, Desired: n.want})
	}
}

// remove says that n, which live has, goes, and what goes with it.
func (w *walker) remove(n node) {
	w.change(n)
	if n.base.known() {
		w.leftovers(n)
	}
	w.contact(n)
}

// classify is the table of docs/design.md B4 for a place where git and live differ.
func (w *walker) classify(n node) Class {
	b := n.before()
	liveIsBase := b != nil && n.have != nil && Covers(n.rules, b, n.have)
	switch {
	case !w.recorded:
		return UnknownBase
	case n.banned && b == nil:
		return DriftOverwrite
	case n.want == nil:
		return classifyRemoved(b, liveIsBase)
	case b == nil && n.have != nil:
		return TakeOver
	case b == nil:
		return Changed
	case same(n.rules, b, n.want):
		return DriftOverwrite
	case liveIsBase:
		return Changed
	}
	return Conflict
}

// classifyRemoved is the verdict on what live has and git does not want.
func classifyRemoved(b any, liveIsBase bool) Class {
	if b == nil || liveIsBase {
		return Removed
	}
	return RemovedConflict
}

// classifyForeign is the verdict on an element of the list n that neither git
// nor a record has.
func (w *walker) classifyForeign(n node) Class {
	switch {
	case !w.recorded:
		return UnknownBase
	case n.takenOver():
		return DriftOverwrite
	}
	return TakeOver
}

// classifyOrder is the verdict on the order of an ordered list.
func (w *walker) classifyOrder(n node, want, have []any) Class {
	recorded, ok := elements(n.before())
	switch {
	case !w.recorded:
		return UnknownBase
	case !ok:
		return TakeOver
	case len(displaced(pair(n.rules, recorded, want).of)) == 0:
		return DriftOverwrite
	case len(displaced(pair(n.rules, recorded, have).of)) == 0:
		return Changed
	}
	return Conflict
}

// collateral lists n, which git never had and which goes.
func (w *walker) collateral(n node) {
	if w.mode != looking {
		w.res.Collateral = append(w.res.Collateral, n.value(n.have))
	}
}

// leftovers lists what live has below n, which git had and which goes, beyond
// what git had there.
func (w *walker) leftovers(n node) {
	below(n, func(c node) {
		switch {
		case c.rules.serverOwned():
		case c.base.known():
			w.leftovers(c)
		default:
			w.collateral(c)
		}
	})
}

// below calls visit for each field or element of n's live value.
func below(n node, visit func(node)) {
	switch have := n.have.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(have) {
			if c := n.field(k); c.have != nil {
				visit(c)
			}
		}
	case []any:
		list, _ := elements(have)
		names := nameElements(n.rules, nil, list)
		origins := originsOf(n, list)
		for j, e := range list {
			c := n.element(names.of(e, j), liveElement(j))
			c.have, c.base = e, origins[j]
			visit(c)
		}
	}
}

// originsOf returns what the records of n know of each live element: by key,
// and without one where live still has all that the record had.
func originsOf(n node, have []any) []base {
	return n.base.spread(len(have), func(list []any) []int {
		p, keyed := pairByKey(n.rules.key(), list, have)
		if !keyed {
			return matchValues(n.rules.item(), list, have, func(i, j int) bool { return Covers(n.rules.item(), list[i], have[j]) })
		}
		for i, byKey := range p.byKey {
			if !byKey {
				p.of[i] = -1
			}
		}
		return p.of
	})
}

// originsOfDropped is originsOf for the live elements that are paired with none of
// git's. Without keys, an element that git still has is not one that git removed, even
// if live has another that looks like it; and a record's element belongs to a live
// element that git has before it belongs to one that looks the same: whoever doubled an
// element did not take one out of git.
func originsOfDropped(n node, want, have []any, paired []int) []base {
	if _, keyed := keysOf(n.rules.key(), have); keyed {
		return originsOf(n, have)
	}
	item := n.rules.item()
	return n.base.spread(len(have), func(list []any) []int {
		unchanged, kept := make([]bool, len(want)), make([]bool, len(list))
		for i, j := range pair(n.rules, want, list).of {
			if j >= 0 && same(item, want[i], list[j]) {
				unchanged[i], kept[j] = true, true
			}
		}
		removed := where(len(list), func(j int) bool { return !kept[j] })
		live := append(where(len(have), func(j int) bool { return paired[j] >= 0 && !unchanged[paired[j]] }),
			where(len(have), func(j int) bool { return paired[j] < 0 })...)
		// What is paired once stays so: those that come first are.
		pairs := matchValues(item, at(have, live), at(list, removed), func(i, j int) bool { return Covers(item, list[removed[j]], have[live[i]]) })
		of := filled(len(list), -1)
		for i, j := range pairs {
			if j >= 0 {
				of[removed[j]] = live[i]
			}
		}
		return of
	})
}

// where returns the indices below n for which is holds.
func where(n int, is func(int) bool) []int {
	var all []int
	for i := range n {
		if is(i) {
			all = append(all, i)
		}
	}
	return all
}

// at returns the elements of a list at the indices.
func at(list []any, indices []int) []any {
	out := make([]any, len(indices))
	for k, i := range indices {
		out[k] = list[i]
	}
	return out
}

// spread hands out the elements of a list's records to so many live ones; of says
// which each of a record's is, -1 for none.
func (b base) spread(n int, of func(record []any) []int) []base {
	out := make([]base, n)
	for r, record := range append([]any{b.applied}, b.pending...) {
		list, _ := elements(record)
		for i, j := range of(list) {
			switch {
			case j < 0:
			case r == 0:
				out[j].applied = list[i]
			default:
				out[j].pending = append(out[j].pending, list[i])
			}
		}
	}
	return out
}

// contact lists the live list elements at and below n, which goes, that git
// never had, in lists that nobody took over (docs/design.md 0.1).
func (w *walker) contact(n node) {
	list := isList(n.have)
	if w.takeOver || list && !w.guards(n) {
		return
	}
	below(n, func(c node) {
		switch {
		case c.rules.serverOwned():
		case !list || c.base.known():
			w.contact(c)
		default:
			w.lose(c)
		}
	})
}

// guards reports whether the elements of the list n need to be known to git.
func (w *walker) guards(n node) bool {
	return !w.takeOver && w.mode != looking && !n.takenOver()
}

func (w *walker) lose(n node) {
	w.res.FirstContact = append(w.res.FirstContact, n.value(n.have))
}

// firstContact judges the live elements of a list that is sent and was never
// taken over. An element stays if it is paired by key, or if git has all of
// it at another place; by position alone nothing is known to be the same. It
// returns which elements need no look below them.
func (w *walker) firstContact(n node, want, have []any, p pairing, names namer) []bool {
	judged := make([]bool, len(have))
	if !w.guards(n) {
		return judged
	}
	paired := inverse(p.of, len(have))
	stays := staying(n.rules, want, have, p)
	origins := originsOf(n, have)
	for j, e := range have {
		i := paired[j]
		if i >= 0 && (p.byKey[i] || stays[j] < 0 && isList(e) && isList(want[i])) {
			continue
		}
		c := n.element(names.of(e, j), liveElement(j))
		c.have, c.base = e, origins[j]
		switch {
		case stays[j] >= 0:
			c.want = want[stays[j]]
			w.contactBeyond(c)
		case c.base.known():
			w.contact(c)
		default:
			w.lose(c)
		}
		judged[j] = true
	}
	return judged
}

// staying returns, for each live element, the index of the desired element that
// is all of it that git knows, or -1; pairs by key stay pairs.
func staying(r *Rules, want, have []any, p pairing) []int {
	paired := inverse(p.of, len(have))
	of := matchAny(len(want), len(have), func(i, j int) bool {
		if k := paired[j]; p.byKey[i] || k >= 0 && p.byKey[k] {
			return p.of[i] == j
		}
		return equalKeys(r.key(), want[i], have[j]) && Covers(r.item(), want[i], have[j])
	})
	return inverse(of, len(have))
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// contactBeyond is contact for what n's live value has beyond git's, of an
// element that is replaced by git's form of it.
func (w *walker) contactBeyond(n node) {
	switch want := n.want.(type) {
	case map[string]any:
		below(n, func(c node) {
			switch {
			case c.rules.serverOwned():
			case c.want == nil:
				w.contact(c)
			default:
				w.contactBeyond(c)
			}
		})
	case []any:
		list, _ := elements(want)
		have, _ := elements(n.have)
		p := pair(n.rules, list, have)
		names := nameElements(n.rules, list, have)
		for i, j := range p.of {
			if j >= 0 {
				c := n.element(names.of(list[i], i), Step{Index: i, Live: j, After: i})
				c.want, c.have = list[i], have[j]
				w.contactBeyond(c)
			}
		}
	}
}
