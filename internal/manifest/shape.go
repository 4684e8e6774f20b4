package manifest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// shape is the part of a JSON Schema that manifests nearly always fulfil. It is
// checked first, because the validator takes a hundred times as long. A shape
// never accepts what the validator would reject; what it does not accept, the
// validator explains.
type shape struct {
	Type       string
	Const      *string
	Enum       []string
	Pattern    *string
	MinLength  int
	MinItems   int
	Required   []string
	Properties map[string]*shape
	Items      *shape
	Ref        string            `json:"$ref"`
	Defs       map[string]*shape `json:"$defs"`

	ref     *shape
	pattern *regexp.Regexp
	// unsure is whether the schema has keywords that a shape does not know.
	unsure bool
}

// shapeOf returns the shape of a schema.
func shapeOf(schema []byte) *shape {
	s := &shape{}
	if err := json.Unmarshal(schema, s); err != nil {
		return &shape{unsure: true}
	}
	s.resolve(s.Defs)
	return s
}

// UnmarshalJSON reads a schema; what it can't read makes the shape unsure.
func (s *shape) UnmarshalJSON(data []byte) error {
	type plain shape // without this method
	var keywords map[string]json.RawMessage
	if json.Unmarshal(data, &keywords) != nil || json.Unmarshal(data, (*plain)(s)) != nil {
		s.unsure = true
		return nil
	}
	for keyword := range keywords {
		s.unsure = s.unsure || !isKnownKeyword(keyword)
	}
	if s.Pattern != nil {
		var err error
		s.pattern, err = regexp.Compile(*s.Pattern)
		s.unsure = s.unsure || err != nil
	}
	types := []string{"", "object", "array", "string", "number", "boolean"}
	s.unsure = s.unsure || !slices.Contains(types, s.Type) || s.Const != nil && s.Enum != nil
	if s.Const != nil {
		s.Enum = []string{*s.Const}
	}
	return nil
}

// isKnownKeyword reports whether a shape checks a keyword, or the keyword rejects
// nothing.
func isKnownKeyword(keyword string) bool {
	switch keyword {
	case "type", "const", "enum", "pattern", "minLength", "minItems", "required", "properties", "items", "$ref",
		"$defs", "$schema", "title", "description", "examples":
		return true
	}
	return strings.HasPrefix(keyword, "x-trueup-")
}

// resolve finds what references lead to.
func (s *shape) resolve(definitions map[string]*shape) {
	if s.Ref != "" {
		name, _ := strings.CutPrefix(s.Ref, "#/$defs/")
		s.ref = definitions[name]
		s.unsure = s.unsure || s.ref == nil
	}
	if s.Items != nil {
		s.Items.resolve(definitions)
	}
	for _, below := range []map[string]*shape{s.Properties, s.Defs} {
		for _, p := range below {
			p.resolve(definitions)
		}
	}
}

// accepts reports whether the validator would accept a value. It accepts no null:
// what that means is decided elsewhere.
func (s *shape) accepts(v any) bool {
	if s.unsure || s.ref != nil && !s.ref.accepts(v) {
		return false
	}
	switch t := v.(type) {
	case map[string]any:
		return s.isType("object") && s.acceptsObject(t)
	case []any:
		return s.isType("array") && s.acceptsList(t)
	case string:
		return s.acceptsText(t)
	case json.Number:
		return s.isType("number")
	case bool:
		return s.isType("boolean")
	}
	return false
}

// isType reports whether a value of a type other than text may stand here.
func (s *shape) isType(typ string) bool { return (s.Type == "" || s.Type == typ) && s.Enum == nil }

func (s *shape) acceptsObject(fields map[string]any) bool {
	for _, name := range s.Required {
		if _, has := fields[name]; !has {
			return false
		}
	}
	for name, v := range fields {
		if p := s.Properties[name]; v == nil || p != nil && !p.accepts(v) {
			return false
		}
	}
	return true
}

func (s *shape) acceptsList(elements []any) bool {
	return len(elements) >= s.MinItems && !slices.ContainsFunc(elements, func(e any) bool {
		return e == nil || s.Items != nil && !s.Items.accepts(e)
	})
}

func (s *shape) acceptsText(t string) bool {
	return (s.Type == "" || s.Type == "string") && (s.Enum == nil || slices.Contains(s.Enum, t)) &&
		(s.MinLength == 0 || utf8.RuneCountInString(t) >= s.MinLength) &&
		(s.pattern == nil || s.pattern.MatchString(t))
}
