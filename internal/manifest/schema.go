package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/rules"
)

// validators compile the schema of each kind when an object is first rejected.
var validators = sync.OnceValue(func() map[*kind.Kind]func() *jsonschema.Schema {
	v := map[*kind.Kind]func() *jsonschema.Schema{}
	for _, k := range kind.AllDocumentKinds() {
		v[k] = sync.OnceValue(func() *jsonschema.Schema { return compileSchema(k.SchemaFile, k.Schema()) })
	}
	return v
})

// compileSchema compiles a schema of the program, and panics if it can't.
func compileSchema(name string, text []byte) *jsonschema.Schema {
	schema, err := rules.CompileSchema("trueup:///"+name, text)
	if err != nil {
		panic(fmt.Sprintf("schema %s: %v", name, err))
	}
	return schema
}

// acceptsValue reports whether a field accepts a value. Valid manifests need no validator then, which takes
// a hundred times as long. null means "must be absent", so a null member counts as absent.
func acceptsValue(v any, f *kind.Field) bool {
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
		return len(t) >= f.MinItems && !slices.ContainsFunc(t, func(e any) bool { return !acceptsValue(e, f.Item) })
	case string:
		return (f.Enum == nil || slices.Contains(f.Enum, t)) && len(t) >= f.MinLength
	}
	return true
}

func acceptsMembers(object map[string]any, f *kind.Field) bool {
	for name, member := range object {
		if member != nil && !acceptsValue(member, f.Fields[name]) {
			return false
		}
	}
	return !slices.ContainsFunc(f.Needs, func(name string) bool { return object[name] == nil })
}

// checkSchema reports what the schema rejects, except in fields that already have an error.
func (w *worker) checkSchema(doc map[string]any, k *kind.Kind) {
	if acceptsValue(doc, k.Root()) {
		return
	}
	s := &schemaErrors{file: w.file, doc: doc, root: k.Root(), failed: map[string]bool{}}
	for _, x := range w.file.DocumentFindings() {
		if x.Severity == diag.Error {
			s.failed[x.Field] = true
		}
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](validators()[k]().Validate(s.doc)); ok {
		s.reportLeaves(invalid)
	}
}

// schemaErrors turns the validator's errors into findings.
type schemaErrors struct {
	file *FileState
	doc  any
	root *kind.Field
	// failed are the fields that already have an error.
	failed map[string]bool
}

func (s *schemaErrors) reportLeaves(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		s.reportLeaves(cause)
	}
	if len(e.Causes) == 0 {
		s.reportLeaf(e)
	}
}

func (s *schemaErrors) reportLeaf(e *jsonschema.ValidationError) {
	keyword := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]
	path, v := rules.FindValue(s.doc, e.InstanceLocation)
	f, _ := s.root.FieldAt(kind.SplitAtDots(path)) // nil for what the schema does not list
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case f == nil || f.Type == kind.AnyType || keyword == "additionalProperties": // rules say what these accept
	case v == nil && !strings.HasSuffix(path, "]"): // null means that a member must be absent
		s.reportMissing(path, name, f)
	default:
		s.reportViolation(keyword, e.Message, path, name, v, f)
	}
}

// reportViolation reports that a value breaks a keyword of the schema.
func (s *schemaErrors) reportViolation(keyword, message, path, name string, v any, f *kind.Field) {
	switch keyword {
	case "required":
		members, _ := v.(map[string]any)
		for _, name := range f.Names {
			if members[name] == nil {
				s.reportMissing(kind.JoinField(path, name), name, f.Fields[name])
			}
		}
	case "type":
		s.reportWrongType(path, name, v, f)
	case "const", "enum":
		s.reportWrongText(path, name, scalarText(v), f)
	case "minLength":
		s.report(path, name+" is empty", exampleFix(name, f))
	case "minItems":
		s.report(path, name+" has no element", exampleFix(name, f))
	default:
		s.report(path, name+": "+message, exampleFix(name, f))
	}
}

