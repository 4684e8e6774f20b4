package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/rules"
)

// ownRule returns the text of a rule with more keywords.
func ownRule(more string) string {
	return `{"title": "team-label", "description": "Write it.", ` + more + `}`
}

// TestOwnRulesAreRefused: a rule that would check nothing, load another document or take long is an error.
func TestOwnRulesAreRefused(t *testing.T) {
	deep := `{"$defs": {"a0": {"type": "string"}`
	for i := range 12 {
		deep += fmt.Sprintf(`, "a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%d"}]}`, i+1, i, i)
	}
	for _, row := range []struct{ text, says string }{
		{`[]`, "no JSON Schema"},
		{`{"title": "Team Label", "description": "d"}`, "lower-case"},
		{`{"title": "schema", "description": "d"}`, "a rule of trueup"},
		{`{"title": "team-label"}`, "description is missing"},
		{ownRule(`"x-kind": "CND"`), "x-kind"},
		{ownRule(`"x-severity": "advice"`), "x-severity"},
		{ownRule(`"propertees": {}`), `"propertees"`},
		{ownRule(`"properties": {"spec": {"minimun": 1}}`), `"minimun"`},
		{ownRule(`"$ref": "https://example.com/schema.json"`), "$ref"},
		{ownRule(`"$ref": "file:///etc/passwd"`), "$ref"},
		{ownRule(`"$id": "https://example.com/"`), "$id"},
		{ownRule(`"$schema": "http://json-schema.org/draft-07/schema#"`), "$schema"},
		{ownRule(`"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"`), "a $ref to itself"},
		{strings.Replace(ownRule(deep[1:]+`}, "$ref": "#/$defs/a12"`), "{{", "{", 1), "more than"},
		{ownRule(`"properties": {"spec": {"pattern": "` + strings.Repeat("a{900}", 9) + `"}}`), "pattern"},
		{ownRule(`"properties": {"spec": {"minimum": 1e999999999}}`), "no JSON Schema"},
		{ownRule(`"properties": {"spec": {"pattern": "("}}`), "regex"},
	} {
		_, err := rules.ParseOwnRule([]byte(row.text))
		if err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%.200s: %v, want %q", row.text, err, row.says)
		}
	}
}

// TestOwnRulesName: a finding names the field, what is wrong there and the reason; it is the same each time.
func TestOwnRulesName(t *testing.T) {
	k, _ := kind.FindKind("CDN")
	doc := canon.MustDecode([]byte(`{"metadata":{"labels":{"a/b c":1}},"spec":{"hostname":"h","locations":[{"path":"/*"},{"path":"/x"}]}}`)).(map[string]any)
	for _, row := range []struct{ text, want string }{
		{`"properties": {"metadata": {"properties": {"labels": {"required": ["team"]}}}}`, "metadata.labels: missing properties: 'team'"},
		{`"properties": {"metadata": {"properties": {"labels": {"additionalProperties": {"type": "string"}}}}}`, `metadata.labels["a/b c"]: expected string, but got number`},
		{`"properties": {"spec": {"properties": {"locations": {"items": {"properties": {"path": {"not": {"const": "/*"}}}}}}}}`, `spec.locations[0].path can't be "/*"`},
		{`"properties": {"spec": {"properties": {"hostname": {"anyOf": [{"const": "a"}, {"const": "b"}]}}}}`, `spec.hostname can't be "h"`},
		{`"properties": {"spec": {"properties": {"hostname": {"$ref": "#/$defs/h"}}}}, "$defs": {"h": {"pattern": "^x"}}`, `spec.hostname: does not match pattern '^x'`},
		{`"x-kind": "Purge", "not": {}`, ""},
		{`"properties": {"spec": {"properties": {"locations": {"items": {"properties": {"path": {"minLength": 3}}}}}}}`, "spec.locations[0].path: length must be >= 3, but got 2\nspec.locations[1].path: length must be >= 3, but got 2"},
	} {
		rule, err := rules.ParseOwnRule([]byte(ownRule(row.text)))
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		rule.Check(&rules.RuleSubject{Kind: k, Doc: doc, Report: func(f diag.Finding) {
			said = append(said, f.Message)
			if f.Rule != "team-label" || f.Fix != "Write it." || f.Severity != diag.Error {
				t.Errorf("finding %+v", f)
			}
		}})
		if got := strings.Join(said, "\n"); got != row.want {
			t.Errorf("%s: %s, want %s", row.text, got, row.want)
		}
	}
}
