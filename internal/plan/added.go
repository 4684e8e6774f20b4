package plan

import (
	"slices"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Added returns what a creation brings: each field of the spec that is sent as a
// change, and each element of a list of objects as one of its own. Fields with a
// single value come first. It is empty for every other operation.
func (it Item) Added() []Change {
	k, ok := kind.Named(it.Kind)
	if !ok || it.Op != Create {
		return nil
	}
	spec, rules := it.BodySpec(), Rules(k, nil)
	var scalars, others []Change
	add := func(to *[]Change, path string, value any) {
		c := Change{Change: merge.Change{Path: path, Class: merge.Changed, Desired: value}, Cause: it.Cause, By: it.By}
		c.Risk = k.Spec().Places(path).RiskIn(value)
		*to = append(*to, c)
	}
	for _, name := range canon.SortedKeys(spec) {
		if it.Disk != "" && isDisk(k, name, spec[name]) {
			continue // the item says it
		}
		path := merge.FieldPath([]merge.Step{{Field: name}})
		switch v := spec[name].(type) {
		case map[string]any:
			add(&others, path, v)
		case []any:
			names := elementNames(rules.Fields[name], v)
			for i, name := range names {
				add(&others, path+"["+name+"]", v[i])
			}
			if names == nil {
				add(&others, path, v)
			}
		default:
			add(&scalars, path, v)
		}
	}
	return append(scalars, others...)
}

// elementNames are the names of the elements of a list of objects, nil where it is
// none.
func elementNames(rules *merge.Rules, list []any) []string {
	isNoObject := func(v any) bool {
		_, isObject := v.(map[string]any)
		return !isObject
	}
	if rules == nil || slices.ContainsFunc(list, isNoObject) {
		return nil
	}
	var names []string
	for _, n := range merge.Names(rules, list) {
		names = append(names, n[0])
	}
	return names
}

// isDisk reports whether a field of the spec names the disk of the object and holds
// nothing else.
func isDisk(k *kind.Kind, name string, value any) bool {
	at := k.DiskField
	for ; len(at) > 0 && at[0] == name; at = at[1:] {
		if len(at) == 1 {
			return true
		}
		object, _ := value.(map[string]any)
		if len(object) != 1 {
			return false
		}
		name, value = at[1], object[at[1]]
	}
	return false
}

// BodySpec returns the spec in the body of the request, or what would be made where
// live was not looked at. It is nil where there is none.
func (it Item) BodySpec() map[string]any {
	if it.Request != nil {
		spec, _ := decodedObject(it.Request.Body)["spec"].(map[string]any)
		return spec
	}
	return decodedObject(it.Spec)
}

// decodedObject is nil for what is no JSON object.
func decodedObject(text []byte) map[string]any {
	v, err := canon.Decode(text)
	if err != nil {
		return nil
	}
	object, _ := v.(map[string]any)
	return object
}
