package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// OwnRule is a rule that users write: a JSON Schema that manifests must match.
type OwnRule struct {
	Name string
	// Reason says why the rule exists and what to write: the description of the schema.
	Reason   string
	Severity diag.Severity
	// Kind is the only kind that the rule is for, or "" for all.
	Kind   string
	schema *jsonschema.Schema
}

// The limits of a rule keep what a hostile repository adds from taking memory and time.
const (
	MaxOwnRule = 32 << 10 // of the file, in bytes
	maxParts   = 2000     // of the schema, with each $ref written out
	maxSteps   = 1000     // of a pattern: matching takes that many for each character
)

// draft is the only version of JSON Schema that rules have.
const draft = "https://json-schema.org/draft/2020-12/schema"

var ownName = diag.Pattern(`^[a-z0-9]+(-[a-z0-9]+){0,10}$`)

// plainName is a name that a $ref has without an escape, which could make it another one.
var plainName = diag.Pattern(`^[A-Za-z0-9_-]+$`)

// ruleHead is what a rule says of itself.
type ruleHead struct {
	Title, Description string
	Kind               string         `json:"x-kind"`
	Severity           string         `json:"x-severity"`
	Defs               map[string]any `json:"$defs"`
}

// ParseOwnRule reads the text of a rule. It loads no other document.
func ParseOwnRule(text []byte) (rule OwnRule, err error) {
	var head ruleHead
	var schema map[string]any
	if err := cmp.Or(json.Unmarshal(text, &schema), json.Unmarshal(text, &head)); err != nil {
		return rule, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if err := head.check(); err != nil {
		return rule, err
	}
	rule = OwnRule{Name: head.Title, Reason: head.Description, Severity: diag.Error}
	if k, known := kind.FindKind(head.Kind); known {
		rule.Kind = k.Name
	}
	if head.Severity != "" {
		err = rule.Severity.UnmarshalText([]byte(head.Severity))
	}
	err = cmp.Or(err, (&schemaWalk{defs: head.Defs, left: maxParts}).checkPart(schema))
	if err != nil {
		return rule, err
	}
	rule.schema, err = CompileSchema("rule.json", text)
	return rule, err
}

// CompileSchema compiles a JSON Schema. It loads no other document: a schema must not make this program read a file or an
// address.
func CompileSchema(name string, text []byte) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, fmt.Errorf("%s is another document", url) }
	if err := c.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// check rejects a rule that says too little of itself.
func (head ruleHead) check() error {
	_, known := kind.FindKind(head.Kind)
	switch {
	case !ownName().MatchString(head.Title) || len(head.Title) > maxName:
		return fmt.Errorf("title is %s: write the name of the rule in lower-case letters, digits and hyphens, such as team-label", diag.Quote(head.Title))
	case ByName(head.Title) != nil:
		return fmt.Errorf("title is %s, which is a rule of trueup: choose another name", diag.Quote(head.Title))
	case head.Description == "":
		return errors.New("description is missing: say why the rule exists and what to write")
	case head.Kind != "" && !known:
		return fmt.Errorf("x-kind is %s: write CDN, Purge or VolumeSnapshot, or leave it out for all", diag.Quote(head.Kind))
	case !slices.Contains([]string{"", diag.Error.String(), diag.Warning.String()}, head.Severity):
		return fmt.Errorf("x-severity is %s: write error or warning", diag.Quote(head.Severity))
	}
	return nil
}

// schemaWalk checks the keywords of a schema. left counts down from maxParts.
type schemaWalk struct {
	defs map[string]any
	left int
}

// checkPart rejects what rules can't have: unknown keywords, other documents, and too much work.
func (w *schemaWalk) checkPart(part any) error {
	if w.left--; w.left < 0 {
		return fmt.Errorf("it has more than %d parts, or a $ref to itself: write a shorter schema", maxParts)
	}
	schema := canon.Object(part) // the compiler rejects anything else but true and false
	for _, word := range canon.SortedKeys(schema) {
		if err := w.checkKeyword(word, schema[word]); err != nil {
			return err
		}
	}
	return nil
}

