package merge

// ManifestDiff compares two versions of a manifest. It explains changes
// that Compare found; Compare itself never sees it (docs/design.md 0.3).
type ManifestDiff struct {
	rules    *Rules
	was, now any                      // was is nil if git did not have the object
	lists    map[string]*listVersions // those that were looked at, by their places in now
}

// NewManifestDiff returns the history of an object that was one spec and is another.
func NewManifestDiff(rules *Rules, was, now any) *ManifestDiff {
	return &ManifestDiff{rules: rules, was: was, now: now, lists: map[string]*listVersions{}}
}

// placeVersions is one place in both versions.
type placeVersions struct {
	rules    *Rules
	was, now any
	had, has bool // had and has say whether was and now have it: a null is something
}

// TouchedByGit reports whether the two versions differ in the place of a change.
func (h *ManifestDiff) TouchedByGit(c Difference) bool {
	s := placeVersions{rules: h.rules, was: h.was, now: h.now, had: h.was != nil, has: true}
	for i, step := range c.At {
		if c.Moved && i == len(c.At)-1 {
			return h.changedOrder(s, c, step.Index)
		}
		if step.IsLiveOnly() && c.Class == TakeOver {
			break // the question is whether git had the list
		}
		s = h.stepDown(s, c, i)
	}
	return s.had != s.has || s.has && !isSame(s.rules, s.was, s.now)
}

// stepDown follows step i of the place of a change.
func (h *ManifestDiff) stepDown(s placeVersions, c Difference, i int) placeVersions {
	step := c.At[i]
	if !step.Element {
		below := placeVersions{rules: s.rules.fieldRules(step.Field)}
		below.was, below.had = lookUpField(s.was, step.Field)
		below.now, below.has = lookUpField(s.now, step.Field)
		return below
	}
	below := placeVersions{rules: s.rules.elementRules()}
	l := h.listAt(s, c.At[:i])
	switch {
	case step.IsLiveOnly():
		below.was, below.had = l.findGone(s.rules, c.Live)
		below.had = below.had && (!l.byPlace || !l.same)
	case step.Index < len(l.now):
		below.now, below.has = l.now[step.Index], true
		of := l.named
		if step.Renamed { // otherwise it was applied under the name that it has now
			of = l.of
		}
		if j := of[step.Index]; j >= 0 && (j == step.Index || !l.byPlace) {
			below.was, below.had = l.was[j], true
		}
	}
	return below
}

// listVersions are both versions of a list.
type listVersions struct {
	was, now []any
	of       []int // the index in was of each element of now, -1 for none; named is the same without renames
	named    []int
	// byPlace says that elements are known by their position only, and same that such lists are equal.
	byPlace, same bool
	// gone are elements of was that live may have and now lacks. If they are known by
	// their position these are all: one that moved goes from where it was.
	gone   []any
	keys   elementKeys
	keyed  bool
	live   []int  // the last argument of moves
	moving []bool // its result
}

// listAt returns the versions of the list at a place of now.
func (h *ManifestDiff) listAt(s placeVersions, at []PathStep) *listVersions {
	place := FormatPlace(at)
	if l := h.lists[place]; l != nil {
		return l
	}
	was, now, key := withoutNulls(s.was), withoutNulls(s.now), s.rules.keyFields()
	l := &listVersions{was: was, now: now, of: pairRenamed(s.rules, s.was, now, was).of, named: pairLists(s.rules, now, was).of, gone: was}
	_, paired := pairByKey(key, was, now)
	if l.byPlace = !paired && (len(key) > 0 || !s.rules.isSet()); l.byPlace {
		l.same = isSame(s.rules, s.was, s.now)
	} else {
		l.gone = nil
		for j, i := range invertPairs(l.named, len(was)) {
			if i < 0 {
				l.gone = append(l.gone, was[j])
			}
		}
	}
	l.keys, l.keyed = elementKeysOf(key, l.gone)
	h.lists[place] = l
	return l
}

// findGone finds the gone element that a live one is, by key or by all of it.
func (l *listVersions) findGone(r *Rules, live any) (any, bool) {
	if k, ok := elementKeysOf(r.keyFields(), []any{live}); ok && l.keyed {
		i, found := l.keys.index[joinKey(k.parts[0])]
		switch {
		case found:
			return l.gone[i], true
		case !k.wild && !l.keys.wild:
			return nil, false
		}
	}
	for _, e := range l.gone {
		p, keyed := pairByKey(r.keyFields(), []any{e}, []any{live})
		if keyed && p.of[0] == 0 || !keyed && LiveCovers(r.elementRules(), e, live) {
			return e, true
		}
	}
	return nil, false
}

// changedOrder reports whether git changed the order of a moved element and of those that it has
// to pass. A conflict is about the whole list.
func (h *ManifestDiff) changedOrder(s placeVersions, c Difference, i int) bool {
	l := h.listAt(s, c.At[:len(c.At)-1])
	was := l.of
	if i >= len(was) || was[i] < 0 {
		return true
	}
	if c.Class == Conflict {
		return len(findDisplaced(was)) > 0
	}
	moves := l.findMoved(c.live)
	for k, j := range c.live {
		if j < 0 || (i < k) == (c.live[i] < j) {
			continue // it is on the same side of the element in git and live
		}
		if !moves[k] && (was[k] < 0 || (i < k) != (was[i] < was[k])) {
			return true
		}
	}
	return false
}

// findMoved reports which elements have to move for an order, which all changes of a list share.
func (l *listVersions) findMoved(live []int) []bool {
	if len(l.live) == 0 || &l.live[0] != &live[0] {
		l.live, l.moving = live, make([]bool, len(live))
		for _, k := range findDisplaced(live) {
			l.moving[k] = true
		}
	}
	return l.moving
}
