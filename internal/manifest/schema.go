package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// schemaCheck reports what the schema of a kind rejects, except in fields that already have an error. It knows the few
// keywords that the schemas have. null means "must be absent", so a null member counts as absent.
type schemaCheck struct {
	file *FileState
	path []pathStep
	// failed are the fields that already have an error; nil before the first report.
	failed map[string]bool
}

func (w *worker) checkSchema(doc map[string]any, k *kind.Kind) {
	(&schemaCheck{file: w.file}).checkValue(doc, k.Root())
}

func (s *schemaCheck) checkValue(v any, f *kind.Field) {
	if f == nil || f.Type == kind.AnyType {
		return // rules say what these accept
	}
	if f.Type != typeOf(v) {
		s.reportWrongType(v, f)
		return
	}
	switch t := v.(type) {
	case map[string]any:
		for _, name := range f.Names {
			s.checkBelow(pathStep{name, -1}, t[name], f.Fields[name])
		}
	case []any:
		if len(t) < f.MinItems {
			s.reportExample("has no element", f)
		}
		for i, e := range t {
			s.checkBelow(pathStep{index: i}, e, f.Item)
		}
	case string:
		switch {
		case f.Enum != nil && !slices.Contains(f.Enum, t):
			s.reportWrongText(t, f)
		case len(t) < f.MinLength:
			s.reportExample("is empty", f)
		}
	}
}

// checkBelow checks a member or an element.
func (s *schemaCheck) checkBelow(step pathStep, v any, f *kind.Field) {
	s.path = append(s.path, step)
	switch isMember := step.index < 0; {
	case v != nil || !isMember:
		s.checkValue(v, f)
	case f.Required:
		path := fieldPath(s.path)
		s.report(path, path+" is missing", exampleFix(step.name, f))
	}
	s.path = s.path[:len(s.path)-1]
}

// pathAndName returns the path of the current field, and its last part.
func (s *schemaCheck) pathAndName() (path, name string) {
	path = fieldPath(s.path)
	return path, path[strings.LastIndexByte(path, '.')+1:]
}

func (s *schemaCheck) reportExample(problem string, f *kind.Field) {
	path, name := s.pathAndName()
	s.report(path, name+" "+problem, exampleFix(name, f))
}

func (s *schemaCheck) reportWrongType(v any, f *kind.Field) {
	path, name := s.pathAndName()
	fix := exampleFix(name, f)
	if right := convertToType(scalarText(v), f); right != "" {
		fix = "write " + name + ": " + right
	}
	x := s.report(path, fmt.Sprintf("%s needs %s and this is %s", name, typeName(f), valueName(v)), fix)
	if text, _ := v.(string); f.Type == kind.Bool || !strings.ContainsAny(text, "eE") { // 1e3 is text to some YAML parsers
		x.Write = convertToType(text, f)
	}
}

func (s *schemaCheck) reportWrongText(text string, f *kind.Field) {
	path, name := s.pathAndName()
	right := strings.Join(diag.MapList(f.Enum, diag.Quote), " or ")
	x := s.report(path, fmt.Sprintf("%s is %s and must be %s", name, diag.Quote(text), right), "write "+name+": "+right)
	x.Write = matchIgnoringCase(text, f.Enum)
}

func (s *schemaCheck) report(path, message, fix string) *diag.Finding {
	if s.failed == nil {
		s.failed = map[string]bool{}
		for _, x := range s.file.DocumentFindings() {
			s.failed[x.Field] = s.failed[x.Field] || x.Severity == diag.Error
		}
	}
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
	_, keeps := canon.Object(annotations)[kind.KeepAnnotation]
	return keeps && len(canon.Object(annotations)) == 1
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
		if !f.Closed {
			fix += unlessUndocumented + ruleMisspeltField
		}
		x := c.reportMember(p, ruleMisspeltField, diag.Error, resemblesMessage("field", p.name, right), fix)
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
