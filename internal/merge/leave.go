package merge

// leaves reports whether live's value at n stays, because somebody else changed it
// or may have. What belongs to a list that is sent is judged with the whole list.
func (w *walker) leaves(n node) bool {
	return w.leave && w.mode == sparse && w.stays(w.classify(n))
}

// stays reports whether a verdict says that git did not change anything: without a
// record nobody can tell, unless a person has said that the object is git's.
func (w *walker) stays(c Class) bool {
	return c == DriftOverwrite || c == UnknownBase && !w.takeOver
}

// left says that n is not as git has it, and stays so.
func (w *walker) left(n node) {
	w.change(n)
	w.res.Changes[len(w.res.Changes)-1].Left = true
}

// extent is how much was said of what came before a list.
type extent struct{ changes, preserved, collateral, lists, contact, unplaced int }

func (w *walker) extent() extent {
	r := &w.res
	return extent{len(r.Changes), len(r.Preserved), len(r.Collateral), len(r.Lists), len(r.FirstContact), len(r.Unplaced)}
}

// leavesList reports whether the list at n, of which all was said since, stays as
// live has it: where git changed nothing in it. A list can only be sent whole, so
// one that git changed as well is neither sent nor left (docs/design.md B4).
func (w *walker) leavesList(n node, since extent) bool {
	said := w.res.Changes[since.changes:]
	drifted := 0
	for _, c := range said {
		if w.stays(c.Class) {
			drifted++
		}
	}
	switch {
	case !w.leave || drifted == 0:
		return false
	case drifted < len(said):
		w.res.Mixed = append(w.res.Mixed, n.path)
		return false
	}
	for i := range said {
		said[i].Left = true
	}
	r := &w.res
	r.Preserved, r.Collateral = r.Preserved[:since.preserved], r.Collateral[:since.collateral]
	r.Lists, r.FirstContact = r.Lists[:since.lists], r.FirstContact[:since.contact]
	r.Unplaced = r.Unplaced[:since.unplaced]
	return true
}
