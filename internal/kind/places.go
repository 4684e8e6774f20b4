package kind

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Places are the fields that a path for people may name, because brackets are ambiguous: they enclose a
// list element or a field name, which may have brackets itself. An unknown field has only what it
// inherits, and counts only if the path can name no documented one.
type Places []*Field

// maxBrackets limits the ways to read a path.
const maxBrackets = 12

// Places returns the fields that a path below f may name, at least one.
func (f *Field) Places(path string) Places {
	path = strings.TrimPrefix(path, ".")
	switch {
	case path == "" || f.unknown:
		return Places{f}
	case strings.Count(path, "]") > maxBrackets:
		return Places{{inherited: inherited{Sensitive: true, Risk: RiskServes}, unknown: true}} // too many ways to read it
	case path[0] == '[':
		return f.inBrackets(path)
	}
	end := strings.IndexAny(path, ".[")
	if end <= 0 {
		end = len(path)
	}
	return f.below(path[:end]).Places(path[end:])
}

// inBrackets is Places of a path that begins with a bracket. Any later bracket may close it; if
// none does, the path is a name.
func (f *Field) inBrackets(path string) (out Places) {
	for i := range path {
		rest := path[i+1:]
		if path[i] != ']' || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		next := f.element()
		if name, err := strconv.Unquote(path[1:i]); err == nil && f.Item == nil {
			next = f.below(name)
		}
		for _, place := range next.Places(rest) {
			if !slices.Contains(out, place) {
				out = append(out, place)
			}
		}
	}
	if len(out) == 0 {
		return Places{f.below(path)}
	}
	return out.documented()
}

// documented drops unknown fields if there is a documented one, unless they are sensitive.
func (p Places) documented() Places {
	if !slices.ContainsFunc(p, func(f *Field) bool { return !f.unknown }) {
		return p
	}
	return slices.DeleteFunc(p, func(f *Field) bool { return f.unknown && !f.Sensitive })
}

func (f *Field) below(name string) *Field {
	if known := f.Fields[name]; known != nil {
		return known
	}
	if f.Any != nil {
		return f.Any
	}
	return f.undocumented()
}

func (f *Field) element() *Field {
	if f.Item != nil {
		return f.Item
	}
	return f.undocumented()
}

func (f *Field) undocumented() *Field {
	if f.unknown {
		return f
	}
	return &Field{inherited: f.inherited, unknown: true}
}

// Field returns the places of this field of the object.
func (p Places) Field(name string) Places {
	return p.each(func(f *Field) *Field { return f.below(name) })
}

// Element returns the places of an element of the list.
func (p Places) Element() Places { return p.each((*Field).element) }

func (p Places) each(next func(*Field) *Field) Places {
	out := make(Places, len(p))
	for i, f := range p {
		out[i] = next(f)
	}
	return out
}

// Sensitive reports whether any of the fields is sensitive.
func (p Places) Sensitive() bool {
	return slices.ContainsFunc(p, func(f *Field) bool { return f.Sensitive })
}

// RiskIn returns the highest risk of anything in a value at these places, NoRisk for nil.
func (p Places) RiskIn(value any) (risk Risk) {
	if value == nil {
		return NoRisk
	}
	for _, f := range p {
		risk = max(risk, f.riskIn(value))
	}
	return risk
}

func (f *Field) riskIn(value any) Risk {
	risk := NoRisk
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			if risk = max(risk, f.below(name).riskIn(below)); risk == RiskServes {
				return risk
			}
		}
	case []any:
		for _, element := range v {
			if risk = max(risk, f.element().riskIn(element)); risk == RiskServes {
				return risk
			}
		}
	}
	return cmp.Or(risk, f.Risk)
}

// Gravest returns the highest risk of the fields and of all documented fields below them.
func (p Places) Gravest() (risk Risk) {
	for _, f := range p {
		risk = max(risk, f.Gravest())
	}
	return risk
}

// Gravest returns the highest risk of the field and of all documented fields below it.
func (f *Field) Gravest() Risk {
	risk := f.Risk
	for _, child := range f.Fields {
		risk = max(risk, child.Gravest())
	}
	if f.Any != nil {
		risk = max(risk, f.Any.Gravest())
	}
	if f.Item != nil {
		risk = max(risk, f.Item.Gravest())
	}
	return risk
}

// PathParts splits a path for people at its dots, but not at those in brackets:
// locations[/a.b/*].cache has two parts.
func PathParts(path string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(path) {
		switch path[i] {
		case '[':
			depth++
		case ']':
			depth--
		case '.':
			if depth == 0 {
				parts = append(parts, path[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, path[start:])
}
