package plan_test

import (
	"strings"
	"testing"

	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/rules"
)

const db = "VolumeSnapshot/db"

func TestASnapshotIsCreated(t *testing.T) {
	it := git(t, snapshot("db", "data")).item(db)
	if it.Op != plan.Create || it.Disk != "data" || it.Request.Path != "/volumesnapshots" || it.Deleted || it.Recreate {
		t.Errorf("item %+v", it)
	}
	same(t, "body", body(t, it), map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
		"metadata": map[string]any{"name": "db", "namespace": "acme"}, "spec": tree(t, disked("data")),
	})
}

func TestALiveSnapshotStays(t *testing.T) {
	for name, tt := range map[string]struct{ spec, status, hint string }{
		"ready":            {disked("data"), `{"readyToUse":true}`, ""},
		"ready, with more": {`{source: {persistentVolumeClaimName: data, x: 1}, volumeSnapshotClassName: general-purpose}`, `{"readyToUse":true}`, ""},
		"not ready":        {disked("data"), `{"readyToUse":false}`, "not ready yet"},
		"not even begun":   {disked("data"), ``, "not ready yet"},
	} {
		it := git(t, snapshot("db", "data")).has(db, tt.spec, status(tt.status)).item(db)
		if it.Op != plan.None || len(it.Changes) > 0 {
			t.Errorf("%s: %+v", name, it)
		}
		if got := strings.Join(it.Hints, "\n"); (got == "") != (tt.hint == "") || !strings.Contains(got, tt.hint) {
			t.Errorf("%s: hints %q", name, got)
		}
	}
}

// TestASnapshotThatFailed is never done: it may recover, so nobody is asked.
func TestASnapshotThatFailed(t *testing.T) {
	w := git(t, snapshot("db", "data")).has(db, disked("data"), status(`{"readyToUse":false,"error":{"message":"no disk"}}`))
	blocked(t, w.item(db), false, "the platform says that it failed: no disk", "another name")
	if p := w.make(); !p.HasDifferences() {
		t.Error("nothing differs")
	}
}

func TestASnapshotIsNeverChanged(t *testing.T) {
	worlds := map[string]*world{
		"nobody knows it": git(t, snapshot("db", "data")).has(db, disked("other")),
		"we made it":      git(t, snapshot("db", "data")).has(db, disked("other")).sent(db, ledger.Posted, disked("other"), now()),
		"we remember it":  git(t, snapshot("db", "data")).has(db, disked("other")).applied(db, disked("other")),
	}
	for name, w := range worlds {
		f := w.finding()
		if f.Rule != rules.SnapshotChanged || f.Field != "spec.source.persistentVolumeClaimName" || !strings.Contains(f.Fix, "another name") ||
			!strings.HasPrefix(f.Message, `source.persistentVolumeClaimName is "data" in git, and "other" in the live VolumeSnapshot/db`) {
			t.Errorf("%s: finding %+v", name, f)
		}
		p, _ := plan.NewPlanner(w.in).MakePlan()
		it := find(t, p, db)
		if it.Op != plan.Blocked || it.Request != nil || len(it.Changes) != 1 {
			t.Fatalf("%s: item %+v", name, it)
		}
		if c := it.Changes[0]; c.Class != merge.Changed || c.Cause != plan.FromPending {
			t.Errorf("%s: %s by %s", name, c.Class, c.Cause)
		}
	}
}

// TestAMomentThatPassed: what the ledger knows and live lacks is never made
// again without a person's word (docs/design.md 0.5).
func TestAMomentThatPassed(t *testing.T) {
	for _, state := range []ledger.RequestState{ledger.Posted, ledger.Adopted} {
		w := git(t, snapshot("db", "data"), snapshot("here", "data")).
			has("VolumeSnapshot/here", disked("data")).sent("VolumeSnapshot/here", ledger.Posted, disked("data"), now()).
			sent(db, state, disked("data"), now())
		it := w.item(db)
		blocked(t, it, true, "no longer exists", "other data", "--accept recreate=VolumeSnapshot/db")
		if p := w.make(); !it.Deleted || p.Summary.Drifted != 1 || len(plan.NarrowToDrift(p).Items) != 1 {
			t.Errorf("%s: it is no drift: %+v", state, p.Summary)
		}
		w.with(func(o *plan.Options) { o.AllowRecreate = allow(t, "VolumeSnapshot/here") })
		blocked(t, w.item(db), true)
		w.with(func(o *plan.Options) { o.AllowRecreate = allow(t, db) })
		if it := w.item(db); it.Op != plan.Create || !it.Recreate || !it.Deleted {
			t.Errorf("%s: %+v", state, it)
		}
	}
}

