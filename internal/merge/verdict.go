package merge

func (w *patchBuilder) recordChange(n node, class ChangeKind) {
	w.res.Changes = append(w.res.Changes, Difference{
		Path: n.path, At: n.at.steps(), Class: class,
		Base: n.recordedValue(), Live: n.have, Desired: SendableValue(n.rules, n.want),
	})
}

// recordAgreed records that live has already what git changed.
func (w *patchBuilder) recordAgreed(n node) {
	if !w.recorded {
		return
	}
	if b := n.recordedValue(); !scalarEqual(n.rules, b, n.want) {
		w.res.Notes = append(w.res.Notes, Difference{Path: n.path, At: n.at.steps(), Class: Converged, Base: b, Live: n.have, Desired: n.want})
	}
}

// classify is the table of docs/design.md B4 for a place where git and live differ.
func (w *patchBuilder) classify(n node) ChangeKind {
	b := n.recordedValue()
	liveIsBase := b != nil && (n.rules.areEmpty(b, n.have) || n.have != nil && LiveCovers(n.rules, b, n.have))
	switch {
	case !w.recorded && b == nil:
		return UnknownBase
	case n.want == nil:
		return classifyRemoved(n, b, liveIsBase)
	case b == nil && n.have != nil:
		return TakeOver
	case b == nil:
		return Changed
	case isSame(n.rules, b, n.want):
		return DriftOverwrite
	case liveIsBase:
		return Changed
	}
	return Conflict
}

func classifyRemoved(n node, b any, liveIsBase bool) ChangeKind {
	switch {
	case n.rules.isEmpty(b) && n.banned:
		return DriftOverwrite
	case b == nil || liveIsBase:
		return Removed
	}
	return RemovedConflict
}

func (w *patchBuilder) classifyOrder(l pairedList) ChangeKind {
	before := l.recordedValue()
	recorded := withoutNulls(before)
	inOrder := func(of []any) bool { return len(findDisplaced(pairRenamed(l.rules, before, of, recorded).of)) == 0 }
	switch {
	case !w.recorded && before == nil:
		return UnknownBase
	case !isList(before):
		return TakeOver
	case inOrder(l.git):
		return DriftOverwrite
	case inOrder(l.live):
		return Changed
	}
	return Conflict
}

// recordCollateral lists n, which git never had and which the request takes out of live.
func (w *patchBuilder) recordCollateral(n node) {
	w.res.Collateral = append(w.res.Collateral, n.toValue(n.have))
}

// recordFirstContact lists the elements at and below n that the request removes, that git never had, and whose list git has not
// taken over (docs/design.md 0.1).
func (w *patchBuilder) recordFirstContact(n node) {
	ofList := isList(n.have)
	if w.takeOver || ofList && n.isTakenOver() {
		return
	}
	for c := range n.childNodes(false) {
		switch {
		case c.rules.isServerOwned():
		case ofList && !c.base.isKnown():
			w.recordForeign(c)
		default:
			w.recordFirstContact(c)
		}
	}
}

// recordForeign lists a live element that git never had.
func (w *patchBuilder) recordForeign(n node) {
	w.res.FirstContact = append(w.res.FirstContact, n.toValue(n.have))
}

// checkFirstContact judges the live elements of a list that is sent and was never taken over. One stays
// if it is paired by key, or if git has all of it at any place. It returns the judged elements.
func (w *patchBuilder) checkFirstContact(l pairedList) []bool {
	judged := make([]bool, len(l.live))
	if w.takeOver || l.isTakenOver() {
		return judged
	}
	stays, origins := stayingElements(l), recordsOfLive(l.node, l.live)
	for j, i := range l.back {
		if i >= 0 && (l.keyed[i] || stays[j] < 0 && isList(l.live[j]) && isList(l.git[i])) {
			continue
		}
		c := l.liveNode(j, origins.baseAt(j))
		switch {
		case stays[j] >= 0:
			c.want = l.git[stays[j]]
			w.recordReplacedContact(c)
		case c.base.isKnown():
			w.recordFirstContact(c)
		default:
			w.recordForeign(c)
		}
		judged[j] = true
	}
	return judged
}

// stayingElements returns the index of the desired element that is all that git knows of each live one, or
// -1; pairs by key stay pairs.
func stayingElements(l pairedList) []int {
	of := matchAny(len(l.git), len(l.live), func(i, j int) bool {
		if k := l.back[j]; l.keyed[i] || k >= 0 && l.keyed[k] {
			return l.of[i] == j
		}
		return equalKeys(l.rules.keyFields(), l.git[i], l.live[j]) && LiveCovers(l.rules.elementRules(), l.git[i], l.live[j])
	})
	return invertPairs(of, len(l.live))
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// recordReplacedContact is contact for what n's live value has beyond git's form, which replaces it.
func (w *patchBuilder) recordReplacedContact(n node) {
	switch want := n.want.(type) {
	case map[string]any:
		for c := range n.childNodes(false) {
			switch {
			case c.rules.isServerOwned():
			case c.want == nil:
				w.recordFirstContact(c)
			default:
				w.recordReplacedContact(c)
			}
		}
	case []any:
		l := n.pairElements(withoutNulls(want), withoutNulls(n.have))
		for i, j := range l.of {
			if j >= 0 {
				c := l.desiredNode(i, i)
				c.base = recordedValues{} // the record's list may be another
				w.recordReplacedContact(c)
			}
		}
	}
}
