package kind

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/canon"
)

// Part counts the things of one sort in a value: list elements such as rules, with their names, or fields.
type Part struct {
	Noun  string
	N     int
	Names []string
}

// Parts returns what a value at a path of the spec consists of, the most named things first. Elements of a list that have a title are not taken apart.
func (k *Kind) Parts(path string, v any) []Part {
	parts := map[string]*Part{}
	if list, element := k.ListOf(path); element != "" {
		return []Part{{Noun: strings.ToLower(list.Item.Title), N: 1}}
	}
	k.Spec().FindField(path).addParts(parts, v)
	if len(parts) == 0 {
		return []Part{{Noun: "field", N: 1}}
	}
	var all []Part
	for _, p := range parts {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Part) int {
		return cmp.Or(cmp.Compare(len(b.Names), len(a.Names)), cmp.Compare(a.Noun, b.Noun))
	})
	return all
}

// ListOf returns the list whose element has the path, and the text in the brackets, which is empty for other paths.
func (k *Kind) ListOf(path string) (list *Field, element string) {
	parts := PathParts(path)
	last := len(parts) - 1
	name, element, _ := strings.Cut(parts[last], "[")
	list, known := k.Spec().FieldAt(append(parts[:last:last], name))
	if !known || list.List == nil {
		return nil, ""
	}
	return list, strings.TrimSuffix(element, "]")
}

func (f *Field) addParts(parts map[string]*Part, v any) {
	noun, names := "field", []string{""}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range canon.SortedKeys(v) {
			f.Member(name).addParts(parts, v[name])
		}
		return
	case []any:
		if f.Item == nil || f.Item.Title == "" || f.List == nil || len(v) == 0 {
			break
		}
		noun, names = strings.ToLower(f.Item.Title), make([]string, len(v))
		for i, e := range v {
			_, names[i] = f.List.NameOf(e)
		}
	}
	if parts[noun] == nil {
		parts[noun] = &Part{Noun: noun}
	}
	parts[noun].N += len(names)
	parts[noun].Names = append(parts[noun].Names, slices.DeleteFunc(names, func(s string) bool { return s == "" })...)
}