func (s *schemaErrors) reportMissing(path, name string, f *kind.Field) {
	if f.Required {
		s.report(path, path+" is missing", exampleFix(name, f))
	}
}

func (s *schemaErrors) reportWrongType(path, name string, v any, f *kind.Field) {
	fix := exampleFix(name, f)
	if right := convertToType(scalarText(v), f); right != "" {
		fix = "write " + name + ": " + right
	}
	x := s.report(path, fmt.Sprintf("%s needs %s and this is %s", name, typeName(f), valueName(v)), fix)
	if text, _ := v.(string); f.Type == kind.Bool || !strings.ContainsAny(text, "eE") { // 1e3 is text to some YAML parsers
		x.Write = convertToType(text, f)
	}
}

func (s *schemaErrors) reportWrongText(path, name, text string, f *kind.Field) {
	right := strings.Join(diag.MapList(f.Enum, diag.Quote), " or ")
	x := s.report(path, fmt.Sprintf("%s is %s and must be %s", name, diag.Quote(text), right), "write "+name+": "+right)
	x.Write = matchIgnoringCase(text, f.Enum)
}

func (s *schemaErrors) report(path, message, fix string) *diag.Finding {
	if s.failed[path] || s.file.Full(diag.Error) {
		return &diag.Finding{}
	}
	s.failed[path] = true
	return s.file.AddError(0, 0, ruleSchema, path, message, fix)
}

