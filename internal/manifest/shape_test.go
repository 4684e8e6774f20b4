package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// trees are the documents of all rules' examples, by their kinds.
func trees(t *testing.T) map[*kind.Kind][]map[string]any {
	t.Helper()
	all := map[*kind.Kind][]map[string]any{}
	add := func(text string) {
		f := fileOf("", []byte(text))
		f.documents(func(n *yaml.Node) {
			var c converter
			c.reset(f)
			doc, _ := c.value(n.Content[0], n.Content[0], nil).(map[string]any)
			version, _ := doc["apiVersion"].(string)
			name, _ := doc["kind"].(string)
			if k, _, ok := kind.ForEnvelope(version, name); ok {
				all[k] = append(all[k], doc)
			}
		})
	}
	for _, r := range Rules() {
		add(written(r.Bad))
		add(written(r.Good))
	}
	add(string(benchmarkManifest()))
	if len(all) != len(kind.All()) {
		t.Fatalf("there are documents of %d kinds", len(all))
	}
	return all
}

// spoil changes some values and members of a tree.
func spoil(t *rapid.T, v any) any {
	if rapid.IntRange(0, 19).Draw(t, "spoil") == 0 {
		return rapid.OneOf(anyValue(), rapid.SampledFrom([]any{
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

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, e := range v {
			if hasNull(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hasNull(e) {
				return true
			}
		}
	}
	return false
}

// TestShapesHoldWhatTheSchemasTake: the quick check and the validator are of one
// mind of everything but null, which the quick one leaves to the other.
func TestShapesHoldWhatTheSchemasTake(t *testing.T) {
	for k, docs := range trees(t) {
		shape, schema := shapeOf(k.Schema()), compile(k)
		agree := func(t rapid.TB, doc any) (held bool) {
			held, valid := shape.accepts(doc), schema.Validate(doc) == nil
			if held && !valid || held != valid && !hasNull(doc) {
				t.Fatalf("the shape of %s says %v and the schema %v of %s", k.Name, held, valid, canon.Bytes(doc))
			}
			return held
		}
		outcomes := map[bool]int{}
		for _, doc := range append(docs, map[string]any{}) {
			outcomes[agree(t, doc)]++
		}
		if outcomes[true] == 0 || outcomes[false] == 0 {
			t.Errorf("of the documents as they are, %s: %v", k.Name, outcomes)
		}
		rapid.Check(t, func(t *rapid.T) { agree(t, spoil(t, rapid.SampledFrom(docs).Draw(t, "document"))) })
	}
}

func TestAShapeIsUnsureOfKeywordsThatItDoesNotKnow(t *testing.T) {
	for _, schema := range []string{
		`{"maxLength":1}`, `{"type":["string","null"]}`, `{"type":"integer"}`, `{"const":1}`, `{"enum":["a",1]}`, `{"const":"a","enum":["a"]}`, `{"pattern":"("}`,
		`{"properties":{"a":false}}`, `{"items":true}`, `{"$ref":"#/$defs/none"}`, `{"$ref":"#/$defs/odd","$defs":{"odd":{"format":"date"}}}`, `{"oneOf":[]}`, `{"minLength":1.5}`,
		`{"additionalProperties":false}`, `{"required":"a"}`,
	} {
		for _, value := range []string{`{"a":"a"}`, `["a"]`, `"a"`} {
			if s := shapeOf([]byte(schema)); s.accepts(canon.MustDecode([]byte(value))) && !harmless(schema, value) {
				t.Errorf("the shape of %s holds %s", schema, value)
			}
		}
	}
}

// harmless reports whether what is not known is below a value of another type.
func harmless(schema, value string) bool {
	return strings.HasPrefix(schema, `{"properties`) && value[0] != '{' || strings.HasPrefix(schema, `{"items`) && value[0] != '['
}

func TestAShapeOfAReferenceToItself(t *testing.T) {
	s := shapeOf([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"object","required":["n"],"properties":{"below":{"$ref":"#/$defs/d"}}}}}`))
	for doc, want := range map[string]bool{
		`{"a":{"n":1,"below":{"n":1}}}`: true, `{"a":{"n":1,"below":{}}}`: false, `{"a":{"n":1,"below":{"n":1,"below":{}}}}`: false, `{}`: true,
	} {
		if got := s.accepts(canon.MustDecode([]byte(doc))); got != want {
			t.Errorf("%s: %v", doc, got)
		}
	}
}
