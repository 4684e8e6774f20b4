package merge

import (
	"maps"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
)

// CompletedWrite is a write to an object, whose result Check compares with what it asked for.
type CompletedWrite struct {
	Rules *Rules
	// Before is the spec right before the write, nil for a creation. Request is the spec of the request, a merge patch
	// (RFC 7396). Now is the spec after it.
	Before, Request, Now any
	// Lost are the live values that the request drops although nobody asked for it (Result.Collateral): it is no harm if
	// they come back.
	Lost []PathValue
}

// MismatchKind is how a server failed a write in one place.
type MismatchKind string

// The faults. The request asked for the first two. It did not ask for Altered: the server, or another client, dropped,
// changed or added something.
const (
	NotKept    MismatchKind = "not-kept"    // the server did not keep a value or an order
	NotRemoved MismatchKind = "not-removed" // the value that the request removes is still there
	Altered    MismatchKind = "altered"
)

// Mismatch is a place where an object differs from what a request makes of it.
type Mismatch struct {
	Path  string       `json:"path"` // shown to people, as that of a Change
	Fault MismatchKind `json:"fault"`
	// Sent is what the request makes of the place, Returned what it has now; both are nil where it is absent.
	Sent     any `json:"sent"`
	Returned any `json:"returned"`
	// Hint is the override to write if the server is right, in the form that the project file has:
	// {kind: CDN, path: spec.note, ignore: true}.
	Hint string `json:"hint,omitempty"`
	// SameNumber says that both values are the same number in other words, such as "1.0" and 1.
	SameNumber bool       `json:"-"`
	At         []PathStep `json:"-"` // Index is that of Sent, Live that of Returned
}

// Check compares an object with what a write makes of it. It returns each place that differs, and the values that the
// server filled in where neither the request nor the object before it had any.
func (w CompletedWrite) Check() (found []Mismatch, filled []PathValue) {
	c := checker{lost: w.Lost}
	after := effect.ApplyPatch(w.Request, w.Before)
	c.checkPlace(node{rules: w.Rules, want: after, have: w.Now}, w.Before, sentPartOf(w.Request, w.Before))
	return c.found, c.filled
}

// checker walks three specs at once. A node's want is what the request makes of a place, and its have what is there now;
// was is what was there before.
type checker struct {
	lost   []PathValue
	found  []Mismatch
	filled []PathValue
}

// sentPart is what a request has for a place: the whole value, some fields of an object, or nothing.
type sentPart struct {
	isWhole bool
	fields  map[string]any
}

// sentPartOf returns what a merge patch with a value for a place sends there; was is the value before.
func sentPartOf(patch, was any) sentPart {
	fields, isObject := patch.(map[string]any)
	if _, wasObject := was.(map[string]any); isObject && wasObject {
		return sentPart{fields: fields}
	}
	return sentPart{isWhole: true}
}

func (s sentPart) sentField(name string, was any) sentPart {
	if patch, isSent := s.fields[name]; isSent {
		return sentPartOf(patch, was)
	}
	return sentPart{isWhole: s.isWhole}
}

// checkPlace checks a place; was is the value before.
func (c *checker) checkPlace(n node, was any, sent sentPart) {
	switch {
	case n.rules.isExcluded() || n.rules.areEmpty(n.want, n.have):
	case n.want == nil && n.rules.isEmpty(was):
		c.noteFilled(n)
	case n.want == nil && sent.isWhole:
		c.checkRemoved(n, was)
	default:
		c.checkKept(n, was, sent)
	}
}

// checkKept checks a place that has a value after the request.
func (c *checker) checkKept(n node, was any, sent sentPart) {
	have := n.have
	if n.rules.isEmpty(have) && sent.fields != nil {
		have = map[string]any{} // the request asked for some of its fields only
	}
	switch want := n.want.(type) {
	case map[string]any:
		if have, ok := have.(map[string]any); ok {
			all := maps.Clone(want)
			maps.Copy(all, have)
			for _, k := range canon.SortedKeys(all) {
				was := fieldOf(was, k)
				c.checkPlace(n.fieldNode(k), was, sent.sentField(k, was))
			}
			return
		}
	case []any:
		if have, ok := have.([]any); ok {
			c.checkList(n.pairElements(withoutNulls(want), withoutNulls(have)), withoutNulls(was), sent)
			return
		}
	}
	if !LiveCovers(n.rules, n.want, n.have) && !n.rules.areEmpty(ManagedValue(n.rules, n.want), ManagedValue(n.rules, n.have)) {
		c.reportMismatch(n, sent.isWhole)
	}
}

