package merge

// Type is the documented type of a scalar.
type Type uint8

// The types of a node. Values of unknown nodes are compared as docs/design.md 0.18 says.
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
	// Key names the fields that pair the elements of a list; empty pairs by
	// position. An absent part is a wildcard.
	Key []string
	Set bool // Set says that the order of elements means nothing
	// Join separates the parts of a key where it is shown.
	Join   string
	Fields map[string]*Rules
	Item   *Rules
}

func (r *Rules) orDefaults() *Rules {
	if r == nil {
		return &Rules{}
	}
	return r
}

func (r *Rules) field(name string) *Rules { return r.orDefaults().Fields[name] }
func (r *Rules) omitted() bool            { return r.orDefaults().Omit }
func (r *Rules) set() bool                { return r.orDefaults().Set }
func (r *Rules) key() []string            { return r.orDefaults().Key }
func (r *Rules) scalarType() Type         { return r.orDefaults().Type }

// item returns the rules of a list's elements. Rules made from an override of a
// list that the schema does not know hold the elements' fields themselves.
func (r *Rules) item() *Rules {
	r = r.orDefaults()
	if r.Item == nil && len(r.Fields) > 0 {
		return &Rules{Fields: r.Fields}
	}
	return r.Item
}

// excluded reports whether the node is never compared with what git says.
func (r *Rules) excluded() bool { return r != nil && (r.Ignore || r.ReadOnly || r.Omit) }

// serverOwned reports whether git's value is never sent.
func (r *Rules) serverOwned() bool { return r != nil && (r.ReadOnly || r.Omit) }

// staleSibling returns the field of the discriminator's live value if git asks for another value,
// or "" (docs/design.md B3, case d).
func (r *Rules) staleSibling(want, have map[string]any) string {
	by := r.orDefaults().Discriminator
	was, isText := have[by].(string)
	if now := want[by]; by == "" || !isText || now == nil || scalarEqual(nil, now, was) {
		return ""
	}
	return was
}

// LeaveSome reports whether the rules exclude any field from the comparison.
func (r *Rules) LeaveSome() bool { return r.has((*Rules).excluded) }

// has reports whether the predicate holds for the node or one below it.
func (r *Rules) has(holds func(*Rules) bool) bool {
	if r == nil {
		return false
	}
	if holds(r) || r.Item.has(holds) {
		return true
	}
	for _, child := range r.Fields {
		if child.has(holds) {
			return true
		}
	}
	return false
}
