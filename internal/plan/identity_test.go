package plan_test

import (
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// TestAnotherObjectOfTheSameName: what the ledger knows of an object says
// nothing of one that somebody made under its name since.
func TestAnotherObjectOfTheSameName(t *testing.T) {
	mine := `{hostname: h.example.com, upstreams: [{name: a}]}`
	w := git(t, cdn("shop", mine)).
		has("CDN/shop", `{hostname: h.example.com, tls: {forced: "true"}, upstreams: [{name: a}, {name: theirs}]}`).
		record("CDN/shop", func(r *ledger.Record) {
			r.Applied, r.UID = spec(t, `{hostname: h.example.com, tls: {forced: "true"}, upstreams: [{name: a}]}`), "uid-of-the-first"
		})
	it := w.item("CDN/shop")
	blocked(t, it, true, "take")
	if len(it.FirstContact) != 1 || !strings.Contains(strings.Join(it.Hints, " "), "created it again after the") {
		t.Errorf("item %+v", it)
	}
	for _, c := range it.Changes {
		if strings.HasPrefix(c.Path, "tls") {
			t.Errorf("what is not in git is removed: %+v", c)
		}
	}
	w = git(t, snapshot("db", "data")).has(db, disked("data")).sent(db, ledger.Posted, disked("data"), now()).
		record(db, func(r *ledger.Record) { r.UID = "uid-of-the-first" })
	blocked(t, w.item(db), true, "other data", "name")
	if p := w.make(); p.Summary.Drifted != 1 {
		t.Errorf("it is no drift: %+v", p.Summary)
	}
}

// TestWhatAnOverrideLeavesIsNotRecorded: else lifting the override would drop
// live elements that nobody ever looked at.
func TestWhatAnOverrideLeavesIsNotRecorded(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: h.example.com, upstreams: [{name: a}]}`)).
		has("CDN/shop", `{hostname: h.example.com, upstreams: [{name: a}, {name: theirs}]}`).
		overriding(plan.Override{Kind: "CDN", Path: "spec.upstreams", Ignore: true})
	it := w.item("CDN/shop")
	recorded := plan.NewPlanner(w.in).ManagedSpec(w.in.Set.Find(it.Key))
	if it.Op != plan.None || !it.Record || string(recorded) != `{"hostname":"h.example.com"}` {
		t.Fatalf("item %+v, recorded %s", it, recorded)
	}
	w.applied("CDN/shop", string(recorded))
	if w.item("CDN/shop").Record {
		t.Error("it is recorded again and again")
	}
	w.overriding()
	if it := w.item("CDN/shop"); len(it.FirstContact) != 1 {
		t.Errorf("without the override: %+v", it)
	}
}

// TestAPurgeWaitsForEveryHostname: the subdomains' CDNs too, and the one that
// still serves the hostname while git renames it.
func TestAPurgeWaitsForEveryHostname(t *testing.T) {
	w := git(t,
		cdn("shop", `{hostname: shop.example.com}`),
		cdn("static", `{hostname: static.shop.example.com, tls: {forced: "true"}}`),
		cdn("old", `{hostname: new.example.com}`),
		purge("rel-1", `{hostname: shop.example.com, subdomains: [static], paths: [/a]}`),
		purge("rel-2", `{hostname: old.example.com, paths: [/a]}`),
	).has("CDN/shop", `{hostname: shop.example.com}`).
		has("CDN/static", `{hostname: static.shop.example.com, tls: {forced: "false"}}`).
		has("CDN/old", `{hostname: old.example.com}`)
	for name, want := range map[string]string{"Purge/rel-1": "CDN/static", "Purge/rel-2": "CDN/old"} {
		after := w.item(name).After
		if len(after) != 1 || after[0] != key(t, want) {
			t.Errorf("%s waits for %v, want %s", name, after, want)
		}
	}
	w.with(func(o *plan.Options) {
		o.Targets = func(k kind.Key) bool { return k.Kind == "Purge" }
	})
	blocked(t, w.item("Purge/rel-1"), false, "CDN/static")
}

// TestAPartOfTheProject: what is not among the manifests that were read may be
// in git all the same, so no message says to delete it.
func TestAPartOfTheProject(t *testing.T) {
	w := git(t, cdn("docs", `{hostname: docs.example.com}`)).has("CDN/docs", `{hostname: docs.example.com}`).
		foreign("CDN/shop", `{hostname: shop.example.com}`).applied("CDN/shop", `{hostname: shop.example.com}`).
		foreign("CDN/theirs", `{hostname: theirs.example.com}`)
	if p := w.make(); p.Summary.Kept != 1 || len(p.Notes) != 0 {
		t.Errorf("the whole tree: %+v", p)
	}
	w.with(func(o *plan.Options) { o.PartOfTree = true })
	p := w.make()
	if p.Summary.Kept != 0 || p.Summary.Unmanaged != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "1 more live object") {
		t.Errorf("a part of it: %+v, %q", p.Summary, p.Notes)
	}
}

// TestWhatTheServerDidNotKeep is not called a change by another client.
func TestWhatTheServerDidNotKeep(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: h.example.com, tls: {forced: "true"}}`)).
		has("CDN/shop", `{hostname: h.example.com, tls: {forced: "false"}}`).
		applied("CDN/shop", `{hostname: h.example.com, tls: {forced: "true"}}`)
	if it := w.item("CDN/shop"); it.Changes[0].Class != merge.DriftOverwrite {
		t.Errorf("item %+v", it)
	}
	w.record("CDN/shop", func(r *ledger.Record) { r.NotConverged = true })
	it := w.item("CDN/shop")
	if c := it.Changes[0]; c.Class != plan.ServerNormalised || c.Cause != plan.FromRefusal || len(it.Hints) != 1 || w.make().Summary.Drifted != 1 {
		t.Errorf("item %+v", it)
	}
	// What git changes beside it says nothing about that.
	w.in.Set = load(t, cdn("shop", `{hostname: h.example.com, tls: {forced: "true", enabled: "true"}}`))
	it = w.item("CDN/shop")
	if it.Changes[0].Cause != plan.FromPending || it.Changes[1].Cause != plan.FromRefusal || len(it.Hints) != 1 {
		t.Errorf("item %+v", it.Changes)
	}
	w.has("CDN/shop", `{hostname: h.example.com, tls: {forced: "true"}}`)
	if it := w.item("CDN/shop"); len(it.Changes) != 1 || len(it.Hints) != 0 {
		t.Errorf("item %+v", it)
	}
}