// TestAllowedToBeMadeAgain: the word for the only snapshot is word enough that
// nothing of the ledger is live.
func TestAllowedToBeMadeAgain(t *testing.T) {
	w := git(t, snapshot("db", "data")).sent(db, ledger.Posted, disked("data"), now()).
		with(func(o *plan.Options) { o.AllowRecreate = allow(t, db) })
	if it := w.item(db); it.Op != plan.Create || !it.Recreate {
		t.Errorf("item %+v", it)
	}
}

// TestAllowedAndNotMade: a run that was allowed to and was refused, or did not
// come to it, leaves no permission behind.
func TestAllowedAndNotMade(t *testing.T) {
	for _, state := range []ledger.RequestState{"", ledger.Rejected} {
		w := git(t, snapshot("db", "data")).sent(db, state, disked("data"), now()).applied(db, disked("data")).
			with(func(o *plan.Options) { o.AllowEmptyLive = true })
		blocked(t, w.item(db), true, "no longer exists", "--accept recreate=")
	}
}

func TestATerminatingSnapshot(t *testing.T) {
	gone := func() *world { return git(t, snapshot("db", "data")).has(db, disked("data"), terminating) }
	blocked(t, gone().item(db), false, "being deleted", "another name")
	blocked(t, gone().sent(db, ledger.Posted, disked("data"), now()).item(db), true, "being deleted", "--accept recreate=")
	w := gone().sent(db, ledger.Posted, disked("data"), now()).
		with(func(o *plan.Options) { o.AllowRecreate = allow(t, db) })
	blocked(t, w.item(db), false, "being deleted")
}

func TestAnUnsettledSnapshotWaitsForAPerson(t *testing.T) {
	for _, state := range []ledger.RequestState{ledger.Claimed, ledger.Unknown} {
		w := git(t, snapshot("db", "data")).sent(db, state, disked("data"), ago())
		message, fix := ledger.ExplainRecord(w.in.Ledger.Records[key(t, db)])
		blocked(t, w.item(db), true, message, fix)
		// One of that name whose age nobody knows is not said to be ours.
		w.has(db, disked("data")).with(func(o *plan.Options) { o.AllowRecreate = allow(t, db) })
		blocked(t, w.item(db), true, "is not what trueup sent", "ledger resolve "+db)
	}
}

func TestWhatIsFreeToBeMade(t *testing.T) {
	if it := git(t, snapshot("db", "data")).sent(db, ledger.Rejected, disked("other"), now()).item(db); it.Op != plan.Create || it.Recreate {
		t.Errorf("refused before: %+v", it)
	}
	it := git(t, snapshot("db", "data")).sent(db, ledger.Abandoned, disked("data"), now()).item(db)
	if it.Op != plan.Kept || it.Request != nil || it.Reason == "" {
		t.Errorf("abandoned: %+v", it)
	}
}

func TestWithoutALedgerNoSnapshotIsMade(t *testing.T) {
	w := git(t, snapshot("db", "data"), snapshot("here", "data")).has("VolumeSnapshot/here", disked("data"), status(`{"readyToUse":true}`))
	w.in.Ledger = ledger.View{Problem: "it is lost", Fix: "find it"}
	blocked(t, w.item(db), true, "the ledger can't be used", "find it")
	if notes := w.make().Notes; len(notes) != 1 || !strings.Contains(notes[0], "it is lost") || strings.Contains(notes[0], "find it") {
		t.Errorf("notes %q", notes)
	}
	if it := w.item("VolumeSnapshot/here"); it.Op != plan.None {
		t.Errorf("what is live: %+v", it)
	}
}

// TestASnapshotOfAnotherClient is remembered where it is in sync: when it is
// gone, it is not made again by itself.
func TestASnapshotOfAnotherClient(t *testing.T) {
	w := git(t, snapshot("db", "data"), snapshot("here", "data")).has("VolumeSnapshot/here", disked("data")).has(db, disked("data"))
	if it := w.item(db); it.Op != plan.None || !it.Record {
		t.Errorf("item %+v", it)
	}
	w = git(t, snapshot("db", "data"), snapshot("here", "data")).has("VolumeSnapshot/here", disked("data")).applied(db, disked("data"))
	blocked(t, w.item(db), true, "no longer exists", "--accept recreate=VolumeSnapshot/db")
	w.with(func(o *plan.Options) { o.AllowRecreate = allow(t, db) })
	if it := w.item(db); it.Op != plan.Create || it.Recreate {
		t.Errorf("item %+v", it)
	}
}
