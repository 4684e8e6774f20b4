package merge

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
)

// mode says what becomes of the value that a walk returns.
type mode uint8

const (
	// sparse: it is part of a patch and holds only what differs.
	sparse mode = iota
	// sending: it is part of a list that is sent whole.
	sending
	// looking: nothing is sent, only notes are taken.
	looking
)

// walker makes the patch and says at each place what happens there, in one
// walk, so that neither can have anything that the other lacks.
type walker struct {
	res      Result
	mode     mode
	takeOver bool
	leave    bool
	// recorded says that there is any record to judge by.
	recorded bool
}

// value returns what is to be sent for n, whose want is not nil, and whether it
// differs from live. In a sparse walk it is the patch.
func (w *walker) value(n node) (any, bool) {
	switch want := n.want.(type) {
	case map[string]any:
		if have, ok := n.have.(map[string]any); ok {
			return w.object(n, want, have)
		}
	case []any:
		if have, ok := n.have.([]any); ok {
			return w.list(n, want, have)
		}
	default:
		if scalarEqual(n.rules, n.want, n.have) {
			w.note(n)
			return carried(n.rules, n.have), false
		}
	}
	if w.leaves(n) {
		w.left(n)
		return nil, false
	}
	w.change(n)
	w.contact(n)
	return sendable(n.rules, n.want), true
}

func (w *walker) object(n node, want, have map[string]any) (map[string]any, bool) {
	out, changed := map[string]any{}, false
	put := func(k string, v any, differs bool) {
		changed = changed || differs
		if w.mode == sparse && differs || w.mode != sparse && v != nil {
			out[k] = v
		}
	}
	for _, k := range canon.SortedKeys(want) {
		v, differs := w.member(n.field(k))
		put(k, v, differs)
	}
	stale := n.rules.staleSibling(want, have)
	if stale != "" && w.leaves(n.field(n.rules.Discriminator)) {
		stale = ""
	}
	for _, k := range canon.SortedKeys(have) {
		if _, said := want[k]; !said && have[k] != nil {
			v, differs := w.liveOnly(n.field(k), k == stale)
			put(k, v, differs)
		}
	}
	return out, changed
}

// member returns what is to be sent for a field that git mentions.
func (w *walker) member(n node) (any, bool) {
	switch {
	case n.rules.excluded():
		return w.keep(n), false
	case n.want != nil:
		return w.value(n)
	case n.have != nil && w.leaves(n):
		w.left(n)
	case n.have != nil:
		w.remove(n)
		return nil, true
	}
	return nil, false
}

// liveOnly returns what is to be sent for a field that only live has; stale
// says that it belongs to a discriminator's old value.
func (w *walker) liveOnly(n node, stale bool) (any, bool) {
	switch {
	case n.rules.excluded():
		return w.preserve(n), false
	case n.base.known():
		w.remove(n)
		return nil, true
	case stale:
		w.collateral(n)
		w.contact(n)
		return nil, true
	}
	return w.carry(n), false
}

// carry returns a live-only field that goes along in a list that is sent, nil
// for none: only what belongs to an element that was found by its key (design
// B3).
func (w *walker) carry(n node) any {
	if w.mode == sending && !n.byKey {
		w.collateral(n)
		return nil
	}
	return w.preserve(n)
}

// preserve returns a live-only field as it goes along in a list that is sent, and
// lists it.
func (w *walker) preserve(n node) any {
	v := w.keep(n)
	if v != nil {
		w.res.Preserved = append(w.res.Preserved, n.value(v))
	}
	return v
}

// keep returns live's value of n as it goes along in a list that is sent, nil for
// none.
func (w *walker) keep(n node) any {
	if w.mode != sending || n.have == nil {
		return nil
	}
	w.omit(n)
	if n.rules.omitted() {
		return nil
	}
	return carried(n.rules, n.have)
}

