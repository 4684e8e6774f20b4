package plan

import (
	"slices"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Added returns what a creation brings: each field of the spec, and each element of a list of
// objects, as a change. Fields with a single value come first. Other operations add nothing.
func (it Item) Added() []Change {
	k, ok := kind.Named(it.Kind)
	if !ok || it.Op != Create {
		return nil
	}
	spec, rules := it.BodySpec(), Rules(k, nil)
	var scalars, others []Change
	change := func(path string, value any) Change {
		c := Change{Change: merge.Change{Path: path, Class: merge.Changed, Desired: value}, Cause: it.Cause, By: it.By}
		c.Risk = k.Spec().Places(path).RiskIn(value)
		return c
	}
	for _, name := range canon.SortedKeys(spec) {
		if isDisk(k.DiskField, name, spec[name]) {
			continue // the item has it
		}
		path := merge.FieldPath([]merge.Step{{Field: name}})
		list, isList := spec[name].([]any)
		field := rules.Fields[name]
		switch {
		case len(list) > 0 && field != nil && !slices.ContainsFunc(list, isNoObject):
			for i, n := range merge.Names(field, list) {
				others = append(others, change(path+"["+n[0]+"]", list[i]))
			}
		case isList || !isNoObject(spec[name]):
			others = append(others, change(path, spec[name]))
		default:
			scalars = append(scalars, change(path, spec[name]))
		}
	}
	return append(scalars, others...)
}

func isNoObject(v any) bool {
	_, ok := v.(map[string]any)
	return !ok
}

// isDisk reports whether a field of the spec has nothing but the disk, which is at the path.
func isDisk(path []string, name string, value any) bool {
	if len(path) == 0 || path[0] != name {
		return false
	}
	for _, step := range path[1:] {
		object, _ := value.(map[string]any)
		if value = object[step]; len(object) != 1 {
			return false
		}
	}
	disk, _ := value.(string)
	return disk != ""
}

// BodySpec returns the spec in the body of the request, or of an offline plan, or nil.
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
