package manifest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"trueup/internal/canon"
)

// shape is a schema as it is asked first whether it holds: nearly always it
// does, and to hear that from the validator costs a hundred times as much. A
// shape never says so where the validator would not; where it does not, the
// validator says what is wrong.
type shape struct {
	// typ is a JSON type, or "" for any.
	typ        string
	words      []string
	pattern    *regexp.Regexp
	minLength  int
	minItems   int
	required   []string
	properties map[string]*shape
	items, ref *shape
	// unsure says that the schema has more than this.
	unsure bool
}

// shaper makes shapes of one document.
type shaper struct {
	definitions map[string]any
	done        map[string]*shape
}

// shapeOf returns the shape of a schema.
func shapeOf(schema []byte) *shape {
	tree, _ := canon.MustDecode(schema).(map[string]any)
	definitions, _ := tree["$defs"].(map[string]any)
	s := shaper{definitions, map[string]*shape{}}
	return s.shape(tree)
}

func (r shaper) shape(schema any) *shape {
	s := &shape{}
	tree, ok := schema.(map[string]any)
	s.unsure = !ok
	for keyword, v := range tree {
		if !r.below(s, keyword, v) && !s.rule(keyword, v) && !isNote(keyword) {
			s.unsure = true
		}
	}
	return s
}

// isNote reports whether a keyword refuses nothing.
func isNote(keyword string) bool {
	switch keyword {
	case "title", "description", "examples", "$schema", "$defs":
		return true
	}
	return strings.HasPrefix(keyword, "x-trueup-")
}

// rule takes a keyword that is about the value itself, and tells whether it is
// one of those that are known.
func (s *shape) rule(keyword string, v any) (known bool) {
	text, isText := v.(string)
	switch keyword {
	case "type":
		s.typ, known = text, slices.Contains([]string{"object", "array", "string", "number", "boolean"}, text)
	case "const":
		known = isText && s.words == nil
		s.words = []string{text}
	case "enum":
		known = s.words == nil
		s.words, isText = allText(v)
		known = known && isText
	case "required":
		s.required, known = allText(v)
	case "minLength":
		s.minLength, known = whole(v)
	case "minItems":
		s.minItems, known = whole(v)
	case "pattern":
		var err error
		s.pattern, err = regexp.Compile(text)
		known = isText && err == nil
	}
	return known
}

// below takes a keyword that holds other schemas.
func (r shaper) below(s *shape, keyword string, v any) (known bool) {
	switch keyword {
	case "properties":
		fields, ok := v.(map[string]any)
		s.properties = make(map[string]*shape, len(fields))
		for name, field := range fields {
			s.properties[name] = r.shape(field)
		}
		return ok
	case "items":
		s.items = r.shape(v)
		return true
	case "$ref":
		name, _ := v.(string)
		s.ref = r.definition(name)
		return true
	}
	return false
}

// definition returns what a reference means. One that leads to itself is noted
// before it is read.
func (r shaper) definition(ref string) *shape {
	s := r.done[ref]
	if s == nil {
		s = &shape{}
		r.done[ref] = s
		name, _ := strings.CutPrefix(ref, "#/$defs/")
		*s = *r.shape(r.definitions[name])
	}
	return s
}

func allText(v any) ([]string, bool) {
	list, ok := v.([]any)
	all := make([]string, 0, len(list))
	for _, e := range list {
		text, isText := e.(string)
		all, ok = append(all, text), ok && isText
	}
	return all, ok
}

func whole(v any) (int, bool) {
	number, _ := v.(json.Number)
	n, err := number.Int64()
	return int(n), err == nil
}

// holds reports whether the validator would take a value. Of null it never says
// so: what that means is decided elsewhere.
func (s *shape) holds(v any) bool {
	if s.unsure || s.ref != nil && !s.ref.holds(v) {
		return false
	}
	switch t := v.(type) {
	case map[string]any:
		return s.admits("object") && s.object(t)
	case []any:
		return s.admits("array") && s.list(t)
	case string:
		return s.text(t)
	case json.Number:
		return s.admits("number")
	case bool:
		return s.admits("boolean")
	}
	return false
}

// admits reports whether a value of a type other than text may stand here.
func (s *shape) admits(typ string) bool {
	return (s.typ == "" || s.typ == typ) && s.words == nil
}

func (s *shape) object(fields map[string]any) bool {
	for _, name := range s.required {
		if _, has := fields[name]; !has {
			return false
		}
	}
	for name, v := range fields {
		if v == nil {
			return false
		}
		if p := s.properties[name]; p != nil && !p.holds(v) {
			return false
		}
	}
	return true
}

func (s *shape) list(elements []any) bool {
	if len(elements) < s.minItems {
		return false
	}
	for _, e := range elements {
		if e == nil || s.items != nil && !s.items.holds(e) {
			return false
		}
	}
	return true
}

func (s *shape) text(t string) bool {
	return (s.typ == "" || s.typ == "string") && (s.words == nil || slices.Contains(s.words, t)) &&
		(s.minLength == 0 || utf8.RuneCountInString(t) >= s.minLength) &&
		(s.pattern == nil || s.pattern.MatchString(t))
}
