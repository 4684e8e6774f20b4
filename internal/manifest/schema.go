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

// schemaCheck compares a document with the schema of its kind, as a validator of JSON Schema does;
// tests compare the two. A null means "must be absent", so a member that is null is absent here.
type schemaCheck struct {
	file *file
	path []step
	// failed are the fields that have an error already.
	failed map[string]bool
}

// checkSchema reports what the schema rejects, but for fields with an error already.
func (f *file) checkSchema(doc map[string]any, root *kind.Field) {
	s := &schemaCheck{file: f, failed: map[string]bool{}}
	for _, x := range f.findings[f.from:] {
		if x.Severity == diag.Error {
			s.failed[x.Field] = true
		}
	}
	s.value(doc, root)
}

func (s *schemaCheck) value(v any, f *kind.Field) {
	if f == nil {
		return
	}
	if f.Type != kind.AnyType && f.Type != typeOf(v) {
		s.wrongType(v, f)
		return
	}
	switch t := v.(type) {
	case map[string]any:
		for _, name := range f.Names {
			below, member := f.Fields[name], t[name]
			if member != nil {
				s.below(step{name, -1}, member, below)
			} else if below.Required {
				path := child(fieldPath(s.path), name)
				s.report(path, path+" is missing", exampleFix(name, below))
			}
		}
	case []any:
		if len(t) < f.MinItems {
			s.fail(" has no element", f)
		}
		for i, e := range t {
			s.below(step{index: i}, e, f.Item)
		}
	case string:
		if f.Enum != nil && !slices.Contains(f.Enum, t) {
			s.wrongText(t, f)
		} else if len(t) < f.MinLength {
			s.fail(" is empty", f)
		}
	}
}

func (s *schemaCheck) below(at step, v any, f *kind.Field) {
	s.path = append(s.path, at)
	s.value(v, f)
	s.path = s.path[:len(s.path)-1]
}

// at returns the current path, and its last part.
func (s *schemaCheck) at() (path, name string) {
	path = fieldPath(s.path)
	return path, path[strings.LastIndexByte(path, '.')+1:]
}

func (s *schemaCheck) fail(problem string, f *kind.Field) {
	path, name := s.at()
	s.report(path, name+problem, exampleFix(name, f))
}

func (s *schemaCheck) wrongType(v any, f *kind.Field) {
	path, name := s.at()
	fix := exampleFix(name, f)
	if right := inType(scalarText(v), f); right != "" {
		fix = "write " + name + ": " + right
	}
	x := s.report(path, fmt.Sprintf("%s needs %s and this is %s", name, typeName(f), valueName(v)), fix)
	if text, _ := v.(string); f.Type == kind.Bool || !strings.ContainsAny(text, "eE") { // 1e3 is text to some YAML parsers
		sure(x, inType(text, f))
	}
}

func (s *schemaCheck) wrongText(text string, f *kind.Field) {
	path, name := s.at()
	right := strings.Join(quoted(f.Enum), " or ")
	x := s.report(path, fmt.Sprintf("%s is %s and must be %s", name, quoteName(text), right), "write "+name+": "+right)
	if meant := otherCase(text, f.Enum); meant != "" {
		sure(x, quoteText(meant))
	}
}

func (s *schemaCheck) report(path, message, fix string) *diag.Finding {
	if s.failed[path] || s.file.full(diag.Error) {
		return nil
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

// inType writes a scalar in the type of a field, or "" if it can't.
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

// exampleFix shows what the field may hold.
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
