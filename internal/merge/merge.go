// Package merge compares three JSON values (base, desired, live) and makes the
// smallest RFC 7386 merge patch that brings live to desired; it knows no kind,
// no file and no server.
package merge

// Type is the documented type of a scalar.
type Type uint8

// The types of a node. Unknown nodes are compared tolerantly all the same.
const (
	Unknown Type = iota
	Text
	Bool
	Number
)

// Rules say how one node of the tree is compared; nil means the defaults:
// unknown type, lists by position and ordered.
type Rules struct {
	Type Type
	// Ignore leaves the node out of comparison and patch. Ignored and read-only
	// nodes go along as live has them in a list that is sent whole.
	Ignore bool
	// ReadOnly nodes belong to the server: git's value is never sent, not even
	// where the object or the list element is created.
	ReadOnly bool
	// Omit leaves the node out of what is sent, for servers that reject a field of
	// their own in a request. In a list that is sent whole its value is lost.
	Omit bool
	// Discriminator names the field of this object whose value names the one
	// sibling that belongs to it (action.type = ratelimit, action.ratelimit).
	Discriminator string
	// Key names the fields that pair the elements of a list; empty pairs by
	// position. An absent part is a wildcard.
	Key []string
	// Set says that the order of elements means nothing.
	Set bool
	// Join stands between the parts of a key where it is shown.
	Join   string
	Fields map[string]*Rules
	Item   *Rules
}

// Input is one comparison. The four values are decoded JSON (numbers as
// json.Number); a nil Applied means that there is no such record.
type Input struct {
	Rules *Rules
	// Applied is the spec that was last applied with success, Pending are those
	// whose write was begun and not confirmed since, oldest first.
	Applied       any
	Pending       []any
	Desired, Live any
	// TakeOver allows list elements to be dropped at first contact.
	TakeOver bool
	// LeaveDrift keeps what was changed outside git, or may have been, out of the
	// patch.
	LeaveDrift bool
}

// Class is the verdict on one path (docs/design.md B4).
type Class string

// The classes of docs/design.md B4.
const (
	InSync          Class = "in-sync"
	Converged       Class = "converged"
	Changed         Class = "change"
	DriftOverwrite  Class = "drift-overwritten"
	TakeOver        Class = "take-over"
	Conflict        Class = "conflict"
	Removed         Class = "removed"
	RemovedConflict Class = "removed-conflict"
	AlreadyRemoved  Class = "already-removed"
	Unmanaged       Class = "unmanaged"
	UnknownBase     Class = "unknown-base"
)

// Change is one path whose live value differs from git's.
type Change struct {
	// Path is shown to people: locations[/static/*].cache.edgeTTL.
	Path string `json:"path"`
	// At is the same place in the spec.
	At    []Step `json:"-"`
	Class Class  `json:"class"`
	// Base, Live and Desired are nil where the value is absent or null, which
	// mean the same here.
	Base    any `json:"base,omitempty"`
	Live    any `json:"live,omitempty"`
	Desired any `json:"desired,omitempty"`
	// Moved says that only the element's place in an ordered list differs.
	Moved bool `json:"moved,omitempty"`
	// live is then where live has the elements of desired, -1 where it has not.
	live []int
	// Left says that live stays so (Input.LeaveDrift).
	Left bool `json:"left,omitempty"`
}

// Value is a path and what stands there.
type Value struct {
	// Path is shown to people, as that of a Change.
	Path  string `json:"path"`
	Value any    `json:"value"`
	// At is the same place in the spec.
	At []Step `json:"-"`
}

// Result is the outcome of a comparison. It may share subtrees with the
// input: neither may be changed afterwards.
type Result struct {
	// Patch is the merge patch of the spec; nil where nothing needs sending.
	Patch map[string]any
	// Changes are the differing paths, in the order of their paths. A change
	// that needs nothing sent (Converged) is in Notes, which stay empty where
	// there is no record at all to differ from.
	Changes []Change
	Notes   []Change
	// Preserved are live-only fields of paired list elements that go along in
	// a list that is sent whole.
	Preserved []Value
	// Collateral are live values that go because their parent goes, because
	// their list is sent whole without a key, because they belonged to a
	// discriminator's old value, or because a rule omits them.
	Collateral []Value
	// Lists are the lists that the patch sends whole, by path, with the number
	// of their elements.
	Lists []SentList
	// FirstContact are live list elements that the patch would drop although
	// neither record shows that git ever had them and their list was never
	// taken over. While there are any, the patch must not be sent.
	FirstContact []Value
	// Unplaced are live values that the rules exclude from the comparison, in list
	// elements that may or may not be elements of desired: which of those they
	// belong to is not known. While there are any, the patch must not be sent.
	Unplaced []Value
	// Mixed are the lists in which git changed something and somebody else did too:
	// with Input.LeaveDrift they can be neither sent nor left. While there are any,
	// the patch must not be sent.
	Mixed []string
}

// SentList is a list that a patch replaces whole.
type SentList struct {
	Path     string `json:"path"`
	Elements int    `json:"elements"`
}

// Compare returns the smallest merge patch after which live has everything
// that desired says and nothing that git removed, and says of each difference
// why it is there (docs/design.md B5, 0.1 to 0.4). Desired and Live are objects;
// anything else stands for an empty one. The inputs are never changed.
func Compare(in Input) Result {
	root := node{rules: in.Rules, base: base{applied: in.Applied, pending: in.Pending}, byKey: true}
	want, _ := in.Desired.(map[string]any)
	have, _ := in.Live.(map[string]any)
	root.want, root.have = want, have
	w := walker{takeOver: in.TakeOver, leave: in.LeaveDrift, recorded: in.Applied != nil || len(in.Pending) > 0}
	if settled(root.rules, root.base, want, have) {
		if w.recorded && !same(root.rules, in.Applied, want) {
			w.object(root, want, have)
			w.sort()
		}
		return w.res
	}
	if patch, changed := w.object(root, want, have); changed {
		w.res.Patch = patch
	}
	w.sort()
	return w.res
}
