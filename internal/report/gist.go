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

// gist describes a value in the words of its schema, and returns the YAML flow tokens of
// everything else in it. Without such words it returns the whole flow, or if that is long,
// the number of values.
func gist(kindName, path string, v any, whole bool) (words safe, details []safe) {
	words, rest, ok := summed(kindName, path, v)
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

// summed describes a value in the words of its schema, and returns what neither the words
// nor the path have. ok is false without such words.
func summed(kindName, path string, v any) (words safe, rest any, ok bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return safe{}, v, false
	}
	field, keys := fieldAt(kindName, path)
	if field == nil || field.Summary == "" {
		return safe{}, v, false
	}
	words, said, ok := fill(field.Summary, object)
	if !ok {
		return safe{}, v, false
	}
	for _, k := range keys {
		said = append(said, []string{k})
	}
	rest = object
	for _, s := range said {
		rest = without(rest, s)
	}
	return words, rest, true
}

// fieldAt returns the field of a path, and the key fields of its last brackets.
func fieldAt(kindName, path string) (field *kind.Field, keys []string) {
	k, ok := kind.Named(kindName)
	if !ok {
		return nil, nil
	}
	parts := kind.PathParts(path)
	field, _ = k.Spec().At(parts)
	last := len(parts) - 1
	name, _, indexed := strings.Cut(parts[last], "[")
	if list, ok := k.Spec().At(append(slices.Clone(parts[:last]), name)); ok && indexed && list.List != nil {
		keys = list.List.Key
	}
	return field, keys
}

// fill puts an object's fields into a summary (kind.Field.Summary) and returns their
// paths. ok is false if a field is absent or not a scalar.
func fill(summary string, object map[string]any) (words safe, said [][]string, ok bool) {
	for {
		before, after, more := strings.Cut(summary, "{")
		words = safetext.F("%s%s", words, before)
		if !more {
			return words, said, true
		}
		var fields string
		fields, summary, _ = strings.Cut(after, "}")
		var texts []safe
		for field := range strings.FieldsSeq(fields) {
			path := strings.Split(field, ".")
			values, ok := scalars(object, path)
			if !ok {
				return safe{}, nil, false
			}
			if texts = append(texts, limited(values, ", ")); len(values) <= maxParts {
				said = append(said, path)
			}
		}
		words = safetext.F("%s%s", words, measured(texts))
	}
}

// measured joins texts, and writes a number and its unit of time as a duration.
func measured(texts []safe) safe {
	if len(texts) == 2 {
		if d, ok := kind.Duration(texts[0].String(), texts[1].String()); ok {
			return clean(kind.DurationText(d))
		}
	}
	return safetext.Join(texts, " ")
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
	if s, ok := v.(string); ok && s != "" && unquotable(s) {
		return clean(s)
	}
	return literal(v)
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