// checkList checks the elements of a list, and their order.
func (c *checker) checkList(l pairedList, was []any, sent sentPart) {
	l.pairMoved()
	if !l.rules.isSet() && len(findDisplaced(l.of)) > 0 {
		c.reportMismatch(l.node, sent.isWhole)
	}
	before := pairLists(l.rules, l.git, was).of
	for i, j := range l.of {
		e := l.desiredNode(i, i)
		switch b := before[i]; {
		case j < 0:
			c.reportMismatch(e, sent.isWhole)
		case b < 0:
			c.checkPlace(e, nil, sent)
		default:
			c.checkPlace(e, was[b], sent)
		}
	}
	for j, i := range l.back {
		if i < 0 {
			c.checkUnpaired(l.liveNode(j, recordedValues{}), was, l.rules, sent.isWhole)
		}
	}
}

// pairMoved pairs the elements of a list without keys by their values, if each of them is somewhere.
func (l *pairedList) pairMoved() {
	item := l.rules.elementRules()
	if len(l.rules.keyFields()) > 0 || len(l.git) != len(l.live) {
		return
	}
	anywhere := matchValues(item, l.git, l.live, func(i, j int) bool { return LiveCovers(item, l.git[i], l.live[j]) })
	if !slices.Contains(anywhere, -1) {
		l.of, l.back = anywhere, invertPairs(anywhere, len(l.live))
	}
}

// checkUnpaired checks an element that the list should not have; was is the list before.
func (c *checker) checkUnpaired(e node, was []any, rules *Rules, isSent bool) {
	switch isOld := hasElement(rules, was, e.have); {
	case isOld && isSent:
		c.reportNotRemoved(e)
	case isOld || isSent || len(was) > 0:
		c.reportMismatch(e, isSent)
	default:
		c.noteFilled(e)
	}
}

// hasElement reports whether a list has the element: one with its key, or without keys one that is covered by it.
func hasElement(r *Rules, list []any, e any) bool {
	return slices.ContainsFunc(list, func(old any) bool {
		p, keyed := pairByKey(r.keyFields(), []any{old}, []any{e})
		return keyed && p.of[0] == 0 || !keyed && LiveCovers(r.elementRules(), old, e)
	})
}

// checkRemoved checks a place that the request removes. If all that it had comes back, the server did not remove it, although
// a single value may be its default.
func (c *checker) checkRemoved(n node, was any) {
	if LiveCovers(n.rules, was, n.have) && !n.rules.isEmpty(ManagedValue(n.rules, n.have)) {
		c.reportNotRemoved(n)
		return
	}
	c.checkRefilled(n, was)
}

// checkRefilled checks a place that the server removed in part or changed: values are its defaults now, but no list element
// is.
func (c *checker) checkRefilled(n node, was any) {
	switch have := n.have.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(have) {
			if f := n.fieldNode(k); !f.rules.isExcluded() && !f.rules.isEmpty(f.have) {
				c.checkRefilled(f, fieldOf(was, k))
			}
		}
		return
	case []any:
		for e := range n.childNodes(true) {
			if hasElement(n.rules, withoutNulls(was), e.have) {
				c.reportNotRemoved(e)
			} else {
				c.noteFilled(e)
			}
		}
		return
	}
	c.noteFilled(n)
}

func (c *checker) reportNotRemoved(n node) {
	if slices.ContainsFunc(c.lost, func(v PathValue) bool { return kind.IsWithin(n.path, v.Path) }) {
		c.noteFilled(n)
		return
	}
	c.reportMismatch(n, true)
	c.found[len(c.found)-1].Fault = NotRemoved
}

func (c *checker) reportMismatch(n node, asked bool) {
	m := Mismatch{Path: n.path, Fault: Altered, Sent: n.want, Returned: n.have, At: n.at.steps()}
	if asked {
		m.Fault = NotKept
	}
	x, xOK := numberText(n.want)
	y, yOK := numberText(n.have)
	m.SameNumber = xOK && yOK && x == y
	c.found = append(c.found, m)
}

func (c *checker) noteFilled(n node) { c.filled = append(c.filled, n.toValue(n.have)) }

// WithUnremoved returns desired with the values that a server did not remove: what the next comparison has to remove
// again. after is the spec that the request asked for. It never mutates.
func WithUnremoved(rules *Rules, desired, after any, found []Mismatch) any {
	for _, m := range found {
		if m.Fault == NotRemoved {
			desired = putAt(rules, desired, after, m.At, m.Returned)
		}
	}
	return desired
}

func putAt(r *Rules, desired, after any, at []PathStep, value any) any {
	if len(at) == 0 {
		return value
	}
	step := at[0]
	if !step.Element {
		was := canon.Object(desired)
		out := map[string]any{step.Field: putAt(r.fieldRules(step.Field), was[step.Field], fieldOf(after, step.Field), at[1:], value)}
		for name, v := range was {
			if name != step.Field {
				out[name] = v
			}
		}
		return out
	}
	list := slices.Clone(withoutNulls(desired))
	if step.Index != effect.Nowhere {
		of := pairLists(r, withoutNulls(after), list).of
		if i := of[step.Index]; i >= 0 {
			list[i] = putAt(r.elementRules(), list[i], withoutNulls(after)[step.Index], at[1:], value)
			return list
		}
	}
	if len(at) > 1 {
		return list // nothing in desired is the element
	}
	return append(list, value)
}