// checkKeyword checks a keyword and the parts of its value. One that rules can't have may be misspelt, and would check nothing.
func (w *schemaWalk) checkKeyword(word string, value any) error {
	parts, known := w.partsOf(word, value)
	if !known {
		return fmt.Errorf("%s can't be %s: rules have the keywords of %s that need no other document, and $ref only as #/$defs/NAME",
			diag.Quote(word), diag.Shorten(string(canon.Encode(value))), draft)
	}
	for _, name := range canon.SortedKeys(canon.Object(value)) {
		if word == "patternProperties" && !isShortPattern(name) {
			return fmt.Errorf("the pattern %s is too long: write a shorter one", diag.Quote(name))
		}
	}
	for _, part := range parts {
		if err := w.checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

// partsOf returns the parts of the value of a keyword, and reports whether rules can have it.
func (w *schemaWalk) partsOf(word string, value any) (parts []any, known bool) {
	text, _ := value.(string)
	switch word {
	case "properties", "patternProperties", "dependentSchemas", "$defs":
		object := canon.Object(value) // the compiler rejects anything else
		for _, name := range canon.SortedKeys(object) {
			parts = append(parts, object[name])
		}
		return parts, true
	case "allOf", "anyOf", "oneOf", "prefixItems":
		parts, _ = value.([]any)
		return parts, true
	case "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else":
		return []any{value}, true
	case "title", "description", "$comment", "x-kind", "x-severity", "type", "enum", "const", "required", "dependentRequired",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
		"uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties":
		return nil, true
	case "$schema":
		return nil, value == draft
	case "pattern":
		return nil, isShortPattern(text)
	case "$ref":
		name, isDefinition := strings.CutPrefix(text, "#/$defs/")
		return []any{w.defs[name]}, isDefinition && plainName().MatchString(name) && w.defs[name] != nil
	}
	return nil, false
}

// isShortPattern reports whether matching a pattern is quick. The compiler of the schema rejects one that is wrong.
func isShortPattern(text string) bool {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return true
	}
	program, err := syntax.Compile(parsed.Simplify())
	return err == nil && len(program.Inst) <= maxSteps
}

// Check reports each place where the object does not match the rule.
func (r OwnRule) Check(s *RuleSubject) {
	invalid, _ := errors.AsType[*jsonschema.ValidationError](r.schema.Validate(s.Doc))
	if invalid == nil || r.Kind != "" && r.Kind != s.Kind.Name {
		return
	}
	found := appendLeafErrors(invalid, nil)
	slices.SortFunc(found, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(cmp.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.KeywordLocation, b.KeywordLocation))
	})
	for _, e := range found {
		field, value := FindValue(s.Doc, e.InstanceLocation)
		message := cmp.Or(field, "the manifest") + ": " + e.Message
		if isOpaque(keywordOf(e)) {
			message = fmt.Sprintf("%s can't be %s", cmp.Or(field, "the manifest"), diag.Shorten(string(canon.Encode(value))))
		}
		s.Report(diag.Finding{Field: field, Rule: r.Name, Severity: r.Severity, Message: message, Fix: r.Reason})
	}
}

// isOpaque reports whether the validator's message about a keyword says nothing about the value: the keyword rejects it as
// a whole.
func isOpaque(keyword string) bool {
	return slices.Contains([]string{"not", "anyOf", "oneOf", "minContains", "maxContains", ""}, keyword)
}

func keywordOf(e *jsonschema.ValidationError) string {
	return e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]
}

// appendLeafErrors appends the errors below e that have no cause, or whose causes are alternatives.
func appendLeafErrors(e *jsonschema.ValidationError, found []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 || e.KeywordLocation != "" && isOpaque(keywordOf(e)) {
		return append(found, e)
	}
	for _, cause := range e.Causes {
		found = appendLeafErrors(cause, found)
	}
	return found
}

// FindValue follows a JSON pointer of the validator through a document, and returns the field as findings write it.
func FindValue(doc any, pointer string) (field string, value any) {
	value = doc
	for _, token := range strings.Split(pointer, "/")[1:] {
		token, _ = url.PathUnescape(token) // the validator escapes it
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch t := value.(type) {
		case map[string]any:
			field, value = kind.JoinField(field, token), t[token]
		case []any:
			i, _ := strconv.Atoi(token)
			field, value = kind.JoinIndex(field, i), t[i]
		}
	}
	return field, value
}