// omit lists what of n's live value, which goes along, is left out.
func (w *walker) omit(n node) {
	if n.rules.omitted() {
		w.collateral(n)
		return
	}
	if !n.rules.omits() {
		return
	}
	switch have := n.have.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(have) {
			if c := n.field(k); c.have != nil {
				w.omit(c)
			}
		}
	case []any:
		list, _ := elements(have)
		names := nameElements(n.rules, nil, list)
		for j, e := range list {
			c := n.element(names.of(e, j), Step{Index: Nowhere, Live: j, After: j})
			c.have = e
			w.omit(c)
		}
	}
}

func (w *walker) list(n node, want, have []any) (any, bool) {
	want, _ = elements(want)
	have, _ = elements(have)
	if w.mode != sparse {
		return w.overlay(n, want, have), true
	}
	defer func() { w.mode = sparse }()
	if settled(n.rules, n.base, want, have) {
		if w.recorded && !same(n.rules, n.base.applied, want) {
			w.mode = looking
			w.overlay(n, want, have)
		}
		return nil, false
	}
	w.mode = sending
	since := w.extent()
	w.res.Lists = append(w.res.Lists, SentList{n.path, len(want)})
	out := w.overlay(n, want, have)
	if w.leavesList(n, since) {
		return nil, false
	}
	return out, true
}

// overlay returns the whole list: each element as git has it, with the
// live-only fields of the live element that it was paired with by key, and with
// live's values of what the rules exclude, however it was paired.
func (w *walker) overlay(n node, want, have []any) []any {
	p := pair(n.rules, want, have)
	order := arrange(n.rules, p.of, len(have))
	names := nameElements(n.rules, want, have)
	records := recordsOf(n.rules, want, n.base)
	live := inverse(p.of, len(have))
	judged := w.firstContact(n, want, have, p, names)
	out := make([]any, len(want))
	for i, e := range want {
		c := n.element(names.of(e, order[i]), Step{Index: i, Live: p.of[i], After: order[i]})
		c.want, c.base = e, records.element(i)
		if j := p.of[i]; j >= 0 {
			c.have = have[j]
			c.byKey = n.byKey && p.byKey[i]
			c.owned = n.owned || !p.byKey[i] && (n.takenOver() || judged[j])
		}
		out[order[i]], _ = w.value(c)
	}
	w.dropped(n, want, have, live, names)
	w.unplaced(n, want, have, p, names)
	w.moved(n, want, have, p, names)
	return out
}

// arrange returns where each element of desired stands in the list that is sent.
// Where order means nothing that is live's order, and what live lacks comes last:
// a request must not move what no line says is moved.
func arrange(r *Rules, of []int, live int) []int {
	order := make([]int, len(of))
	if !r.set() {
		for i := range order {
			order[i] = i
		}
		return order
	}
	next := 0
	for _, i := range inverse(of, live) {
		if i >= 0 {
			order[i] = next
			next++
		}
	}
	for i, j := range of {
		if j < 0 {
			order[i] = next
			next++
		}
	}
	return order
}

func (n node) element(name string, step Step) node {
	step.Element = true
	return node{path: n.path + "[" + name + "]", at: &way{n.at, step}, rules: n.rules.item(), byKey: n.byKey, owned: n.owned}
}

// value is what stands at n.
func (n node) value(v any) Value { return Value{Path: n.path, Value: v, At: n.at.steps()} }

// dropped says of each live element that git does not have why it goes.
func (w *walker) dropped(n node, want, have []any, paired []int, names namer) {
	var origins []base
	for j, e := range have {
		if paired[j] >= 0 {
			continue
		}
		if origins == nil {
			origins = originsOfDropped(n, want, have, paired)
		}
		c := n.element(names.of(e, j), liveElement(j))
		c.have, c.base = e, origins[j]
		if c.base.known() {
			w.record(c, w.classify(c))
			w.leftovers(c)
			continue
		}
		w.record(c, w.classifyForeign(n))
	}
}

// unplaced lists the excluded values of live elements that are paired with none of
// git's, where one of git's that is paired with none may be the same element.
func (w *walker) unplaced(n node, want, have []any, p pairing, names namer) {
	if w.mode != sending || !n.rules.item().LeaveSome() {
		return
	}
	back := inverse(p.of, len(have))
	for j, e := range have {
		if back[j] >= 0 || !mayBeAny(n.rules.key(), want, p.of, e) {
			continue
		}
		c := n.element(names.of(e, j), liveElement(j))
		c.have = e
		w.listExcluded(c)
	}
}

