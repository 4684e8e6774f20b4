package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/inputs"
	"trueup/internal/kind"
	"trueup/internal/rules"
)

// trees are the documents of all rules' examples, by their kinds.
func trees(t *testing.T) map[*kind.Kind][]map[string]any {
	t.Helper()
	all := map[*kind.Kind][]map[string]any{}
	add := func(text string) {
		f := NewFileState("", []byte(text))
		f.EachDocument(func(n *yaml.Node) {
			var c converter
			c.reset(f)
			doc, _ := c.convertValue(n.Content[0], n.Content[0], nil).(map[string]any)
			version, _ := doc["apiVersion"].(string)
			name, _ := doc["kind"].(string)
			if k, ok := kind.FindByEnvelope(version, name); ok && k != kind.RequestTestKind() {
				all[k] = append(all[k], doc)
			}
		})
	}
	for _, r := range rules.All() {
		add(written(r.Bad))
		add(written(r.Good))
	}
	add(string(benchmarkManifest()))
	if len(all) != len(kind.AllKinds()) {
		t.Fatalf("there are documents of %d kinds", len(all))
	}
	return all
}

// spoil changes some values and members of a tree.
func spoil(t *rapid.T, v any) any {
	if rapid.IntRange(0, 19).Draw(t, "spoil") == 0 {
		return rapid.OneOf(inputs.AnyValue(), rapid.SampledFrom([]any{
			"", "true", "é", true, json.Number("1"), json.Number("1.5"), []any{}, []any{"/a"}, map[string]any{}, "CDN", "Purge", "delivery.acme.cloud/v1beta1",
		})).Draw(t, "value")
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range canon.SortedKeys(v) {
			switch rapid.IntRange(0, 29).Draw(t, "member") {
			case 0: // it is left out
			case 1:
				out[name+"s"] = v[name]
			default:
				out[name] = spoil(t, v[name])
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, spoil(t, e))
		}
		return out
	}
	return v
}

// TestSchemaReferencesStayInside: a schema that refers to a file or an address is not compiled, and
// nothing is asked for.
func TestSchemaReferencesStayInside(t *testing.T) {
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{web.URL + "/s.json", "file://" + file, file, "s.json", "../s.json"} {
		if _, err := rules.CompileSchema("x.json", fmt.Appendf(nil, `{"$ref": %q}`, ref)); !strings.Contains(fmt.Sprint(err), "is another document") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if asked.Load() > 0 {
		t.Error("an address was asked for a schema")
	}
}

// rejected returns the fields that the schema of a kind rejects, taken from the validator's errors alone.
func rejected(schema *jsonschema.Schema, k *kind.Kind, doc map[string]any) []string {
	invalid, _ := errors.AsType[*jsonschema.ValidationError](schema.Validate(withoutNulls(doc)))
	var fields []string
	var leaves func(*jsonschema.ValidationError)
	leaves = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			leaves(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		path, v := rules.FindValue(doc, e.InstanceLocation)
		f, _ := k.Root().FieldAt(kind.SplitAtDots(path))
		if !strings.HasSuffix(e.KeywordLocation, "/required") {
			fields = append(fields, path)
			return
		}
		for _, name := range f.Names {
			if f.Fields[name].Required && v.(map[string]any)[name] == nil {
				fields = append(fields, kind.JoinField(path, name))
			}
		}
	}
	if invalid != nil {
		leaves(invalid)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// TestFindingsAreTheValidators: each field that a validator rejects has a finding, and no other.
func TestFindingsAreTheValidators(t *testing.T) {
	for k, docs := range trees(t) {
		text, _ := kind.SchemaNamed(k.Name)
		schema, err := rules.CompileSchema(k.Name, text)
		if err != nil {
			t.Fatal(err)
		}
		agree := func(t rapid.TB, doc map[string]any) (valid bool) {
			version, _ := doc["apiVersion"].(string)
			name, _ := doc["kind"].(string)
			if of, ok := kind.FindByEnvelope(version, name); !ok || of != k {
				return false // no document of the kind
			}
			w := &worker{loader: &loader{}, file: &FileState{MaxFindings: math.MaxInt}}
			w.checkSchema(doc, k)
			var found []string
			for _, x := range w.file.Findings {
				found = append(found, x.Field)
			}
			slices.Sort(found)
			want := rejected(schema, k, doc)
			if !slices.Equal(found, want) {
				t.Fatalf("there are the findings %q, and the validator of %s rejects %q of %s", found, k.Name, want, canon.Encode(doc))
			}
			return len(want) == 0
		}
		outcomes := map[bool]int{}
		for _, doc := range append(docs, map[string]any{"apiVersion": k.APIVersion, "kind": k.Name}) {
			outcomes[agree(t, doc)]++
		}
		if outcomes[true] == 0 || outcomes[false] == 0 {
			t.Errorf("of the documents as they are, %s: %v", k.Name, outcomes)
		}
		rapid.Check(t, func(t *rapid.T) {
			if doc, ok := spoil(t, rapid.SampledFrom(docs).Draw(t, "document")).(map[string]any); ok {
				agree(t, doc)
			}
		})
	}
}

// TestSchemasHaveOnlyKeywordsThatAreChecked: a keyword that the check does not know would
// count for a validator alone. The pattern is that of kind.Alias, which finds the kind.
func TestSchemasHaveOnlyKeywordsThatAreChecked(t *testing.T) {
	known := strings.Fields("type const enum pattern minLength minItems required properties items $ref $defs $schema title description examples")
	for _, k := range kind.AllKinds() {
		var visit func(path string, schema map[string]any)
		visit = func(path string, schema map[string]any) {
			for keyword, v := range schema {
				if !slices.Contains(known, keyword) && !strings.HasPrefix(keyword, "x-trueup-") {
					t.Errorf("%s%s: the keyword %s", k.Name, path, keyword)
				}
				below, _ := v.(map[string]any)
				switch keyword {
				case "properties", "$defs":
					for name, schema := range below {
						visit(path+"/"+name, schema.(map[string]any))
					}
				case "items":
					visit(path+"/items", below)
				case "$ref":
					if ref, _ := v.(string); !strings.HasPrefix(ref, "#/$defs/") {
						t.Errorf("%s%s: a schema refers to nothing outside itself, and not to %v", k.Name, path, v)
					}
				case "type":
					if !slices.Contains([]any{"object", "array", "string", "number", "boolean"}, v) {
						t.Errorf("%s%s: the type %v", k.Name, path, v)
					}
				case "pattern":
					if path != "/apiVersion" || v != "^(delivery/v2\\.1|"+strings.Trim(k.Alias.String(), "^$")+")$" {
						t.Errorf("%s%s: the pattern %v", k.Name, path, v)
					}
				case "minLength", "minItems":
					if v != json.Number("1") {
						t.Errorf("%s%s: %s %v", k.Name, path, keyword, v)
					}
				case "required":
					fields, _ := schema["properties"].(map[string]any)
					for _, name := range v.([]any) {
						if fields[name.(string)] == nil {
							t.Errorf("%s%s: required %v", k.Name, path, name)
						}
					}
				case "const", "enum":
					if _, text := v.(string); !text && keyword == "const" || schema["type"] != "string" {
						t.Errorf("%s%s: %s %v", k.Name, path, keyword, v)
					}
				}
			}
		}
		text, _ := kind.SchemaNamed(k.Name)
		visit("", mustDecode(t, text).(map[string]any))
	}
}

func mustDecode(t *testing.T, text []byte) any {
	t.Helper()
	v, err := canon.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// withoutNulls copies a tree without the members that are null.
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
