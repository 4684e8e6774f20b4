// Package merge compares three JSON values (base, desired, live) and makes the smallest RFC 7396 merge patch that
// brings live to desired; it knows no kind, no file and no server.
package merge

import (
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Input is one comparison of decoded JSON (numbers as json.Number). A nil Applied is no record.
type Input struct {
	Rules *Rules
	// Applied is the spec that was last applied with success. Pending are those whose
	// write was begun and not confirmed since, oldest first.
	Applied       any
	Pending       []any
	Desired, Live any
	TakeOver      bool // TakeOver allows list elements to be dropped at first contact
	// LeaveDrift keeps what was changed outside git, or may have been, out of the patch.
	LeaveDrift bool
}

// ChangeKind is the verdict on one path (docs/design.md B4).
type ChangeKind string

// The classes of docs/design.md B4.
const (
	Converged       ChangeKind = "converged"
	Changed         ChangeKind = "change"
	DriftOverwrite  ChangeKind = "drift-overwritten"
	TakeOver        ChangeKind = "take-over"
	Conflict        ChangeKind = "conflict"
	Removed         ChangeKind = "removed"
	RemovedConflict ChangeKind = "removed-conflict"
	Unmanaged       ChangeKind = "unmanaged"
	UnknownBase     ChangeKind = "unknown-base"
)

// Difference is one path whose live value differs from git's.
type Difference struct {
	Path  string     `json:"path"` // shown to people: locations[/static/*].cache.edgeTTL
	At    []PathStep `json:"-"`    // the same place in the spec
	Class ChangeKind `json:"class"`
	// Base, Live and Desired are nil where the value is absent or null, which mean the same here.
	Base    any   `json:"base,omitempty"`
	Live    any   `json:"live,omitempty"`
	Desired any   `json:"desired,omitempty"`
	Moved   bool  `json:"moved,omitempty"` // Moved says that only the element's place in an ordered list differs
	Of      int   `json:"-"`               // Of is the length of git's list, for a new element of an ordered one that is not its last
	live    []int // for each element of that list, its index in live, or -1
	Left    bool  `json:"left,omitempty"` // Left says that the request leaves live as it is (Input.LeaveDrift)
}

// PathValue is a path and its value.
type PathValue struct {
	Path  string     `json:"path"` // shown to people, as that of a Change
	Value any        `json:"value"`
	At    []PathStep `json:"-"` // the same place in the spec
}

// Comparison is the outcome of a comparison. It may share subtrees with the input: change neither.
type Comparison struct {
	Patch map[string]any // the merge patch of the spec; nil where nothing needs sending
	// Changes are the differing paths, in the order of their paths. A change that needs nothing sent (Converged) is
	// in Notes, which are empty without any record.
	Changes []Difference
	Notes   []Difference
	// Preserved are live-only fields of paired list elements that a list that is sent whole takes along.
	Preserved []PathValue
	// Collateral are live values that git never had and that are lost with a list without a key that is sent whole, with
	// a discriminator's old value, or because a rule omits them. None is below what a Change removes.
	Collateral []PathValue
	Lists      []SentList // the lists that the patch sends whole
	// FirstContact are live list elements that the patch would drop although neither record shows that git ever had
	// them and their list was never taken over. While there are any, the patch must not be sent.
	FirstContact []PathValue
	// Unplaced are live values that the rules exclude from the comparison, in list elements that may or may not be
	// elements of desired. While there are any, the patch must not be sent.
	Unplaced []PathValue
	// Mixed are the lists in which both git and another client changed something: with Input.LeaveDrift they can be
	// neither sent nor left. While there are any, the patch must not be sent.
	Mixed []string
}

// SentList is a list that a patch replaces whole, with the number of its elements.
type SentList struct {
	Path     string `json:"path"`
	Elements int    `json:"elements"`
}

// Compare returns the smallest merge patch after which live has everything that desired says and
// nothing that git removed, and the reason of each difference (docs/design.md B5, 0.1 to 0.4). It
// takes what is no object for an empty one, and never changes the inputs.
func Compare(in Input) Comparison {
	root := in.rootNode()
	want, have := canon.Object(in.Desired), canon.Object(in.Live)
	root.want, root.have = want, have
	w := patchBuilder{takeOver: in.TakeOver, leave: in.LeaveDrift, recorded: root.recordedValue() != nil}
	if needsNoPatch(root.rules, root.base, want, have) && (!w.recorded || isSame(root.rules, in.Applied, want)) {
		return w.res
	}
	if patch, changed := w.objectToSend(root, want, have); changed {
		w.res.Patch = patch
	}
	byPath := func(a, b Difference) int { return strings.Compare(a.Path, b.Path) }
	slices.SortStableFunc(w.res.Changes, byPath)
	slices.SortStableFunc(w.res.Notes, byPath)
	for _, values := range [][]PathValue{w.res.Preserved, w.res.Collateral, w.res.FirstContact, w.res.Unplaced} {
		slices.SortStableFunc(values, func(a, b PathValue) int { return strings.Compare(a.Path, b.Path) })
	}
	return w.res
}

func (in Input) rootNode() node {
	return node{
		rules: in.Rules, base: recordedValues{applied: in.Applied, pending: in.Pending},
		want: in.Desired, have: in.Live, byKey: true,
	}
}

// Rules say how one node of the tree is compared; nil means the defaults:
// unknown type, lists by position and ordered.
type Rules struct {
	// Type is the documented one. Values of kind.AnyType are compared as docs/design.md 0.18 says.
	Type kind.FieldType
	// Ignore leaves the node out of comparison and patch. A list that is sent whole
	// takes along live's values of ignored and read-only nodes.
	Ignore bool
	// ReadOnly nodes belong to the server: git's value is never sent, not even
	// where the object or the list element is created.
	ReadOnly bool
	// Omit leaves the node out of every request, for servers that reject a field of
	// their own. A list that is sent whole loses its value.
	Omit bool
	// Discriminator names the field of this object whose value names the one
	// sibling that belongs to it (action.type = ratelimit, action.ratelimit).
	Discriminator string
	// Key names the fields that pair the elements of a list; empty pairs by position. An absent part is a wildcard.
	Key    []string
	Set    bool   // Set says that the order of elements means nothing
	Join   string // Join separates the parts of a key where it is shown
	Fields map[string]*Rules
	Item   *Rules
}

func (r *Rules) orDefaults() *Rules {
	if r == nil {
		return &Rules{}
	}
	return r
}

func (r *Rules) fieldRules(name string) *Rules { return r.orDefaults().Fields[name] }
func (r *Rules) isOmitted() bool               { return r.orDefaults().Omit }
func (r *Rules) isSet() bool                   { return r.orDefaults().Set }
func (r *Rules) keyFields() []string           { return r.orDefaults().Key }
func (r *Rules) scalarType() kind.FieldType    { return r.orDefaults().Type }

// elementRules returns the rules of a list's elements. Rules made from an override of a
// list that the schema does not know hold the elements' fields themselves.
func (r *Rules) elementRules() *Rules {
	r = r.orDefaults()
	if r.Item == nil && len(r.Fields) > 0 {
		return &Rules{Fields: r.Fields}
	}
	return r.Item
}

// isExcluded reports whether the node is never compared with what git says.
func (r *Rules) isExcluded() bool { return r != nil && (r.Ignore || r.ReadOnly || r.Omit) }

// isServerOwned reports whether git's value is never sent.
func (r *Rules) isServerOwned() bool { return r != nil && (r.ReadOnly || r.Omit) }

// staleVariantField returns the field of the discriminator's live value if git asks for another value,
// or "" (docs/design.md B3, case d).
func (r *Rules) staleVariantField(want, have map[string]any) string {
	by := r.orDefaults().Discriminator
	was, isText := have[by].(string)
	if now := want[by]; by == "" || !isText || now == nil || scalarEqual(nil, now, was) {
		return ""
	}
	return was
}

// HasExcluded reports whether the rules exclude any field from the comparison.
func (r *Rules) HasExcluded() bool { return r.hasAnywhere((*Rules).isExcluded) }

// hasAnywhere reports whether the predicate holds for the node or one below it.
func (r *Rules) hasAnywhere(holds func(*Rules) bool) bool {
	if r == nil {
		return false
	}
	if holds(r) || r.Item.hasAnywhere(holds) {
		return true
	}
	for _, child := range r.Fields {
		if child.hasAnywhere(holds) {
			return true
		}
	}
	return false
}