// mayBeAny reports whether one of the unpaired elements may be e: their keys don't
// tell them apart.
func mayBeAny(key []string, want []any, of []int, e any) bool {
	ks, keyed := keysOf(key, []any{e})
	for i, x := range want {
		if of[i] >= 0 {
			continue
		}
		other, ok := keysOf(key, []any{x})
		if !keyed || !ok || agree(ks.parts[0], other.parts[0]) {
			return true
		}
	}
	return false
}

// listExcluded lists the values at and below n that the rules exclude and that a
// request would have to carry.
func (w *walker) listExcluded(n node) {
	switch {
	case n.rules.omitted():
	case n.rules.excluded():
		w.res.Unplaced = append(w.res.Unplaced, n.value(n.have))
	default:
		below(n, w.listExcluded)
	}
}

// moved says which elements of an ordered list stand elsewhere.
func (w *walker) moved(n node, want, have []any, p pairing, names namer) {
	if n.rules.set() {
		return
	}
	elsewhere := displaced(p.of)
	if len(elsewhere) == 0 {
		return
	}
	class := w.classifyOrder(n, want, have)
	for _, i := range elsewhere {
		c := n.element(names.of(want[i], i), Step{Index: i, Live: p.of[i], After: i})
		w.res.Changes = append(w.res.Changes, Change{Path: c.path, At: c.at.steps(), Class: class, Moved: true, live: p.of})
	}
}

// sort brings what was found into the order of the paths.
func (w *walker) sort() {
	byPath := func(a, b Change) int { return strings.Compare(a.Path, b.Path) }
	slices.SortStableFunc(w.res.Changes, byPath)
	slices.SortStableFunc(w.res.Notes, byPath)
	for _, values := range [][]Value{w.res.Preserved, w.res.Collateral, w.res.FirstContact, w.res.Unplaced} {
		slices.SortStableFunc(values, func(a, b Value) int { return strings.Compare(a.Path, b.Path) })
	}
}

// namer shows which element of a list is meant.
type namer struct {
	rules *Rules
	// keyed says that elements are shown by their key, byText by their text, which
	// only sets of nothing but scalars are; long which last parts of a key need the
	// others to be clear.
	keyed, byText bool
	long          map[string]bool
}

// nameElements prepares the names of the elements of both lists. Keys whose
// parts run together (locations) are shown by their last part alone where that
// is enough.
func nameElements(r *Rules, want, have []any) namer {
	n := namer{rules: r, long: map[string]bool{}}
	wantKeys, wantOK := keysOf(r.key(), want)
	haveKeys, haveOK := keysOf(r.key(), have)
	if n.keyed = wantOK && haveOK; !n.keyed {
		n.byText = r.set() && allScalars(want) && allScalars(have)
		return n
	}
	seen := map[string][][]string{}
	for _, list := range [][][]string{wantKeys.parts, haveKeys.parts} {
		own := map[string]bool{}
		for _, parts := range list {
			last := parts[len(parts)-1]
			if n.long[last] || own[last] || slices.ContainsFunc(seen[last], func(other []string) bool { return !agree(parts, other) }) {
				n.long[last] = true
				continue
			}
			own[last], seen[last] = true, append(seen[last], parts)
		}
	}
	return n
}

func (n namer) of(e any, index int) string {
	if !n.keyed {
		if s, _ := text(e); n.byText {
			return s
		}
		return fmt.Sprint(index)
	}
	last, _ := text(fieldOf(e, n.rules.Key[len(n.rules.Key)-1]))
	if n.rules.Join == "" && last != "" && !n.long[last] {
		return last
	}
	return strings.Join(n.key(e), n.rules.Join)
}

func allScalars(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		_, kind := text(v)
		return kind == notScalar
	})
}

// key are the parts of an element's key that it has.
func (n namer) key(e any) []string {
	var parts []string
	for _, k := range n.rules.Key {
		if s, _ := text(fieldOf(e, k)); s != "" {
			parts = append(parts, s)
		}
	}
	return parts
}
