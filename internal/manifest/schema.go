package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// validator checks objects of a kind. Its parts are made when they are first needed:
// the schema only for an object that the shape does not accept.
type validator struct {
	shape  func() *shape
	schema func() *jsonschema.Schema
}

type validators map[*kind.Kind]validator

func newValidators() validators {
	v := validators{}
	for _, k := range kind.All() {
		v[k] = validator{
			shape:  sync.OnceValue(func() *shape { return shapeOf(k.Schema()) }),
			schema: sync.OnceValue(func() *jsonschema.Schema { return compile(k) }),
		}
	}
	return v
}

// newCompiler returns a compiler that rejects references to other documents: a schema
// must not make this program read a file or an address.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not embedded", url)
	}
	return c
}

// compile compiles the schema of a kind. It panics if it can't, because the schema is
// part of the program.
func compile(k *kind.Kind) *jsonschema.Schema {
	c := newCompiler()
	url := "trueup:///" + k.SchemaFile
	if err := c.AddResource(url, bytes.NewReader(k.Schema())); err != nil {
		panic(fmt.Sprintf("schema of %s: %v", k.Name, err))
	}
	return c.MustCompile(url)
}

// checkSchema reports what the schema rejects, but for fields with an error already.
func (w *worker) checkSchema(o *Object, doc map[string]any) {
	validator := w.validators[o.Kind]
	if validator.shape().accepts(doc) {
		return
	}
	var value any = doc
	if w.convert.nulls {
		value = withoutNulls(doc)
	}
	err := validator.schema().Validate(value)
	if err == nil {
		return
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		w.file.fail(o.Line, o.Column, ruleSchema, "", err.Error(), "fix the document")
		return
	}
	s := schemaReport{worker: w, object: o, doc: value, done: map[string]bool{}}
	for _, f := range w.file.findings[w.file.from:] {
		if f.Severity == diag.Error {
			s.done[f.Field] = true
		}
	}
	s.leaves(invalid)
}

// withoutNulls copies a tree without the members that are null: they mean "must be
// absent", and so they are for the schema.
func withoutNulls(v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for name, e := range t {
			if e != nil {
				out[name] = withoutNulls(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = withoutNulls(e)
		}
		return out
	}
	return v
}

// schemaReport turns the validator's errors into findings.
type schemaReport struct {
	*worker
	object *Object
	doc    any
	done   map[string]bool
}

// leaves reports the innermost causes.
func (s *schemaReport) leaves(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		s.leaves(cause)
	}
	if len(e.Causes) == 0 {
		s.leaf(e)
	}
}

func (s *schemaReport) leaf(e *jsonschema.ValidationError) {
	path, value, field := s.resolve(e.InstanceLocation)
	name := path[strings.LastIndexByte(path, '.')+1:]
	text, _ := value.(string)
	switch e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:] {
	case "required":
		s.missing(path, value, field)
	case "type":
		x := s.report(path, fmt.Sprintf("%s needs %s and this is %s", name, typeName(field), valueName(value)), typeFix(name, value, field))
		if field.Type == kind.Bool || !strings.ContainsAny(text, "eE") { // 1e3 is text to some YAML parsers
			sure(x, inType(text, field))
		}
	case "const", "enum":
		right := strings.Join(quoted(field.Enum), " or ")
		x := s.report(path, fmt.Sprintf("%s is %s and must be %s", name, quoteName(scalarText(value)), right), "write "+name+": "+right)
		if meant := otherCase(text, field.Enum); meant != "" {
			sure(x, quoteText(meant))
		}
	case "minLength":
		s.report(path, name+" is empty", exampleFix(name, field))
	case "minItems":
		s.report(path, name+" has no element", exampleFix(name, field))
	default:
		s.report(path, fmt.Sprintf("%s: %s", name, e.Message), exampleFix(name, field))
	}
}

func (s *schemaReport) missing(path string, value any, field *kind.Field) {
	members, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(field.Fields)) {
		if _, has := members[name]; !has && field.Fields[name].Required {
			s.report(child(path, name), child(path, name)+" is missing", exampleFix(name, field.Fields[name]))
		}
	}
}

func (s *schemaReport) report(path, message, fix string) *diag.Finding {
	if s.done[path] || s.file.full(diag.Error) {
		return nil
	}
	s.done[path] = true
	line, column := s.object.Place(path)
	return s.file.fail(line, column, ruleSchema, path, message, fix)
}

// resolve follows a JSON pointer through document and schema.
func (s *schemaReport) resolve(pointer string) (path string, value any, f *kind.Field) {
	value, f = s.doc, s.object.Kind.Root()
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = unescape.Replace(token)
		switch t := value.(type) {
		case map[string]any:
			path, value, f = child(path, token), t[token], f.Fields[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(t) {
				return path, value, f
			}
			path, value, f = element(path, i), t[i], f.Item
		}
		if f == nil {
			f = &kind.Field{}
		}
	}
	return path, value, f
}

func typeName(f *kind.Field) string {
	switch f.Type {
	case kind.Text:
		return "text"
	case kind.Bool:
		return "true or false without quotes"
	case kind.Number:
		return "a number without quotes"
	case kind.ObjectType:
		return "a mapping"
	case kind.ListType:
		return "a list"
	case kind.AnyType:
	}
	return "another type"
}

func valueName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "a mapping"
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

// typeFix writes the value in the type that the field needs, if it can.
func typeFix(name string, value any, f *kind.Field) string {
	if text := inType(scalarText(value), f); text != "" {
		return "write " + name + ": " + text
	}
	return exampleFix(name, f)
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
