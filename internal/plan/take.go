package plan

import (
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
)

// Taken is what a manifest says of a live object that git takes in.
type Taken struct {
	// Spec is canonical JSON.
	Spec []byte
	// Left are the fields that live has and the manifest lacks because the schema
	// does not know them, each once: upstreams[].hostHeader.
	Left []string
}

// Take returns what of a live spec, canonical JSON, is worth managing: the fields
// that the schema knows, in the documented types. What it does not know, servers
// add, and a write leaves it as it is; but in a list whose elements can't be told
// apart, such as the constraints of a rule, it stays, because nothing is carried
// over there and a later write would lose it (docs/design.md B3). With all nothing is left
// out but what the overrides ignore or leave to the server, and nulls, which are
// absent.
func Take(k *kind.Kind, overrides []Override, live []byte, all bool) Taken {
	t := taker{all: all, left: map[string]bool{}}
	rules := Rules(k, overrides)
	spec := t.known(ruled{k.Spec(), rules}, "", canon.MustDecode(live))
	return Taken{
		Spec: canon.Bytes(merge.Take(rules, spec)),
		Left: slices.Sorted(maps.Keys(t.left)),
	}
}

// InOrder returns a spec with the lists whose order means nothing in that of Take.
func InOrder(k *kind.Kind, overrides []Override, spec []byte) []byte {
	tree := canon.MustDecode(spec)
	merge.SortSets(Rules(k, overrides), tree)
	return canon.Bytes(tree)
}

// Settled reports whether nothing is to be sent for a live object where git has the
// spec: live has all of it, and nothing that the record had and the spec lacks.
func Settled(k *kind.Kind, overrides []Override, rec ledger.Record, spec []byte, live kind.Object) bool {
	in, _ := refilled(comparison(Rules(k, overrides), rec, spec, live), rec)
	return merge.Compare(in).Patch == nil
}

type taker struct {
	all  bool
	left map[string]bool
}

// ruled is a field of the schema with the rules by which it is compared.
type ruled struct {
	schema *kind.Field
	rules  *merge.Rules
}

// known leaves out of a value what the schema does not know. Nothing is known of
// the inside of a field without one.
func (t *taker) known(f ruled, path string, v any) any {
	if f.schema == nil || t.all {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if f.schema.Fields != nil {
			return t.members(f, path, v)
		}
	case []any:
		if f.schema.Item == nil || !merge.Keyed(f.rules, v) {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.known(ruled{f.schema.Item, f.rules.Item}, path+"[]", e)
		}
		return out
	}
	return v
}

func (t *taker) members(f ruled, path string, object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, v := range object {
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case f.schema.Knows(name, object):
			out[name] = t.known(ruled{f.schema.Fields[name], f.rules.Fields[name]}, at, v)
		case v != nil:
			t.left[at] = true
		}
	}
	return out
}
