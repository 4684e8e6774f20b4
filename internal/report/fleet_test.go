package report

import (
	"encoding/json"
	"testing"

	"trueup/internal/config"
	"trueup/internal/view"
)

func wholeRun() FleetRun {
	return FleetRun{Command: "plan", Flags: "--offline=true", Selection: "--select a", Commit: "8a6c09fc", Tool: "trueup 1", Shards: 3}
}

// TestProjectMatchesThePublishedSchema: with every field, and with those alone that are always there.
func TestProjectMatchesThePublishedSchema(t *testing.T) {
	for _, origin := range []ProjectResult{
		{Path: "shop/eu", Workspace: "3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90", Result: "ok", Digest: "sha256:5f"},
		{Path: "."},
	} {
		var v any
		if err := json.Unmarshal(render(t, "json", Document{Project: &origin}, view.TextOptions{}), &v); err != nil {
			t.Fatal(err)
		}
		for _, closed := range []bool{false, true} {
			if err := compiled(t, closed).Validate(v); err != nil {
				t.Errorf("%+v: %#v", origin, err)
			}
		}
	}
}

// TestShardMatchesThePublishedSchema, in the same way.
func TestShardMatchesThePublishedSchema(t *testing.T) {
	closed := compiled(t, true, "shard.schema.json")
	for _, file := range []ShardHead{
		{
			Format: ShardFormat, Shard: 2, FleetRun: wholeRun(), Error: "e", Projects: []string{"a", "b/c"},
			Facts: config.FleetChanges{Since: "8a", Added: []string{"a"}, Removed: []string{"b"}, Moved: []config.ProjectMove{{From: "c", To: "d"}}, Unselected: 1},
		},
		{Format: ShardFormat, Shard: 1, FleetRun: FleetRun{Command: "apply", Tool: "trueup 1", Shards: 1}, Projects: []string{}},
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
