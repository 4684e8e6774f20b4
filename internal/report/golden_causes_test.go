package report

import (
	"encoding/json"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// changes are those of a comparison as a plan holds them, with causes that go
// with their classes.
func changes(found []merge.Difference) []plan.Change {
	causes := map[merge.ChangeKind]plan.Cause{
		merge.Changed: plan.FromThisChange, merge.Converged: plan.FromThisChange, merge.DriftOverwrite: plan.FromDrift,
		merge.Conflict: plan.FromBoth, merge.RemovedConflict: plan.FromBoth, merge.TakeOver: plan.FromTakeOver,
		merge.Removed: plan.FromRemoval, merge.Unmanaged: plan.FromLiveOnly, plan.ServerNormalised: plan.FromRefusal,
	}
	out := make([]plan.Change, len(found))
	for i, c := range found {
		out[i] = plan.Change{Difference: c, Cause: causes[c.Class]}
		if c.Moved {
			out[i].Position = &plan.ListPosition{Live: 3, Desired: 1}
		}
		if out[i].Cause == "" {
			out[i].Cause = plan.FromUnknown
		}
		if c.Class == merge.Removed || c.Class == merge.Conflict || c.Class == merge.TakeOver {
			out[i].By = plan.ByThisChange
			out[i].Cause = ofAuthor(out[i].Cause, out[i].By)
		}
	}
	return out
}

// ofAuthor returns the cause that a plan has for what this change made.
func ofAuthor(c plan.Cause, by plan.ChangeOrigin) plan.Cause {
	if by == plan.ByThisChange && (c == plan.FromPending || c == plan.FromRemoval || c == plan.FromTakeOver) {
		return plan.FromThisChange
	}
	return c
}

// raised is a commit that is pending.
func raised() *plan.Commit {
	return &plan.Commit{
		ID: "3f2c1abd5e6f708192a3b4c5d6e7f8091a2b3c4d", Subject: "Raise TTLs (#41)", Author: "Mina",
		Time: time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC),
	}
}

// explained has every cause, and whose change of git it is.
func explainedItem() plan.Item {
	item := plan.Item{Key: key("CDN", "blog"), Path: "manifests/blog.yaml", Line: 1, Op: plan.Patch, Live: plan.Fingerprint{Exists: true}}
	item.Changes = []plan.Change{
		{Cause: plan.FromThisChange, Difference: merge.Difference{Path: "tls.forced", Class: merge.Changed, Base: "false", Live: "false", Desired: "true"}},
		{Cause: plan.FromPending, Commit: raised(), Difference: merge.Difference{Path: "tls.auto", Class: merge.Changed, Base: "false", Live: "false", Desired: "true"}},
		{Cause: plan.FromPending, Difference: merge.Difference{Path: "tls.enabled", Class: merge.Changed, Desired: "true"}},
		{Cause: plan.FromTakeOver, Commit: raised(), Difference: merge.Difference{Path: "secureLink.expireName", Class: merge.TakeOver, Live: "e", Desired: "expires"}},
		{Cause: plan.FromBoth, Commit: raised(), Difference: merge.Difference{Path: "secureLink.tokenName", Class: merge.Conflict, Base: "t", Live: "tok", Desired: "token"}},
		{Cause: plan.FromBoth, By: plan.ByThisChange, Difference: merge.Difference{Path: "locations[/a].cache.edgeTTL", Class: merge.RemovedConflict, Base: "1", Live: "2"}},
		{Cause: plan.FromRemoval, Commit: raised(), Difference: merge.Difference{Path: "locations[/b]", Class: merge.Removed, Live: map[string]any{"path": "/b"}}},
		{Cause: plan.FromRemoval, Difference: merge.Difference{Path: "tls.ciphers", Class: merge.Removed, Live: "old"}},
		{Cause: plan.FromRefusal, Difference: merge.Difference{Path: "locations[/c].cors.maxAge", Class: plan.ServerNormalised, Live: json.Number("600"), Desired: "600s"}},
		{Cause: plan.FromUnknown, By: plan.ByThisChange, Difference: merge.Difference{Path: "imgsvc.enabled", Class: merge.UnknownBase, Live: "false", Desired: "true"}},
		{Cause: plan.FromDrift, Difference: merge.Difference{Path: "locations[/d]", Class: merge.DriftOverwrite, Live: map[string]any{"path": "/d"}, Desired: map[string]any{"path": "/d"}, Moved: true}, Position: &plan.ListPosition{Live: 1, Desired: 7}},
		{Cause: plan.FromDrift, Difference: merge.Difference{Path: "locations[/e].upstream", Class: merge.DriftOverwrite, Base: "a", Live: "b", Desired: "a", Left: true}},
	}
	item.Request = &plan.Request{Method: "PATCH", Path: "/cdns/blog", ContentType: "application/merge-patch+json", Body: json.RawMessage(`{"spec":{"tls":{"forced":"true"}}}`)}
	return item
}

// explainedPlan has everything that a plan says of itself.
func explainedPlan() *plan.Plan {
	made, purge := createdItem(), purgeItem()
	made.Cause, made.Commit = plan.FromPending, raised()
	purge.Cause, purge.By = plan.FromThisChange, plan.ByThisChange
	gone := keptItem()
	gone.Cause, gone.By = plan.FromThisChange, plan.ByThisChange
	pl := &plan.Plan{
		Format: plan.Format, Tool: "trueup 0.1.0", Digest: "sha256:" + strings.Repeat("0123456789abcdef", 4),
		CreatedAt: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Target:    plan.Destination{Workspace: kind.Workspace{Name: "acme"}},
		Items:     []plan.Item{explainedItem(), made, gone, purge},
		Blame: &plan.ComparedCommits{
			Ref: "origin/main", Base: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", Head: "ffeeddccbbaa99887766554433221100ffeeddcc", Merge: true,
			Problem: "the clone is shallow: which commits are of this pull request can't be told beyond its 50 newest", Fix: "fetch the whole history: fetch-depth: 0",
		},
		Advice: diag.List{
			{
				Path: "manifests/blog.yaml", Line: 9, Column: 7, Rule: "purge-advice", Severity: diag.Advice,
				Message: "the edge TTL of /a changes, and no purge of this change covers it", Fix: "trueup new purge --hostname blog.example.com '/a'", Source: "      edgeTTL: \"1\"",
			},
			{Path: "manifests/purges/rel-42.yaml", Line: 1, Rule: "purge-everything", Severity: diag.Advice, Message: "this purges everything"},
		},
		Summary: plan.Summary{Create: 1, Change: 1, Removed: 2, Purge: 1, Kept: 1, Drifted: 5},
	}
	return weighed(pl)
}
