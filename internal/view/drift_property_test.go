package view

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// TestDriftIsThePlanTurned: drift shows each change as the plan does in the other direction, with
// what happened in place of what undoes it.
func TestDriftIsThePlanTurned(t *testing.T) {
	turned := map[Mark]Mark{MarkAdd: MarkRemove, MarkRemove: MarkAdd, MarkChange: MarkChange, MarkSame: MarkSame}
	undoing := []string{"undoes", "adds back", "removes", "moves"}
	rapid.Check(t, func(t *rapid.T) {
		values := []any{nil, "60", "3600", map[string]any{"path": "/a"}, []any{"x"}}
		c := plan.Change{
			Difference: merge.Difference{
				Path: "locations[/a]", Class: merge.DriftOverwrite, Live: rapid.SampledFrom(values).Draw(t, "live"),
				Desired: rapid.SampledFrom(values).Draw(t, "desired"), Moved: rapid.IntRange(0, 4).Draw(t, "moved") == 0,
			},
			Cause: plan.FromDrift,
		}
		if c.Live == nil && c.Desired == nil {
			c.Live = "60"
		}
		if c.Moved {
			c.Position = &plan.ListPosition{Live: rapid.IntRange(1, 3).Draw(t, "at"), Desired: rapid.IntRange(4, 6).Draw(t, "in git")}
		}
		item := plan.Item{Key: kind.Key{Kind: "CDN", Name: "a"}, Op: plan.Patch, Changes: []plan.Change{c}}
		now := rowOf(item, c, nil)
		item.Happened = true
		then := rowOf(item, c, nil)
		if then.Mark != turned[now.Mark] {
			t.Fatalf("%+v, %+v", now, then)
		}
		if !c.Moved && (then.Before != now.After || then.After != now.Before) {
			t.Fatalf("%v → %v, %v → %v", now.Before, now.After, then.Before, then.After)
		}
		said, undone := RowSentence(then).String(), RowSentence(now).String()
		for _, word := range undoing {
			if strings.Contains(said, word) {
				t.Fatalf("drift says %s", said)
			}
		}
		if !strings.HasSuffix(said, " outside git)") || !strings.HasSuffix(undone, " outside git)") || said == undone {
			t.Fatalf("%s, %s", said, undone)
		}
	})
}
