package report

import (
	"maps"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// An object or list of at most maxInline columns is on the line of its path. A longer one is below.
const maxInline = 60

// subject is what a value is the value of.
type subject struct {
	kind, path string
	// spec is that of a new object, which may have what the value refers to; nil for others.
	spec map[string]any
}

// gist describes a value in the words of its schema, and returns the YAML flow tokens of
// everything else in it. Without such words it returns the whole flow, or if that is long,
// the number of values.
func gist(of subject, v any) (words safe, details []safe) {
	words, rest, ok := summed(of, v)
	if ok && rest != nil {
		return words, view.Tokens(rest, false)
	}
	if ok {
		return words, nil
	}
	if text := view.Literal(v); text.Width() <= maxInline {
		return text, nil
	}
	switch v.(type) {
	case map[string]any, []any:
		tokens := view.Tokens(v, false)
		return safetext.F("%s:", safetext.Count(len(tokens), "value")), tokens
	}
	return value(v, false), nil
}

// summed describes a value in the words of its schema. rest is what neither the words nor the path show. ok is false
// if the schema has no words for it.
func summed(of subject, v any) (words safe, rest any, ok bool) {
	object, isObject := v.(map[string]any)
	k, known := kind.Named(of.kind)
	if !isObject || !known {
		return safe{}, v, false
	}
	field, _ := k.Spec().At(kind.PathParts(of.path))
	if field == nil || field.Summary == "" {
		return safe{}, v, false
	}
	f := filler{root: k.Spec(), field: field, spec: of.spec, object: object, shown: shownKeys(k, of, object)}
	if words, ok = f.fill(field.Summary); !ok {
		return safe{}, v, false
	}
	return words, f.rest(), true
}

// shownKeys returns the fields of an element's key that the brackets of its path or the hostname of the
// new object show.
func shownKeys(k *kind.Kind, of subject, element map[string]any) (shown []string) {
	list, in := listOf(k, of.path)
	if in == "" {
		return nil
	}
	var values []string
	for _, key := range list.List.Key {
		if text, _ := element[key].(string); text != "" {
			values = append(values, text)
		}
	}
	whole := strings.Join(values, list.List.Join) == in
	for _, key := range list.List.Key {
		text, _ := element[key].(string)
		if whole || text == in || text != "" && k.HostField != "" && of.spec[k.HostField] == any(text) {
			shown = append(shown, key)
		}
	}
	return shown
}

// listOf returns the list whose element has the path, and the text in the brackets, which is empty for other paths.
func listOf(k *kind.Kind, path string) (list *kind.Field, in string) {
	parts := kind.PathParts(path)
	last := len(parts) - 1
	name, in, _ := strings.Cut(parts[last], "[")
	list, known := k.Spec().At(append(slices.Clone(parts[:last]), name))
	if !known || list.List == nil {
		return nil, ""
	}
	return list, strings.TrimSuffix(in, "]")
}

// nounOf returns what is at a path: a list element by its title, or a field.
func nounOf(kindName, path string) string {
	k, ok := kind.Named(kindName)
	if !ok {
		return "field"
	}
	element, ok := k.Spec().At(kind.PathParts(path))
	if _, in := listOf(k, path); in == "" || !ok {
		return "field"
	}
	return strings.ToLower(element.Title)
}

// without returns an object without a field and its empty parents; nil if nothing is
// left. List elements stay whole, so that a reader can tell them apart.
func without(v any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	rest := maps.Clone(object)
	if below := without(object[path[0]], path[1:]); below != nil {
		rest[path[0]] = below
	} else {
		delete(rest, path[0])
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}
