package report

import (
	"encoding/json"
	"testing"

	"trueup/internal/view"

	"trueup/internal/fleet"
)

func wholeRun() Run {
	return Run{Command: "plan", Flags: "--offline=true", Selection: "--select a", Commit: "8a6c09fc", Dirty: "sha256:5f", Tool: "trueup 1", Shards: 3}
}

// TestOriginMatchesThePublishedSchema: with every field, and with those alone that are always there.
func TestOriginMatchesThePublishedSchema(t *testing.T) {
	for _, origin := range []Origin{
		{Path: "shop/eu", Workspace: "3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90", Run: wholeRun(), Shard: 2, Fact: "added", Running: true},
		{Path: ".", Run: Run{Command: "plan", Tool: "trueup 1", Shards: 1}, Shard: 1},
	} {
		var v any
		if err := json.Unmarshal(render(t, "json", Document{Project: &origin}, view.Options{}), &v); err != nil {
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
	closed := compiled(t, true, "shard.schema.json")
	for _, file := range []ShardFile{
		{
			Format: ShardFormat, Shard: 2, Run: wholeRun(), Try: 2, Ended: true, Error: "e", Projects: []string{"a", "b/c"},
			Facts: fleet.Facts{Since: "8a", Added: []string{"a"}, Removed: []string{"b"}, Moved: []fleet.Move{{From: "c", To: "d"}}, Clashing: []string{"e"}, Unselected: 1},
		},
		{Format: ShardFormat, Shard: 1, Run: Run{Command: "apply", Tool: "trueup 1", Shards: 1}, Projects: []string{}},
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
