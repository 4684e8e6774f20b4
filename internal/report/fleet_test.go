package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"trueup/schemas"
)

// TestOriginMatchesThePublishedSchema: with every field, and with those alone that are always there.
func TestOriginMatchesThePublishedSchema(t *testing.T) {
	for _, origin := range []Origin{
		{Path: "shop/eu", Workspace: "3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90", Commit: "8a6c09fc", Tool: "trueup 1", Shard: 2, Shards: 3},
		{Path: ".", Tool: "trueup 1", Shard: 1, Shards: 1},
	} {
		var v any
		if err := json.Unmarshal(render(t, "json", Document{Project: &origin}, Options{}), &v); err != nil {
			t.Fatal(err)
		}
		for _, closed := range []bool{false, true} {
			if err := compiled(t, closed).Validate(v); err != nil {
				t.Errorf("%+v: %#v", origin, err)
			}
		}
	}
}

// TestShardFileMatchesThePublishedSchema, in the same way.
func TestShardFileMatchesThePublishedSchema(t *testing.T) {
	text, err := schemas.FS.ReadFile("shard.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///shard.schema.json", bytes.NewReader(closeSchema(t, text))); err != nil {
		t.Fatal(err)
	}
	closed := c.MustCompile("mem:///shard.schema.json")
	for _, file := range []ShardFile{
		{Format: ShardFormat, Shard: 2, Shards: 3, Command: "plan", Commit: "8a6c09fc", Tool: "trueup 1", Projects: []string{"a", "b/c"}},
		{Format: ShardFormat, Shard: 1, Shards: 1, Command: "apply", Tool: "trueup 1", Projects: []string{}},
	} {
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if err := closed.Validate(v); err != nil {
			t.Errorf("%+v: %#v", file, err)
		}
	}
}
