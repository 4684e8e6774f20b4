package plan

import (
	"maps"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Added returns what a creation brings: each field of its BodySpec, and each element of a list of
// objects, as a change. Fields with a single value come first. Other operations add nothing.
func (it Item) Added(spec map[string]any) []Change {
	k, ok := kind.Named(it.Kind)
	if !ok || it.Op != Create {
		return nil
	}
	rules := Rules(k, nil)
	var scalars, others []Change
	for _, name := range canon.SortedKeys(spec) {
		if isDisk(k.DiskField, name, spec[name]) {
			continue // the item has it
		}
		at := []merge.Step{{Field: name}}
		if _, isList := spec[name].([]any); !isList && isNoObject(spec[name]) {
			scalars = append(scalars, it.addition(merge.FieldPath(at), spec[name]))
		} else {
			others = it.additions(others, rules.Fields[name], at, spec[name])
		}
	}
	return append(scalars, others...)
}

// additions appends a value, or what it consists of if there is a list of objects in it.
func (it Item) additions(found []Change, rules *merge.Rules, at []merge.Step, value any) []Change {
	path := merge.FieldPath(at)
	list, _ := value.([]any)
	object, _ := value.(map[string]any)
	switch {
	case rules != nil && isListOfObjects(value):
		for i, n := range merge.Names(rules, list) {
			found = append(found, it.addition(path+"["+n[0]+"]", list[i]))
		}
	case rules != nil && slices.ContainsFunc(slices.Collect(maps.Values(object)), isListOfObjects):
		for _, name := range canon.SortedKeys(object) {
			found = it.additions(found, rules.Fields[name], append(slices.Clone(at), merge.Step{Field: name}), object[name])
		}
	default:
		found = append(found, it.addition(path, value))
	}
	return found
}

func (it Item) addition(path string, value any) Change {
	c := Change{Change: merge.Change{Path: path, Class: merge.Changed, Desired: value}, Cause: it.Cause, By: it.By}
	if k, ok := kind.Named(it.Kind); ok {
		c.Risk = k.Spec().Find(path).RiskOf(nil, value, nil)
	}
	return c
}

func isListOfObjects(v any) bool {
	list, _ := v.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, isNoObject)
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
