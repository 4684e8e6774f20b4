package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Rename is elements of one list that are removed and added, and differ in one field of their key alone.
type Rename struct {
	// List is the path of the list, and Field that field.
	List     string    `json:"list"`
	Field    string    `json:"field"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Elements []Renamed `json:"elements"`
}

// Renamed is an element of a Rename.
type Renamed struct {
	// Removed and Added are the paths of two changes.
	Removed string `json:"removed"`
	Added   string `json:"added"`
	// Name is the rest of the key, or empty.
	Name string `json:"name,omitempty"`
}

// Line is a change that reports show as one. That of a Rename is a change of its Field.
type Line struct {
	Change
	Rename *Rename
	// Unserved are the hostnames and locations that the object no longer serves, or only in part, once the
	// request is sent. If it is empty, ServedBy are the paths of the locations that take over the requests of
	// those that the line removes or renames. ServedLines sets both.
	Unserved, ServedBy []string
	// removed are the live elements that a Rename removes.
	removed []any
}

// Lines returns the changes of an item in their order. Each of its Renames is one line, where its first
// change is. ServedLines also says what is no longer served.
func (it Item) Lines() []Line {
	at, hidden := map[int]Line{}, map[int]bool{}
	if len(it.Renames) > 0 {
		halves := it.wholeElements()
		for _, r := range it.Renames {
			if l, indices := it.renamed(r, halves, hidden); len(indices) > 0 {
				at[slices.Min(indices)] = l
			}
		}
	}
	lines := make([]Line, 0, len(it.Changes))
	for i, c := range it.Changes {
		if l, ok := at[i]; ok {
			lines = append(lines, l)
		} else if !hidden[i] {
			lines = append(lines, Line{Change: c})
		}
	}
	return lines
}

// wholeElements returns the changes that may be a half of a rename.
func (it Item) wholeElements() map[string]half {
	halves := map[string]half{}
	for i, c := range it.Changes {
		if h := newHalf(c, nil, i); h.why != "" {
			halves[c.Path] = h
		}
	}
	return halves
}

// renamed returns the line of a Rename, and the indices of the changes that it covers. Changes may have got
// different causes, and a file may say anything, so only elements that fit are part of it.
func (it Item) renamed(r Rename, halves map[string]half, hidden map[int]bool) (l Line, covered []int) {
	var fits []Renamed
	var removed []any
	for _, e := range r.Elements {
		was, is := halves[e.Removed], halves[e.Added]
		if !r.turns(was, is) || !isRemoval(it.Changes[was.index]) || !isAddition(it.Changes[is.index]) || hidden[was.index] || hidden[is.index] {
			continue
		}
		hidden[was.index], hidden[is.index] = true, true
		fits, covered = append(fits, e), append(covered, was.index, is.index)
		removed = append(removed, it.Changes[was.index].Live)
	}
	if len(fits) == 0 {
		return l, nil
	}
	c := it.Changes[covered[1]]
	c.Path, c.At, c.Base, c.Live, c.Desired = r.List, nil, nil, r.From, r.To
	switch {
	case len(fits) == 1 && it.Happened: // from git to live
		c.Path = fits[0].Added
	case len(fits) == 1:
		c.Path = fits[0].Removed
	}
	c.Path += "." + r.Field
	for _, i := range covered {
		c.Risk = max(c.Risk, it.Changes[i].Risk)
	}
	r.Elements = fits
	return Line{Change: c, Rename: &r, removed: removed}, covered
}

// turns reports whether the rename makes one element of the other.
func (r Rename) turns(was, is half) bool {
	rest := was.without(r.Field)
	return rest != "" && rest == is.without(r.Field) && was.name(r.Field) == r.From && is.name(r.Field) == r.To
}

// findRenames returns the renames in the changes of an item. An element that could have got two names was
// not renamed, nor was one that changed its position in an ordered list.
func findRenames(it Item) []Rename {
	var out []Rename
	for _, list := range it.halves() {
		pairs := list.pairs()
		if list.ordered && !list.inOrder(pairs) {
			continue
		}
		at := map[[3]string]int{}
		for _, p := range pairs {
			id := [3]string{p.field, p.from, p.to}
			i, known := at[id]
			if !known {
				i, at[id] = len(out), len(out)
				out = append(out, Rename{List: list.path, Field: p.field, From: p.from, To: p.to})
			}
			e := Renamed{it.Changes[p.removed.index].Path, it.Changes[p.added.index].Path, p.removed.rest(p.field)}
			out[i].Elements = append(out[i].Elements, e)
		}
	}
	return out
}

// halves are the removed and added elements of a list.
type halves struct {
	path           string
	key            []string
	ordered        bool
	removed, added []half
	// moved says that other elements of the list changed their order.
	moved bool
}

// half is one of the two changes of a renamed element.
type half struct {
	key     []string
	element map[string]any
	// index is that of the change. at is the index in the list that has the element, and gap the number of
	// elements before it that both lists have.
	index, at, gap int
	// why is the same in both halves; empty if this can't be one of them.
	why string
}

type renamePair struct {
	field, from, to string
	removed, added  half
}

// halves returns the lists of an item from which elements are removed and to which others are added.
func (it Item) halves() []*halves {
	k, ok := kind.Named(it.Kind)
	if !ok || !slices.ContainsFunc(it.Changes, isRemoval) || !slices.ContainsFunc(it.Changes, isAddition) {
		return nil
	}
	lost := map[string]bool{}
	for _, v := range it.FirstContact {
		lost[v.Path] = true
	}
	lists := map[string]*halves{}
	for i, c := range it.Changes {
		path, ok := listOf(c)
		if !ok || len(c.At) == 0 {
			continue
		}
		if lists[path] == nil {
			lists[path] = newHalves(k, path)
		}
		lists[path].add(i, c, lost[c.Path])
	}
	maps.DeleteFunc(lists, func(_ string, l *halves) bool { return len(l.removed) == 0 || len(l.added) == 0 || len(l.key) == 0 })
	for _, l := range lists {
		place(l.removed)
		place(l.added)
	}
	return slices.SortedFunc(maps.Values(lists), func(a, b *halves) int { return cmp.Compare(a.path, b.path) })
}

// place sorts the halves of a list by their index, and finds their gaps.
func place(of []half) {
	slices.SortFunc(of, func(a, b half) int { return a.at - b.at })
	for i := range of {
		of[i].gap = of[i].at - i
	}
}

func isRemoval(c Change) bool  { return c.Live != nil && c.Desired == nil && !c.Moved }
func isAddition(c Change) bool { return c.Live == nil && c.Desired != nil && !c.Moved }

// listOf returns the list of a change of a whole element.
func listOf(c Change) (path string, ok bool) {
	parts := kind.PathParts(c.Path)
	last := parts[len(parts)-1]
	name, _, ok := strings.Cut(last, "[")
	return strings.TrimSuffix(c.Path, last) + name, ok && strings.HasSuffix(last, "]")
}

func newHalves(k *kind.Kind, path string) *halves {
	l := &halves{path: path}
	if field, ok := k.Spec().At(kind.PathParts(path)); ok && field.List != nil && !hides(field) {
		l.key, l.ordered = field.List.Key, field.List.Ordered
	}
	return l
}

// add adds a change of an element. One that is lost at the first contact has a line of its own.
func (l *halves) add(index int, c Change, lost bool) {
	step, h := c.At[len(c.At)-1], newHalf(c, l.key, index)
	if lost {
		h.why = ""
	}
	switch {
	case c.Moved:
		l.moved = true
	case isAddition(c):
		h.at = step.After
		l.added = append(l.added, h)
	case isRemoval(c):
		h.at = step.Live
		l.removed = append(l.removed, h)
	}
}

func newHalf(c Change, key []string, index int) half {
	value := c.Desired
	if isRemoval(c) {
		value = c.Live
		if c.Class == merge.Removed && c.Base != nil {
			value = c.Base // what live has beyond it is in Collateral
		}
	}
	h := half{key: key, index: index}
	if h.element, _ = value.(map[string]any); h.element != nil {
		h.why = whyRenamed(c)
	}
	return h
}

// whyRenamed returns what a removal and an addition must share to be a rename; empty for others.
func whyRenamed(c Change) string {
	class := c.Class
	switch c.Class { //nolint:exhaustive // the others have another reason than a rename
	case merge.Changed, merge.Removed:
		class = merge.Changed
	case merge.DriftOverwrite, merge.UnknownBase:
	default:
		return ""
	}
	if c.Left {
		class += " left"
	}
	return string(class) + " " + string(c.By)
}

// name returns a field of the key, or "".
func (h half) name(field string) string {
	name, _ := h.element[field].(string)
	return name
}

// rest returns the key without a field.
func (h half) rest(field string) string {
	var parts []string
	for _, k := range h.key {
		if name := h.name(k); k != field && name != "" {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, " ")
}

// without returns the text of an element without a field of its key; empty if it lacks the field.
func (h half) without(field string) string {
	if h.why == "" || h.name(field) == "" {
		return ""
	}
	rest := maps.Clone(h.element)
	delete(rest, field)
	return h.why + " " + field + " " + string(canon.Bytes(rest))
}

// alike are the indices of halves that are equal without a field.
type alike struct{ removed, added []int }

// alike returns the halves by what they are without each field of the key.
func (l *halves) alike() map[string]*alike {
	all := map[string]*alike{}
	of := func(text string) *alike {
		if all[text] == nil {
			all[text] = &alike{}
		}
		return all[text]
	}
	for _, field := range l.key {
		for i, h := range l.removed {
			a := of(h.without(field))
			a.removed = append(a.removed, i)
		}
		for i, h := range l.added {
			a := of(h.without(field))
			a.added = append(a.added, i)
		}
	}
	delete(all, "")
	return all
}

// pairs returns the halves that have exactly one other half each, in the order of live.
func (l *halves) pairs() []renamePair {
	all := l.alike()
	fits, back := make([]int, len(l.removed)), make([]int, len(l.added))
	for _, a := range all {
		for _, i := range a.removed {
			fits[i] += len(a.added)
		}
		for _, j := range a.added {
			back[j] += len(a.removed)
		}
	}
	var out []renamePair
	for i, h := range l.removed {
		for _, field := range l.key {
			a := all[h.without(field)]
			if a == nil || fits[i] != 1 || len(a.added) != 1 || back[a.added[0]] != 1 {
				continue
			}
			other := l.added[a.added[0]]
			out = append(out, renamePair{field, h.name(field), other.name(field), h, other})
		}
	}
	return out
}

// inOrder reports whether each pair is between the same other elements before and after, and pairs keep
// their order.
func (l *halves) inOrder(pairs []renamePair) bool {
	last := -1
	for _, p := range pairs {
		if l.moved || p.removed.gap != p.added.gap || p.added.at <= last {
			return false
		}
		last = p.added.at
	}
	return true
}
