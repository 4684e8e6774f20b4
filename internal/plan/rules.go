package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
)

// rulesBySchema returns the rules of each kind's schema alone, which nobody changes.
var rulesBySchema = sync.OnceValue(func() map[*kind.Kind]*merge.Rules {
	rules := map[*kind.Kind]*merge.Rules{}
	for _, k := range kind.AllKinds() {
		rules[k] = rulesFromField(k.Spec())
	}
	return rules
})

// RulesFor returns how specs of the kind are compared, by the schema and the project's overrides. Do not change the result.
func RulesFor(k *kind.Kind, overrides []Override) *merge.Rules {
	isOther := func(o Override) bool { return !strings.EqualFold(o.Kind, k.Name) || len(o.Undocumented) > 0 }
	all := slices.DeleteFunc(slices.Clone(overrides), isOther)
	if rules := rulesBySchema()[k]; rules != nil && len(all) == 0 {
		return rules
	}
	rules := rulesFromField(k.Spec())
	for _, o := range all {
		applyOverride(rules, o)
	}
	return rules
}

func rulesFromField(f *kind.Field) *merge.Rules {
	r := &merge.Rules{Type: f.Type, ReadOnly: f.ReadOnly, Discriminator: f.Discriminator}
	if f.List != nil {
		r.Key, r.Join, r.Set = f.List.Key, f.List.Join, !f.List.Ordered
	}
	if len(f.Fields) > 0 {
		r.Fields = make(map[string]*merge.Rules, len(f.Fields))
		for name, child := range f.Fields {
			r.Fields[name] = rulesFromField(child)
		}
	}
	if f.Item != nil {
		r.Item = rulesFromField(f.Item)
	}
	return r
}

// applyOverride applies an override to the rules at its path.
func applyOverride(root *merge.Rules, o Override) {
	node := ensureNodeAt(root, o.Path)
	node.Ignore = node.Ignore || o.Ignore
	node.ReadOnly = node.ReadOnly || o.ReadOnly
	node.Omit = node.Omit || o.Omit
	if o.Order != "" {
		node.Set = o.Order == "set"
	}
	if o.Key != nil {
		node.Key = o.Key
		// By position means that the order counts.
		node.Set = node.Set && len(o.Key) > 0
		if node.Join == "" {
			node.Join = ":"
		}
	}
	for _, t := range []kind.FieldType{kind.Text, kind.Bool, kind.Number} {
		if o.Type == t.String() {
			node.Type = t
		}
	}
}

// ensureNodeAt walks to a path, through lists, and makes nodes that the schema does not have.
func ensureNodeAt(root *merge.Rules, path string) *merge.Rules {
	node := root
	for _, step := range pathSteps(path) {
		for node.Item != nil {
			node = node.Item
		}
		if node.Fields == nil {
			node.Fields = map[string]*merge.Rules{}
		}
		if node.Fields[step] == nil {
			node.Fields[step] = &merge.Rules{}
		}
		node = node.Fields[step]
	}
	return node
}

// pathSteps are the fields that the path of an override goes through.
func pathSteps(path string) []string {
	path = strings.NewReplacer("[]", "", "[*]", "").Replace(path)
	return strings.Split(strings.TrimPrefix(path, "spec."), ".")
}

// Place returns the place of the override in its canonical form: CDN spec.tls.
func (o Override) Place() string {
	name := o.Kind
	if k, ok := kind.FindKind(o.Kind); ok {
		name = k.Name
	}
	return name + " spec." + strings.Join(pathSteps(o.Path), ".")
}

// HidesDocumented reports whether an override leaves out a field that the platform's document
// describes and that git can set, also a key that the user names, such as a header.
func (o Override) HidesDocumented() bool {
	k, ok := kind.FindKind(o.Kind)
	if !ok || !o.Ignore && !o.ReadOnly && !o.Omit {
		return false
	}
	field := k.Spec()
	for _, step := range pathSteps(o.Path) {
		for field.Item != nil {
			field = field.Item
		}
		next := field.Fields[step]
		if next == nil {
			return field.Open || field.Any != nil
		}
		field = next
	}
	return !field.ReadOnly
}

// ManageableSpec returns the part of a live spec, canonical JSON, that is worth managing: the fields that the
// schema knows, in the documented types. In a list without keys all fields stay, because a later write
// would lose them (docs/design.md B3). With all, it leaves out only nulls and excluded fields. left are the fields that the
// schema does not know, each once: upstreams[].hostHeader.
func ManageableSpec(k *kind.Kind, overrides []Override, live []byte, all bool) (spec []byte, left []string) {
	t := specAdopter{all: all, left: map[string]bool{}}
	rules := RulesFor(k, overrides)
	known := t.dropUnknown(k.Spec(), rules, "", withTypedEmpties(k.Spec(), canon.MustDecode(live)))
	return canon.Encode(merge.NormalizeLive(rules, known)), slices.Sorted(maps.Keys(t.left))
}

// withTypedEmpties returns a value with an empty object where a server answers an empty list for one, as PHP does, and the
// other way round. It may change v.
func withTypedEmpties(f *kind.Field, v any) any {
	switch t := v.(type) {
	case map[string]any:
		if len(t) == 0 && f.Type == kind.ListType {
			return []any{}
		}
		for name, e := range t {
			if field := cmp.Or(f.Fields[name], f.Any); field != nil {
				t[name] = withTypedEmpties(field, e)
			}
		}
	case []any:
		if len(t) == 0 && f.Type == kind.ObjectType {
			return map[string]any{}
		}
		for i, e := range t {
			if f.Item != nil {
				t[i] = withTypedEmpties(f.Item, e)
			}
		}
	}
	return v
}

// SortSpecSets returns a spec with the lists whose order means nothing in that of ManageableSpec.
func SortSpecSets(k *kind.Kind, overrides []Override, spec []byte) []byte {
	tree := canon.MustDecode(spec)
	merge.SortSets(RulesFor(k, overrides), tree)
	return canon.Encode(tree)
}

// NeedsNoRequest reports whether a live object needs no request if git has the spec.
func NeedsNoRequest(k *kind.Kind, overrides []Override, rec ledger.Record, spec []byte, live kind.LiveObject) bool {
	in, _ := mergeInputOf(RulesFor(k, overrides), rec, spec, live)
	return merge.Compare(in).Patch == nil
}

// UnappliedFields returns the fields in which the spec of git differs from a live object because git changed.
func UnappliedFields(k *kind.Kind, overrides []Override, rec ledger.Record, spec []byte, live kind.LiveObject) (fields []string) {
	in, _ := mergeInputOf(RulesFor(k, overrides), rec, spec, live)
	for _, c := range merge.Compare(in).Changes {
		if c.Class != merge.DriftOverwrite && c.Class != merge.UnknownBase {
			fields = append(fields, c.Path)
		}
	}
	return fields
}

type specAdopter struct {
	all  bool
	left map[string]bool
}

// dropUnknown leaves out of a value what the schema does not know.
func (t *specAdopter) dropUnknown(f *kind.Field, rules *merge.Rules, path string, v any) any {
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
			if f.KnowsMember(name, v) {
				out[name] = t.dropUnknown(f.Fields[name], rules.Fields[name], at, e)
			} else if e != nil {
				t.left[at] = true
			}
		}
		return out
	case []any:
		if f.Item == nil || !merge.HasOwnKeys(rules, v) {
			break
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.dropUnknown(f.Item, rules.Item, path+"[]", e)
		}
		return out
	}
	return v
}
