package report

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// filler puts the fields of an object into the words of its schema (kind.Field.Summary).
type filler struct {
	// root is the field of the spec, and field that of the object.
	root, field  *kind.Field
	spec, object map[string]any
	// shown are fields that are shown elsewhere. said are the paths that the words contain.
	shown []string
	said  [][]string
}

// fill returns the words of a summary. ok is false if a part that is not optional can't be filled.
func (f *filler) fill(summary string) (words safe, ok bool) {
	for summary != "" {
		required, rest, _ := strings.Cut(summary, "[")
		text, ok := f.part(required)
		if !ok {
			return safe{}, false
		}
		words = safetext.F("%s%s", words, text)
		optional, after, _ := strings.Cut(rest, "]")
		for choice := range strings.SplitSeq(optional, "|") {
			isShown := func(field string) bool { return strings.Contains(choice, "{"+field+"}") }
			if text, ok := f.part(choice); ok && !slices.ContainsFunc(f.shown, isShown) {
				words = safetext.F("%s%s", words, text)
				break
			}
		}
		summary = after
	}
	words = clean(strings.TrimPrefix(words.String(), ", "))
	return words, !words.Empty()
}

// rest returns what the words do not have, or nil.
func (f *filler) rest() any {
	var rest any = f.object
	for _, path := range f.said {
		rest = without(rest, path)
	}
	for _, field := range f.shown {
		rest = without(rest, []string{field})
	}
	return rest
}

// part fills a part of a summary as a whole, or not at all.
func (f *filler) part(text string) (words safe, ok bool) {
	var said [][]string
	for {
		before, after, more := strings.Cut(text, "{")
		words = safetext.F("%s%s", words, before)
		if !more {
			f.said = append(f.said, said...)
			return words, true
		}
		var token string
		token, text, _ = strings.Cut(after, "}")
		value, paths, ok := f.value(token)
		if !ok {
			return safe{}, false
		}
		words, said = safetext.F("%s%s", words, value), append(said, paths...)
	}
}

// value returns the text for what is in braces, and the paths in it.
func (f *filler) value(token string) (text safe, said [][]string, ok bool) {
	if name, list, refers := strings.Cut(token, "@"); refers {
		text, ok = f.referred(name, strings.Split(list, "."))
		return text, nil, ok
	}
	name, want, compares := strings.Cut(token, "=")
	var texts []safe
	for field := range strings.FieldsSeq(name) {
		path := strings.Split(field, ".")
		values, whole, ok := f.values(path)
		if !ok {
			return safe{}, nil, false
		}
		if texts = append(texts, limited(values, ", ")); whole && len(values) <= maxParts {
			said = append(said, path)
		}
	}
	if text = measured(texts); compares {
		return safe{}, said, text.String() == want
	}
	return text, said, true
}

// measured joins texts, and writes a number and its unit of time as a duration.
func measured(texts []safe) safe {
	if len(texts) == 2 {
		if text, ok := kind.TimeText(texts[0].String(), texts[1].String()); ok {
			return clean(text)
		}
	}
	return safetext.Join(texts, " ")
}

// values returns the values of a path: scalars, or the words of the objects in a list. whole is false if
// these words leave something out.
func (f *filler) values(path []string) (values []safe, whole, ok bool) {
	v := any(f.object)
	for _, step := range path {
		object, _ := v.(map[string]any)
		v = object[step]
	}
	field, known := f.field.At(path)
	list, _ := v.([]any)
	if !known || field.Item == nil || field.Item.Summary == "" || len(list) == 0 {
		values, ok = scalars(f.object, path)
		return values, true, ok
	}
	whole = true
	for _, e := range list {
		element, _ := e.(map[string]any)
		of := filler{root: f.root, field: field.Item, object: element}
		text, ok := of.fill(field.Item.Summary)
		if !ok {
			return nil, false, false
		}
		values, whole = append(values, text), whole && of.rest() == nil
	}
	return values, whole, true
}

// referred returns the short words of a list in the element that the object names: those before the first
// optional part. at is a list of the spec, the field with the names of its elements, and one with that list.
func (f *filler) referred(field string, at []string) (words safe, ok bool) {
	elements, _ := f.spec[at[0]].([]any)
	i := slices.IndexFunc(elements, func(e any) bool {
		element, _ := e.(map[string]any)
		name, isText := element[at[1]].(string)
		return isText && any(name) == f.object[field]
	})
	list, known := f.root.At([]string{at[0] + "[]", at[2]})
	if i < 0 || !known || list.Item == nil {
		return safe{}, false
	}
	summary, _, _ := strings.Cut(list.Item.Summary, "[")
	objects, _ := elements[i].(map[string]any)[at[2]].([]any)
	var texts []safe
	for _, e := range objects {
		element, _ := e.(map[string]any)
		of := filler{root: f.root, field: list.Item, object: element}
		text, ok := of.part(summary)
		if !ok {
			return safe{}, false
		}
		texts = append(texts, text)
	}
	return limited(texts, ", "), len(texts) > 0
}

// scalars returns the values of a path, several if it passes a list.
func scalars(v any, path []string) (values []safe, ok bool) {
	switch t := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		if len(path) == 0 {
			return nil, false
		}
		return scalars(t[path[0]], path[1:])
	case []any:
		for _, e := range t {
			one, ok := scalars(e, path)
			if !ok {
				return nil, false
			}
			values = append(values, one...)
		}
		return values, len(values) > 0 && len(path) > 0
	}
	return []safe{said(v)}, len(path) == 0
}

// said returns a scalar for a sentence, quoted only if needed.
func said(v any) safe {
	if s, ok := v.(string); ok && s != "" && view.IsPlain(s) {
		return view.Shorten(clean(s))
	}
	return view.Shorten(view.Literal(v))
}
