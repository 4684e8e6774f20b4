package kind

import (
	"slices"
	"strconv"
	"strings"
)

// Places are the fields that a path as people read it may name: what stands in
// brackets names an element of a list, or a field with signs in its name, and may
// itself have brackets. A field that no schema knows has only what it inherits,
// and counts where the path can name no documented one.
type Places []*Field

// maxBrackets bounds the ways to read a path.
const maxBrackets = 12

// Places returns the fields that a path below f may name; one at least.
func (f *Field) Places(path string) Places {
	path = strings.TrimPrefix(path, ".")
	switch {
	case path == "" || f.unknown:
		return Places{f}
	case strings.Count(path, "]") > maxBrackets:
		return Places{{Sensitive: true, Risk: RiskServes, unknown: true}} // too many ways to read it
	case path[0] == '[':
		return f.inBrackets(path)
	}
	end := strings.IndexAny(path, ".[")
	if end <= 0 {
		end = len(path)
	}
	return f.below(path[:end]).Places(path[end:])
}

// inBrackets is Places of a path that begins with a bracket, which any later one
// may close; where none does, it is a name.
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

// documented leaves out unknown fields where there is a documented one, unless they
// are sensitive.
func (p Places) documented() Places {
	if !slices.ContainsFunc(p, func(f *Field) bool { return !f.unknown }) {
		return p
	}
	return slices.DeleteFunc(p, func(f *Field) bool { return f.unknown && !f.Sensitive })
}

// below is the field of that name in an object.
func (f *Field) below(name string) *Field {
	if known := f.Fields[name]; known != nil {
		return known
	}
	if f.Any != nil {
		return f.Any
	}
	return f.undocumented()
}

// element is the element of a list.
func (f *Field) element() *Field {
	if f.Item != nil {
		return f.Item
	}
	return f.undocumented()
}

// undocumented is any field below f that the schema does not know.
func (f *Field) undocumented() *Field {
	if f.unknown {
		return f
	}
	return &Field{ReadOnly: f.ReadOnly, Sensitive: f.Sensitive, Immutable: f.Immutable, NotSent: f.NotSent, Risk: f.Risk, unknown: true}
}

// Field returns the places of a field of the object.
func (p Places) Field(name string) Places {
	out := make(Places, len(p))
	for i, f := range p {
		out[i] = f.below(name)
	}
	return out
}

// Element returns the places of an element of the list.
func (p Places) Element() Places {
	out := make(Places, len(p))
	for i, f := range p {
		out[i] = f.element()
	}
	return out
}

// Sensitive reports whether any of the fields is sensitive.
func (p Places) Sensitive() bool {
	for _, f := range p {
		if f.Sensitive {
			return true
		}
	}
	return false
}

// Risk returns the gravest risk of the fields themselves.
func (p Places) Risk() Risk {
	risk := NoRisk
	for _, f := range p {
		risk = max(risk, f.Risk)
	}
	return risk
}

// RiskIn returns the gravest risk of anything in a value that stands there. A nil
// is no value.
func (p Places) RiskIn(value any) Risk {
	risk := NoRisk
	if value == nil {
		return risk
	}
	for _, f := range p {
		risk = max(risk, f.riskIn(value))
	}
	return risk
}

func (f *Field) riskIn(value any) Risk {
	risk := NoRisk
	if f.unknown {
		return f.Risk // and so is all below
	}
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
	default:
		return f.Risk
	}
	if risk == NoRisk {
		return f.Risk // it is empty
	}
	return risk
}

// Gravest returns the gravest risk of the field and of all that is documented
// below it.
func (f *Field) Gravest() Risk {
	risk := f.Risk
	for _, child := range f.Fields {
		risk = max(risk, child.Gravest())
	}
	for _, child := range []*Field{f.Any, f.Item} {
		if child != nil {
			risk = max(risk, child.Gravest())
		}
	}
	return risk
}
