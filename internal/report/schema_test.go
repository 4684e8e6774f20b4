package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/view"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"trueup/internal/canon"
	"trueup/internal/ledger"
	"trueup/internal/plan"
	"trueup/schemas"
)

// compiled is the published schema; closed refuses what it does not name, which
// finds fields that were added and not documented.
func compiled(t *testing.T, closed bool, more ...string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	for _, name := range append([]string{"plan.schema.json", "result.schema.json"}, more...) {
		text, err := schemas.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if closed {
			text = closeSchema(t, text)
		}
		if err := c.AddResource("mem:///"+name, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("mem:///" + append([]string{"result.schema.json"}, more...)[len(more)])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeSchema(t *testing.T, text []byte) []byte {
	t.Helper()
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		object, ok := v.(map[string]any)
		if !ok {
			return
		}
		_, has := object["properties"].(map[string]any)
		_, says := object["additionalProperties"]
		if has && !says {
			object["additionalProperties"] = false
		}
		for _, e := range object {
			walk(e)
		}
	}
	walk(tree)
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJSONMatchesThePublishedSchema(t *testing.T) {
	open, closed := compiled(t, false), compiled(t, true)
	for _, c := range goldenCases() {
		doc := c.doc
		if doc.Plan != nil && doc.Apply == nil {
			doc.Apply = exampleResult()
		}
		text := render(t, "json", doc, c.opts)
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, s := range []*jsonschema.Schema{open, closed} {
			if err := s.Validate(v); err != nil {
				t.Errorf("%s: %#v", c.name, err)
			}
		}
	}
}

// TestAKeptPlanMatchesThePublishedSchema: the file of a plan, with everything that
// may stand in it.
func TestAKeptPlanMatchesThePublishedSchema(t *testing.T) {
	pl, sum := *examplePlan(), canon.Digest(nil)
	pl.Manifests, pl.Options = &sum, map[string]any{
		"drift": plan.ReportDrift, "targets": []string{"x/*"}, "takeOver": []string{"x/y"}, "allowRecreate": []string{"x/y"}, "allowEmptyLive": true,
		"maxCreates": 1, "prune": true, "maxDeletes": 1, "partOfTree": true, "window": "20h0m0s",
		"overrides": []plan.Override{{
			Kind: "x", Path: "spec.y", Ignore: true, ReadOnly: true, Omit: true, Order: "set", Key: []string{"z"}, Type: "text", Undocumented: []string{"w"},
		}},
	}
	pl.Items = slices.Clone(pl.Items)
	for i := range pl.Items {
		pl.Items[i].Recorded, pl.Items[i].Live.Replaced = &plan.RecordVersion{Seq: 1, State: ledger.Posted}, &sum
		pl.Items[i].Changes = slices.Clone(pl.Items[i].Changes)
		for j := range pl.Items[i].Changes {
			pl.Items[i].Changes[j].Left = true
		}
	}
	var file bytes.Buffer
	if err := plan.EncodePlan(&file, &pl, time.Now()); err != nil {
		t.Fatal(err)
	}
	var kept, result map[string]any
	if err := errors.Join(json.Unmarshal(file.Bytes(), &kept), json.Unmarshal(render(t, "json", goldenCases()[0].doc, view.TextOptions{}), &result)); err != nil {
		t.Fatal(err)
	}
	if kept["checksum"] == nil || kept["createdAt"] == nil {
		t.Errorf("%v", kept)
	}
	result["plan"] = kept
	for _, s := range []*jsonschema.Schema{compiled(t, false), compiled(t, true)} {
		if err := s.Validate(result); err != nil {
			t.Errorf("%#v", err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiled(t, false)
	good := string(render(t, "json", goldenCases()[0].doc, view.TextOptions{}))
	for _, r := range [][2]string{
		{`"trueup.result/v1"`, `"trueup.result/v2"`},
		{`"trueup.plan/v1"`, `"trueup.plan/v2"`},
		{`"op": "patch"`, `"op": "replace"`},
		{`"class": "conflict"`, `"class": "other"`},
		{`"exitCode": 2`, `"exitCode": "2"`},
		{`"digest": "sha256:`, `"digest": "md5:`},
	} {
		bad := strings.Replace(good, r[0], r[1], 1)
		if bad == good {
			t.Fatalf("%s is not in the report", r[0])
		}
		var v any
		if err := json.Unmarshal([]byte(bad), &v); err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s is accepted", r[1])
		}
	}
}
