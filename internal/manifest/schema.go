package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// accepts reports whether a field accepts a value: most manifests are valid, and need no walk that knows where it
// is. null means "must be absent", so a null member counts as absent.
func accepts(v any, f *kind.Field) bool {
	if f == nil {
		return true
	}
	if f.Type != kind.AnyType && f.Type != typeOf(v) {
		return false
	}
	switch t := v.(type) {
	case map[string]any:
		return acceptsMembers(t, f)
	case []any:
		return len(t) >= f.MinItems && !slices.ContainsFunc(t, func(e any) bool { return !accepts(e, f.Item) })
	case string:
		return (f.Enum == nil || slices.Contains(f.Enum, t)) && len(t) >= f.MinLength
	}
	return true
}

func acceptsMembers(object map[string]any, f *kind.Field) bool {
	for name, below := range f.Fields {
		if member := object[name]; member == nil && below.Required || member != nil && !accepts(member, below) {
			return false
		}
	}
	return true
}

// checkSchema reports what the schema rejects, except in fields that already have an error.
func (w *worker) checkSchema(doc map[string]any, k *kind.Kind) {
	if accepts(doc, k.Root()) {
		return
	}
	s := &schemaErrors{file: w.file, failed: map[string]bool{}}
	for _, x := range w.file.findings[w.file.from:] {
		if x.Severity == diag.Error {
			s.failed[x.Field] = true
		}
	}
	s.check("", doc, k.Root())
}

// schemaErrors has a finding for each value that its field does not accept.
type schemaErrors struct {
	file *file
	// failed are the fields that already have an error.
	failed map[string]bool
}

func (s *schemaErrors) check(path string, v any, f *kind.Field) {
	if f == nil {
		return
	}
	name := path[strings.LastIndexByte(path, '.')+1:]
	if f.Type != kind.AnyType && f.Type != typeOf(v) {
		s.wrongType(path, name, v, f)
		return
	}
	switch t := v.(type) {
	case map[string]any:
		s.checkMembers(path, t, f)
	case []any:
		if len(t) < f.MinItems {
			s.report(path, name+" has no element", exampleFix(name, f))
		}
		for i, e := range t {
			s.check(element(path, i), e, f.Item)
		}
	case string:
		if f.Enum != nil && !slices.Contains(f.Enum, t) {
			s.wrongText(path, name, t, f)
		} else if len(t) < f.MinLength {
			s.report(path, name+" is empty", exampleFix(name, f))
		}
	}
}

func (s *schemaErrors) checkMembers(path string, object map[string]any, f *kind.Field) {
	for _, name := range f.Names {
		below, at := f.Fields[name], child(path, name)
		if member := object[name]; member != nil {
			s.check(at, member, below)
		} else if below.Required {
			s.report(at, at+" is missing", exampleFix(name, below))
		}
	}
}

func (s *schemaErrors) wrongType(path, name string, v any, f *kind.Field) {
	fix := exampleFix(name, f)
	if right := inType(scalarText(v), f); right != "" {
		fix = "write " + name + ": " + right
	}
	x := s.report(path, fmt.Sprintf("%s needs %s and this is %s", name, typeName(f), valueName(v)), fix)
	if text, _ := v.(string); f.Type == kind.Bool || !strings.ContainsAny(text, "eE") { // 1e3 is text to some YAML parsers
		x.Write = inType(text, f)
	}
}

func (s *schemaErrors) wrongText(path, name, text string, f *kind.Field) {
	right := strings.Join(quoted(f.Enum), " or ")
	x := s.report(path, fmt.Sprintf("%s is %s and must be %s", name, quoteName(text), right), "write "+name+": "+right)
	x.Write = otherCase(text, f.Enum)
}

func (s *schemaErrors) report(path, message, fix string) *diag.Finding {
	if s.failed[path] || s.file.full(diag.Error) {
		return &diag.Finding{}
	}
	s.failed[path] = true
	return s.file.fail(0, 0, ruleSchema, path, message, fix)
}

func typeOf(v any) kind.Type {
	switch v.(type) {
	case string:
		return kind.Text
	case bool:
		return kind.Bool
	case json.Number:
		return kind.Number
	case []any:
		return kind.ListType
	case map[string]any:
		return kind.ObjectType
	}
	return kind.AnyType // null
}

func typeName(f *kind.Field) string {
	return [...]string{"another type", "text", "true or false without quotes", "a number without quotes", "a mapping", "a list"}[f.Type]
}

func valueName(v any) string {
	return [...]string{"null", "text", "a boolean", "a number", "a mapping", "a list"}[typeOf(v)]
}

// inType converts a scalar to the type of a field, or returns "".
func inType(text string, f *kind.Field) string {
	value, isBool := booleanWord(text)
	switch {
	case f.Type == kind.Text && text != "":
		return quoteText(text)
	case f.Type == kind.Bool && isBool:
		return strconv.FormatBool(value)
	case f.Type == kind.Number && isJSONNumber(text):
		return text
	}
	return ""
}

func exampleFix(name string, f *kind.Field) string {
	if len(f.Examples) == 0 {
		return "write " + name + " as " + typeName(f)
	}
	return "write " + name + ", for example " + name + ": " + string(canon.Bytes(f.Examples[0]))
}

// scalarText returns a scalar as text, "" for anything else.
func scalarText(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case json.Number:
		return string(t)
	case bool:
		return strconv.FormatBool(t)
	}
	return ""
}

func quoted(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = quoteName(s)
	}
	return out
}
