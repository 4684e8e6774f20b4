package report

import (
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/safetext"
)

// An object or list of at most maxInline columns is on the line of its path. A longer one is
// below, on at most maxDetails lines unless it is grave.
const (
	maxInline  = 60
	maxDetails = 4
)

// subject is what a value is the value of.
type subject struct {
	kind, path string
	// spec is that of a new object, which may have what the value refers to; nil for others.
	spec map[string]any
}

// gist describes a value in the words of its schema, and returns the YAML flow tokens of
// everything else in it. Without such words it returns the whole flow, or if that is long,
// the number of values.
func gist(of subject, v any, whole bool) (words safe, details []safe) {
	words, rest, ok := summed(of, v)
	if ok && rest != nil {
		return words, bare(rest, limit(whole, maxText))
	}
	if ok {
		return words, nil
	}
	if text := literal(v); text.Width() <= maxInline {
		return text, nil
	}
	switch v.(type) {
	case map[string]any, []any:
		tokens := bare(v, limit(whole, maxText))
		return safetext.F("%s:", safetext.Count(len(tokens), "value")), tokens
	}
	return value(v, whole), nil
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

// flow writes a value as YAML flow, one token for each scalar. It quotes strings that could
// be another value, and shortens them to most columns.
type flow struct {
	tokens []safe
	most   int
}

// bare returns the flow of an object or list without the outer brackets.
func bare(v any, most int) []safe {
	f := flow{most: most}
	f.members(v, "", "")
	if len(f.tokens) == 0 {
		f.write("", v, "")
	}
	return f.tokens
}

func (f *flow) write(before string, v any, after string) {
	text, brackets := "", ""
	switch t := v.(type) {
	case map[string]any:
		brackets = "{}"
	case []any:
		brackets = "[]"
	case string:
		text = f.text(t)
	default:
		text = jsonText(v).String()
	}
	n := len(f.tokens)
	if brackets != "" {
		f.members(v, before+brackets[:1], brackets[1:]+after)
	}
	if len(f.tokens) == n { // a scalar, or a structure without members
		f.tokens = append(f.tokens, clean(before+brackets+text+after))
	}
}

func (f *flow) members(v any, before, after string) {
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	keys := canon.SortedKeys(object)
	n := len(list) + len(keys)
	for i := range n {
		end := ","
		if i == n-1 {
			end = after
		}
		if list != nil {
			f.write(before, list[i], end)
		} else {
			f.write(before+f.text(keys[i])+": ", object[keys[i]], end)
		}
		before = ""
	}
}

func (f *flow) text(s string) string { return shorten(flowText(s), f.most).String() }

// flowText quotes a string unless YAML reads it as the same string without quotes.
func flowText(s string) safe {
	if s == "" || !unquotable(s) || strings.ContainsRune("0123456789-+.", rune(s[0])) {
		return jsonText(s)
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off":
		return jsonText(s)
	}
	return clean(s)
}

// unquotable reports whether no character of s has a meaning in YAML flow.
func unquotable(s string) bool {
	const others = "_-./*"
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(others, r)
	})
}

// flowLines wraps tokens. It counts those after maxDetails lines unless whole is set. It
// breaks only tokens that are wider than a line, at spaces.
func flowLines(tokens []safe, columns int, whole bool) []safe {
	var lines []safe
	var line safe
	for i, token := range tokens {
		pieces := []safe{token}
		if token.Width() > columns {
			pieces = token.Split(" ")
		}
		for _, piece := range pieces {
			piece = piece.TrimRight()
			switch {
			case line.Empty():
				line = piece
			case line.Width()+1+piece.Width() <= columns:
				line = safetext.F("%s %s", line, piece)
			default:
				lines = append(lines, line)
				line = piece
			}
			if len(lines) == maxDetails && !whole {
				return append(lines, safetext.F("… and %s", safetext.Count(len(tokens)-i, "more value")))
			}
		}
	}
	return append(lines, line)
}
