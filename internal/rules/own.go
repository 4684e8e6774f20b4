package rules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

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

var ownName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+){0,10}$`) })

// ParseOwnRule reads the text of a rule. It loads no other document.
func ParseOwnRule(text []byte) (rule OwnRule, err error) {
	var head struct {
		Title, Description string
		Kind               string         `json:"x-kind"`
		Severity           string         `json:"x-severity"`
		Defs               map[string]any `json:"$defs"`
	}
	var schema map[string]any
	if err := cmp.Or(json.Unmarshal(text, &schema), json.Unmarshal(text, &head)); err != nil {
		return rule, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	k, known := kind.FindKind(head.Kind)
	switch {
	case !ownName().MatchString(head.Title) || len(head.Title) > maxName:
		return rule, fmt.Errorf("title is %s: write the name of the rule in lower-case letters, digits and hyphens, such as team-label", diag.Quote(head.Title))
	case Named(head.Title) != nil:
		return rule, fmt.Errorf("title is %s, which is a rule of trueup: choose another name", diag.Quote(head.Title))
	case head.Description == "":
		return rule, errors.New("description is missing: say why the rule exists and what to write")
	case head.Kind != "" && !known:
		return rule, fmt.Errorf("x-kind is %s: write CDN, Purge or VolumeSnapshot, or leave it out for all", diag.Quote(head.Kind))
	case !slices.Contains([]string{"", diag.Error.String(), diag.Warning.String()}, head.Severity):
		return rule, fmt.Errorf("x-severity is %s: write error or warning", diag.Quote(head.Severity))
	}
	rule = OwnRule{Name: head.Title, Reason: head.Description, Severity: diag.Error}
	if head.Kind != "" {
		rule.Kind = k.Name
	}
	if head.Severity != "" {
		err = rule.Severity.UnmarshalText([]byte(head.Severity))
	}
	err = cmp.Or(err, (&schemaWalk{defs: head.Defs, left: maxParts}).checkPart(schema))
	if err != nil {
		return rule, err
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, fmt.Errorf("%s is another document", url) }
	if err := c.AddResource("rule.json", strings.NewReader(string(text))); err != nil {
		return rule, err
	}
	rule.schema, err = c.Compile("rule.json")
	return rule, err
}

// schemaWalk checks the keywords of a schema. left counts down from maxParts.
type schemaWalk struct {
	defs map[string]any
	left int
}

// The keywords that rules can have. One that is misspelt would check nothing.
var (
	namedParts = []string{"properties", "patternProperties", "dependentSchemas", "$defs"}
	listParts  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	oneParts   = []string{"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}
	plainWords = []string{
		"title", "description", "$comment", "x-kind", "x-severity", "type", "enum", "const", "required", "dependentRequired",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
		"uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
	}
)

// checkPart rejects what rules can't have: unknown keywords, other documents, and too much work.
func (w *schemaWalk) checkPart(part any) error {
	if w.left--; w.left < 0 {
		return fmt.Errorf("it has more than %d parts, or a $ref to itself: write a shorter schema", maxParts)
	}
	schema, _ := part.(map[string]any) // the compiler rejects anything else but true and false
	for _, word := range slices.Sorted(maps.Keys(schema)) {
		if err := w.checkKeyword(word, schema[word]); err != nil {
			return err
		}
	}
	return nil
}

func (w *schemaWalk) checkKeyword(word string, value any) error {
	var parts []any
	object, _ := value.(map[string]any)
	text, _ := value.(string)
	switch {
	case slices.Contains(plainWords, word), word == "$schema" && value == draft:
	case slices.Contains(oneParts, word):
		parts = []any{value}
	case slices.Contains(listParts, word):
		parts, _ = value.([]any)
	case slices.Contains(namedParts, word):
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if word == "patternProperties" && isLongPattern(name) {
				return fmt.Errorf("the pattern %s is too long: write a shorter one", diag.Quote(name))
			}
			parts = append(parts, object[name])
		}
	case word == "pattern" && !isLongPattern(text):
	case word == "$ref" && w.defs[strings.TrimPrefix(text, "#/$defs/")] != nil:
		parts = []any{w.defs[strings.TrimPrefix(text, "#/$defs/")]}
	default:
		return fmt.Errorf("%s can't be %s: rules have the keywords of %s that need no other document, and $ref only as #/$defs/NAME",
			diag.Quote(word), diag.Short(string(canon.Bytes(value))), draft)
	}
	for _, part := range parts {
		if err := w.checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

// isLongPattern reports whether matching a pattern may take long. The compiler of the schema rejects one that is wrong.
func isLongPattern(text string) bool {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(parsed.Simplify())
	return err != nil || len(program.Inst) > maxSteps
}

// Check reports each place where the object does not match the rule.
func (r OwnRule) Check(s *Subject) {
	invalid, _ := errors.AsType[*jsonschema.ValidationError](r.schema.Validate(s.Doc))
	if invalid == nil || r.Kind != "" && r.Kind != s.Kind.Name {
		return
	}
	found := leavesOf(invalid, nil)
	slices.SortFunc(found, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(cmp.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.KeywordLocation, b.KeywordLocation))
	})
	for _, e := range found {
		field, value := locate(s.Doc, e.InstanceLocation)
		message := cmp.Or(field, "the manifest") + ": " + e.Message
		if isOpaque(keywordOf(e)) {
			message = fmt.Sprintf("%s can't be %s", cmp.Or(field, "the manifest"), diag.Short(string(canon.Bytes(value))))
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

// leavesOf appends the errors below e that have no cause, or whose causes are alternatives.
func leavesOf(e *jsonschema.ValidationError, found []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 || e.KeywordLocation != "" && isOpaque(keywordOf(e)) {
		return append(found, e)
	}
	for _, cause := range e.Causes {
		found = leavesOf(cause, found)
	}
	return found
}

// locate follows a JSON pointer through a document, and returns the field as findings write it.
func locate(doc any, pointer string) (field string, value any) {
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
