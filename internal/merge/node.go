package merge

import (
	"slices"
	"strconv"
	"strings"
)

// node is one place of the tree as the comparison walks down.
type node struct {
	path  string
	at    *way
	rules *Rules
	base  base
	// want and have are desired and live; nil is absent or null.
	want, have any
	// byKey says that every list element above was paired by its key, so that
	// live-only fields belong to this very element and may be carried over.
	byKey bool
	// owned says that the node lies in a list without keys that was taken over.
	owned bool
	// banned says that git wants it to be absent, and did when it was last applied.
	banned bool
}

// base is what git had before: what was applied, nil where that has nothing, and
// what was begun, oldest first, without what has nothing.
type base struct {
	applied any
	pending []any
	// gone says that a write was begun that was to leave nothing here.
	gone bool
}

func (b base) known() bool { return b.applied != nil || len(b.pending) > 0 }

// begin adds what a write was to leave here.
func (b *base) begin(v any) {
	if v == nil {
		b.gone = true
		return
	}
	b.pending = append(b.pending, v)
}

func (b base) field(name string) base {
	if !b.known() {
		return base{}
	}
	c := base{applied: fieldOf(b.applied, name)}
	for _, p := range b.pending {
		c.begin(fieldOf(p, name))
	}
	return c
}

// before is the record that live is judged by. A pending write that took effect
// without an answer is our own doing, not drift; of one that live shows nothing
// of, nobody knows that it arrived, and it counts only for what git has taken back
// since.
func (n node) before() any {
	b := n.base
	covers := func(record any) bool { return n.have != nil && Covers(n.rules, record, n.have) }
	switch {
	case n.have == nil && b.gone:
		return nil
	case len(b.pending) == 0 || b.applied != nil && covers(b.applied):
		return b.applied
	}
	for _, p := range slices.Backward(b.pending) {
		if covers(p) {
			return p
		}
	}
	if b.applied == nil && n.want == nil {
		return b.pending[len(b.pending)-1]
	}
	return b.applied
}

func (n node) field(name string) node {
	return node{
		path: joinPath(n.path, name), at: &way{n.at, Step{Field: name}}, rules: n.rules.field(name), base: n.base.field(name),
		want: fieldOf(n.want, name), have: fieldOf(n.have, name), byKey: n.byKey, owned: n.owned,
		banned: isNull(n.want, name) && isNull(n.base.applied, name),
	}
}

// isNull reports whether v is an object that says null of the field.
func isNull(v any, name string) bool {
	m, _ := v.(map[string]any)
	value, said := m[name]
	return said && value == nil
}

// takenOver reports whether the list at n is git's whole (docs/design.md 0.1).
func (n node) takenOver() bool {
	_, ok := n.base.applied.([]any)
	return ok || n.owned
}

func fieldOf(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func joinPath(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func (r *Rules) field(name string) *Rules {
	if r == nil {
		return nil
	}
	return r.Fields[name]
}

// item returns the rules of a list's elements. Rules made from an override of a
// list that the schema does not know hold the elements' fields themselves.
func (r *Rules) item() *Rules {
	switch {
	case r == nil:
		return nil
	case r.Item == nil && len(r.Fields) > 0:
		return &Rules{Fields: r.Fields}
	default:
		return r.Item
	}
}

// excluded reports whether the node is never compared with what git says.
func (r *Rules) excluded() bool { return r != nil && (r.Ignore || r.ReadOnly || r.Omit) }

// serverOwned reports whether git's value is never sent.
func (r *Rules) serverOwned() bool { return r != nil && (r.ReadOnly || r.Omit) }

func (r *Rules) omitted() bool { return r != nil && r.Omit }

func (r *Rules) key() []string {
	if r == nil {
		return nil
	}
	return r.Key
}

func (r *Rules) set() bool { return r != nil && r.Set }

func (r *Rules) scalarType() Type {
	if r == nil {
		return Unknown
	}
	return r.Type
}

// staleSibling returns the field that belonged to the discriminator's live
// value where git asks for another, or "" (docs/design.md B3, case d).
func (r *Rules) staleSibling(want, have map[string]any) string {
	if r == nil || r.Discriminator == "" {
		return ""
	}
	was, isText := have[r.Discriminator].(string)
	if now := want[r.Discriminator]; !isText || now == nil || scalarEqual(nil, now, was) {
		return ""
	}
	return was
}

// elements returns v as a list without its nulls, and whether it is a list: a
// null inside a list says nothing, and may not be sent (docs/design.md B2.4).
func elements(v any) ([]any, bool) {
	list, ok := v.([]any)
	for i, e := range list {
		if e != nil {
			continue
		}
		kept := append([]any{}, list[:i]...)
		for _, e := range list[i+1:] {
			if e != nil {
				kept = append(kept, e)
			}
		}
		return kept, true
	}
	return list, ok
}
