package plan_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/schemas"
)

// TestStates: each item of a plan, and each live object that is not in git, has one line, in order, with a state of
// the published schema, which has no others.
func TestStates(t *testing.T) {
	text, err := schemas.FS.ReadFile("status.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Objects struct {
				Items struct {
					Properties struct {
						State struct{ Enum []plan.ObjectStatus }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	changes := func(classes ...merge.ChangeKind) (all []plan.Change) {
		for _, c := range classes {
			all = append(all, plan.Change{Difference: merge.Difference{Class: c}})
		}
		return all
	}
	p := plan.Plan{Unmanaged: []kind.Key{{Kind: "CDN", Name: "a"}}}
	unread := load(t, cdn("read", "{hostname: a.example.com}"), snapshot("unread", "d"))
	want := []plan.ObjectStatus{plan.NotInGit}
	for _, it := range []struct {
		plan.Item
		state plan.ObjectStatus
	}{
		{plan.Item{Op: plan.None}, plan.Unchanged},
		{plan.Item{Op: plan.Create, Deleted: true}, plan.ToCreate},
		{plan.Item{Op: plan.Patch, Changes: changes(merge.Changed, merge.DriftOverwrite)}, plan.ToChange},
		{plan.Item{Op: plan.Patch, Changes: changes(merge.DriftOverwrite, merge.DriftOverwrite)}, plan.Drifted},
		{plan.Item{Op: plan.Patch, Changes: changes(merge.UnknownBase)}, plan.ToChange},
		{plan.Item{Op: plan.Blocked}, plan.Stopped},
		{plan.Item{Op: plan.Blocked, Failed: true}, plan.Failed},
		{plan.Item{Op: plan.InFlight}, plan.Claimed},
		{plan.Item{Op: plan.Kept}, plan.LeftAlone},
		{plan.Item{Op: plan.Kept, Cause: plan.FromRemoval}, plan.LeftGit},
		{plan.Item{Op: plan.None, Hints: []string{"not ready yet"}}, plan.NotReady},
		{plan.Item{Op: plan.None, Key: kind.Key{Kind: "Purge"}}, plan.Posted},
		{plan.Item{Op: plan.Post, Key: kind.Key{Kind: "Purge"}}, plan.ToPost},
		{plan.Item{Op: plan.Deferred, Key: kind.Key{Kind: "Purge"}}, plan.Later},
	} {
		if it.Kind == "" {
			it.Kind = "CDN"
		}
		it.Name = string(rune('a' + len(want)))
		p.Items, want = append(p.Items, it.Item), append(want, it.state)
	}
	slices.Reverse(p.Items)
	var got []plan.ObjectStatus
	want = append(want, plan.NotRead) // a snapshot comes last
	for _, s := range plan.ObjectStates(&p, unread, kind.Unread{kind.Compute: errors.New("no")}, nil) {
		got = append(got, s.State)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	published := schema.Properties.Objects.Items.Properties.State.Enum
	slices.Sort(got)
	slices.Sort(published)
	if got = slices.Compact(got); !slices.Equal(got, published) {
		t.Errorf("%q, and the schema has %q", got, published)
	}
}