func typeOf(v any) kind.FieldType {
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

// convertToType converts a scalar to the type of a field, or returns "".
func convertToType(text string, f *kind.Field) string {
	value, isBool := ParseBool(text)
	switch {
	case f.Type == kind.Text && text != "":
		return strconv.Quote(text)
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
	return "write " + name + ", for example " + name + ": " + string(canon.Encode(f.Examples[0]))
}

// scalarText returns a scalar as text, "" for anything else.
func scalarText(v any) string {
	switch v.(type) {
	case string, json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}

// checkMembers reports members that the platform does not document, or that trueup does not send. It
// needs the complete mapping, because the value of one member may be the name of another.
func (c *converter) checkMembers(members []mappingMember, tree map[string]any, f *kind.Field) {
	if f == nil || c.stopped {
		return
	}
	for _, p := range members {
		below := f.Fields[p.name]
		switch {
		case f.NotSent:
			c.checkKeep(p, f)
		case f.Fields == nil:
			return
		case below == nil && !f.KnowsMember(p.name, tree):
			c.reportUnknownMember(p, tree, f)
		case below != nil && below.NotSent && below.Type == kind.ObjectType && !hasOnlyKeepAnnotation(tree[p.name]):
			c.reportMember(p, ruleNotSent, diag.Warning, p.name+" stay in git and are not sent: the platform does not document them",
				"nothing to fix; to silence this warning, remove them or write them as comments")
		}
	}
}

// checkKeep reports a misspelt annotation that would not keep its object.
func (c *converter) checkKeep(p mappingMember, f *kind.Field) {
	if f.Name == "annotations" && p.name != kind.KeepAnnotation && diag.Corrections(p.name, []string{kind.KeepAnnotation}) != nil {
		c.reportMember(p, ruleMisspeltField, diag.Error, resemblesMessage("field", p.name, kind.KeepAnnotation), "write "+kind.KeepAnnotation)
	}
}

// hasOnlyKeepAnnotation reports whether annotations hold only the one that trueup reads.
func hasOnlyKeepAnnotation(annotations any) bool {
	m, _ := annotations.(map[string]any)
	_, keeps := m[kind.KeepAnnotation]
	return keeps && len(m) == 1
}

// reportUnknownMember reports a member that the schema does not have. A misspelt one is an error: trueup would
// remove the field that was meant, because git does not have it.
func (c *converter) reportUnknownMember(p mappingMember, tree map[string]any, f *kind.Field) {
	known := f.Names
	if name, ok := tree[f.Discriminator].(string); ok && !slices.Contains(known, name) {
		known = append(slices.Clip(known), name)
	}
	if meant := diag.Corrections(p.name, known); meant != nil && !c.isListedUndocumented(p.name) {
		right := strings.Join(meant, " or ")
		fix := "write " + right
		if _, used := tree[meant[0]]; used && len(meant) == 1 {
			fix = "remove it: " + right + " is already set"
		}
		x := c.reportMember(p, ruleMisspeltField, diag.Error, resemblesMessage("field", p.name, right), fix+fixUnlessKnown(f))
		x.Write = matchIgnoringCase(p.name, f.Names)
		for other := range tree {
			if other != p.name && strings.EqualFold(other, p.name) {
				x.Write = "" // two fields would become one
			}
		}
		return
	}
	if c.file.Full(diag.Warning) {
		return
	}
	names := slices.Sorted(maps.Keys(f.Fields))
	unused := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, used := tree[name]; return used })
	fix := diag.Suggest(p.name, unused, "did you mean %s?", "remove it if it is a mistake; the known fields here are "+strings.Join(names, ", "))
	rule, severity, message := RuleUnknownField, diag.Warning, "the platform documents no field "
	if f.Closed {
		rule, severity, message = ruleSchema, diag.Error, "there is no field "
	}
	c.reportMember(p, rule, severity, message+diag.Quote(p.name)+" here", fix)
}

// fixUnlessKnown ends the fix of a misspelt field of an object that may have undocumented fields.
func fixUnlessKnown(object *kind.Field) string {
	if object.Closed {
		return ""
	}
	return unlessUndocumented + ruleMisspeltField
}

// unlessUndocumented ends the fix of a misspelling, before the name of the rule.
const unlessUndocumented = "; if the platform has it, see trueup explain "

// resemblesMessage is the message about a misspelt field or value. It names the first character that is not
// ASCII, which may look like an ASCII letter.
func resemblesMessage(noun, word, right string) string {
	message := fmt.Sprintf("there is no %s %s here: it resembles %s", noun, diag.Quote(word), right)
	for _, r := range word {
		if r > unicode.MaxASCII {
			return message + fmt.Sprintf(", and has the character %q (U+%04X)", r, r)
		}
	}
	return message
}

// isListedUndocumented reports whether the project lists a field or value at the current path as undocumented.
func (c *converter) isListedUndocumented(word string) bool {
	if len(c.exempt) == 0 {
		return false
	}
	steps := slices.DeleteFunc(slices.Clone(c.path), func(s pathStep) bool { return s.index >= 0 })
	return slices.Contains(c.exempt[fieldPath(steps)], word)
}

// matchIgnoringCase returns what to write for a word: the one known word that differs only in case, or "".
func matchIgnoringCase(word string, known []string) string {
	meant := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.EqualFold(k, word) })
	if len(meant) != 1 || meant[0] == word {
		return ""
	}
	return strconv.Quote(meant[0])
}

// checkKnownValue reports a value that the platform does not document, if it documents others. A misspelt
// value is an error.
func (c *converter) checkKnownValue(n *yaml.Node, value string, f *kind.Field) {
	if f == nil || len(f.Seen) == 0 || slices.Contains(f.Seen, value) {
		return
	}
	meant := diag.Corrections(value, f.Seen)
	if meant != nil && !slices.Contains(f.Observed, value) && !c.isListedUndocumented(value) {
		right := strings.Join(diag.MapList(meant, diag.Quote), " or ")
		x := c.addError(n, ruleMisspeltValue, resemblesMessage("value", value, right), "write "+c.fieldLine(right)+unlessUndocumented+ruleMisspeltValue)
		x.Write = matchIgnoringCase(value, meant)
		return
	}
	if c.file.Full(diag.Warning) {
		return
	}
	fix := diag.Suggest(value, f.Seen, "did you mean %q?", "check it: the platform documents "+strings.Join(diag.MapList(f.Seen, diag.Quote), ", "))
	c.file.AddFinding(n.Line, n.Column, RuleUnknownValue, diag.Warning, fieldPath(c.path),
		fmt.Sprintf("the platform documents no value %s for %s", diag.Quote(value), f.Name), fix)
}
