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

// Taken is the manifest of a live object that is adopted.
type Taken struct {
	// Spec is canonical JSON.
	Spec []byte
	// Left are the fields that live has and the manifest lacks because the schema
	// does not know them, each once: upstreams[].hostHeader.
	Left []string
}

// Take returns the part of a live spec, canonical JSON, that is worth managing: the fields that the
// schema knows, in the documented types. In a list without keys all fields stay, because a later write
// would lose them (docs/design.md B3). With all, Take leaves out only nulls and excluded fields.
func Take(k *kind.Kind, overrides []Override, live []byte, all bool) Taken {
	t := taker{all: all, left: map[string]bool{}}
	rules := Rules(k, overrides)
	spec := t.known(k.Spec(), rules, "", canon.MustDecode(live))
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

// Settled reports whether a live object needs no request if git has the spec.
func Settled(k *kind.Kind, overrides []Override, rec ledger.Record, spec []byte, live kind.Object) bool {
	in, _ := comparison(Rules(k, overrides), rec, spec, live)
	return merge.Compare(in).Patch == nil
}

type taker struct {
	all  bool
	left map[string]bool
}

// known leaves out of a value what the schema does not know.
func (t *taker) known(f *kind.Field, rules *merge.Rules, path string, v any) any {
	if f == nil || t.all {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if f.Fields == nil {
			break
		}
		out := make(map[string]any, len(v))
		for name, e := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			if f.Knows(name, v) {
				out[name] = t.known(f.Fields[name], rules.Fields[name], at, e)
			} else if e != nil {
				t.left[at] = true
			}
		}
		return out
	case []any:
		if f.Item == nil || !merge.Keyed(rules, v) {
			break
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.known(f.Item, rules.Item, path+"[]", e)
		}
		return out
	}
	return v
}
