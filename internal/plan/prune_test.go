package plan_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

const old = "VolumeSnapshot/old"

// pruneCandidate is a world in which a snapshot may be deleted: every proof is there.
func pruneCandidate(t tester) *world {
	t.Helper()
	w := git(t, snapshot("db", "data")).has(db, disked("data")).
		leaves(old, "uid-old").
		with(func(o *plan.Options) { o.Prune = true })
	w.in.Live.Lists = map[string]kind.ListInfo{"VolumeSnapshot": {Complete: true}, "CDN": {Complete: true, Items: 1}}
	w.in.Base = stood(t, "HEAD", snapshot("old", "data"))
	return w
}

// leaves adds a live snapshot that we made and no manifest names.
func (w *world) leaves(name, uid string) *world {
	w.t.Helper()
	w.foreign(name, disked("data")).sent(name, ledger.Posted, disked("data"), now()).
		record(name, func(r *ledger.Record) {
			r.UID, r.CreationTimestamp, r.Outcome = uid, "2026-11-20T09:00:00Z", &ledger.Outcome{How: ledger.Created, HTTP: 201}
		})
	w.live(name, func(o *kind.LiveObject) { o.CreationTimestamp = "2026-11-20T09:00:00Z" })
	return w
}

// live changes an object that no manifest names.
func (w *world) live(name string, change func(*kind.LiveObject)) *world {
	for i := range w.in.Live.Unmanaged {
		if o := &w.in.Live.Unmanaged[i]; o.Key() == key(w.t, name) {
			change(o)
		}
	}
	return w
}

// stood is a base in which the documents stood.
func stood(t tester, ref string, documents ...string) plan.PruneBase {
	t.Helper()
	return plan.PruneBase{Trees: []plan.BaseTree{{Ref: ref, Set: load(t, documents...)}}}
}

func kept(name, disk string) string {
	return strings.Replace(snapshot(name, disk), "{name: "+name+"}", `{name: `+name+`, annotations: {trueup.dev/keep: "true"}}`, 1)
}

// missingProof takes one proof away from a world in which all are there.
type missingProof struct {
	name   string
	remove func(w *world)
	// reason and fix are words of what is said then.
	reason, fix string
}

func missingProofs() []missingProof {
	rec := func(change func(*ledger.Record)) func(*world) {
		return func(w *world) { w.record(old, change) }
	}
	live := func(change func(*kind.LiveObject)) func(*world) {
		return func(w *world) { w.live(old, change) }
	}
	how := func(how ledger.OutcomeStatus) func(*world) {
		return rec(func(r *ledger.Record) { r.Outcome = &ledger.Outcome{How: how} })
	}
	opt := func(change func(*plan.Options)) func(*world) {
		return func(w *world) { w.with(change) }
	}
	const byHand = "delete VolumeSnapshot old by hand"
	return []missingProof{
		{"--prune", opt(func(o *plan.Options) { o.Prune = false }), "without --prune", "plan --prune"},
		{"unread", opt(func(o *plan.Options) { o.Unread = true }), "part of the tree was not read", "validate"},
		{"target", opt(func(o *plan.Options) { o.Targets = onlyKind("VolumeSnapshot") }), "--target covers only part", "without --target"},
		{"empty tree", func(w *world) { w.in.Set = load(w.t) }, "no manifest is left,", byHand},
		{"adopted", rec(func(r *ledger.Record) { r.State = ledger.Adopted }), "it was adopted", byHand},
		{"found", how(ledger.Found), "found after a request that got no answer", byHand},
		{"a person's word", how(ledger.Operator), "a person said that trueup created it", byHand},
		{"no outcome", rec(func(r *ledger.Record) { r.Outcome = nil }), "does not show that trueup created it", byHand},
		{"live before us", rec(func(r *ledger.Record) { r.State, r.Applied = "", r.Spec }), "live before trueup could create it", byHand},
		{"given up", rec(func(r *ledger.Record) { r.State = ledger.Abandoned }), "does not show", byHand},
		{"refused", rec(func(r *ledger.Record) { r.State = ledger.Rejected }), "does not show", byHand},
		{"deleted before", how(ledger.Removed), "trueup deleted it before, and it is still live", byHand},
		{"no uid recorded", rec(func(r *ledger.Record) { r.UID = "" }), "no uid or creationTimestamp", byHand},
		{"no time recorded", rec(func(r *ledger.Record) { r.CreationTimestamp = "" }), "no uid or creationTimestamp", byHand},
		{"no uid live", live(func(o *kind.LiveObject) { o.UID = "" }), "another object of that name", byHand},
		{"another uid", live(func(o *kind.LiveObject) { o.UID = "uid-new" }), "another object of that name", byHand},
		{"another time", live(func(o *kind.LiveObject) { o.CreationTimestamp = "2026-11-20T09:00:01Z" }), "another object of that name", byHand},
		{"not in base", func(w *world) { w.in.Base = stood(w.t, "HEAD", snapshot("else", "data")) }, "its manifest is not in HEAD", "--base-ref"},
		{"kept since", func(w *world) { w.in.Base.Newer = stood(w.t, "HEAD^", kept("old", "data")).Trees }, "its manifest was marked trueup.dev/keep", "later commit"},
		{"moved", func(w *world) { w.in.Base.Elsewhere = map[kind.Key]string{key(w.t, old): "b/old.yaml"} }, "its manifest is in b/old.yaml", "remove it there"},
		{"no base", func(w *world) { w.in.Base = plan.PruneBase{Problem: "no repository", Fix: "clone it"} }, "nothing proves that it was in git: no repository", "clone it"},
		{"kept in git", func(w *world) { w.in.Base = stood(w.t, "HEAD", kept("old", "data")) }, "its manifest was marked trueup.dev/keep", "later commit"},
		{"kept live", live(func(o *kind.LiveObject) { o.Keep = true }), "live is marked trueup.dev/keep", "remove the annotation "},
		{"terminating", live(terminating), "being deleted", "wait"},
	}
}

// TestADeletion is what is planned where every proof is there.
func TestADeletion(t *testing.T) {
	w := pruneCandidate(t)
	p := w.make()
	it := find(t, p, old)
	if it.Op != plan.Delete || it.Request == nil || it.Request.Method != "DELETE" || it.Request.Path != "/volumesnapshots/old" ||
		it.Request.Body != nil || it.Live.UID != "uid-old" || it.Made != "2026-11-20T09:00:00Z" || it.Disk != "data" || it.Reason != "" {
		t.Errorf("planned %+v", it)
	}
	if p.Summary.Delete != 1 || p.Summary.Kept != 0 || !p.SendsAnything() || !p.HasDifferences() {
		t.Errorf("summary %+v", p.Summary)
	}
	w.record(old, func(r *ledger.Record) { r.Outcome = &ledger.Outcome{How: ledger.Duplicate, HTTP: 409} })
	if it := w.item(old); it.Op != plan.Delete {
		t.Errorf("a refused second request proves the first: %+v", it)
	}
	// The newest tree that has it speaks for the annotation.
	w.in.Base.Trees = append(w.in.Base.Trees, stood(t, "HEAD^", kept("old", "data")).Trees...)
	if it := w.item(old); it.Op != plan.Delete {
		t.Errorf("the annotation was taken away before: %+v", it)
	}
}

// TestWithoutOneProofNothingIsDeleted: each row lacks just one.
func TestWithoutOneProofNothingIsDeleted(t *testing.T) {
	for _, c := range missingProofs() {
		w := pruneCandidate(t)
		c.remove(w)
		p := w.make()
		it := find(t, p, old)
		if it.Op != plan.Kept || it.Request != nil || it.NeedsPerson || p.Summary.Delete != 0 || it.Cause != plan.FromRemoval || it.Reason == "" {
			t.Errorf("%s: %+v", c.name, it)
		}
		if !strings.Contains(it.Reason, c.reason) || !strings.Contains(it.Fix, c.fix) {
			t.Errorf("%s: %q, %q", c.name, it.Reason, it.Fix)
		}
	}
}

// TestNotEvenMentioned: what may not have left git, or can't be known.
func TestNotEvenMentioned(t *testing.T) {
	for name, c := range map[string]struct {
		remove func(*world)
		note   string
	}{
		"a part of the project": {func(w *world) { w.in.Options.PartOfTree = true }, "trueup read only part of the project, so the plan does not show 1 more"},
		"an incomplete list":    {func(w *world) { w.in.Live.Lists["VolumeSnapshot"] = kind.ListInfo{} }, "the list of VolumeSnapshot is incomplete"},
		"no list":               {func(w *world) { delete(w.in.Live.Lists, "VolumeSnapshot"); w.in.Live.Unmanaged = nil }, "because the compute area has no address or token"},
		"no ledger":             {func(w *world) { w.in.Ledger = ledger.View{Problem: "gone", Fix: "look"} }, "the ledger can't be used"},
		"another object since": {func(w *world) {
			w.record(old, func(r *ledger.Record) { r.Outcome, r.UID = &ledger.Outcome{How: ledger.Removed}, "uid-of-ours" })
		}, ""},
	} {
		w := pruneCandidate(t)
		c.remove(w)
		p := w.make()
		for _, it := range p.Items {
			if it.String() == old {
				t.Errorf("%s: %+v", name, it)
			}
		}
		if p.Summary.Delete != 0 || !strings.Contains(strings.Join(p.Notes, "\n"), c.note) {
			t.Errorf("%s: %q", name, p.Notes)
		}
	}
	if w := pruneCandidate(t); len(w.make().Notes) != 0 {
		t.Error("a note without a cause")
	}
}

// TestAnErrorAnywhereKeepsEverything: an error may hide a manifest.
func TestAnErrorAnywhereKeepsEverything(t *testing.T) {
	w := pruneCandidate(t)
	w.in.Set = load(t, snapshot("db", "other"))
	p, findings := plan.NewPlanner(w.in).MakePlan()
	if it := find(t, p, old); !findings.HasErrors() || it.Op != plan.Kept || !strings.Contains(it.Reason, "while manifests have errors") {
		t.Errorf("%v: %+v", findings, it)
	}
}

// TestTooManyDeletions: none of them is done.
func TestTooManyDeletions(t *testing.T) {
	w := pruneCandidate(t).leaves("VolumeSnapshot/older", "uid-older")
	w.in.Base = stood(t, "HEAD", snapshot("old", "data"), snapshot("older", "data"))
	for _, name := range []string{old, "VolumeSnapshot/older"} {
		blocked(t, w.item(name), true, "would delete 2", "maxDeletes is 1", "maxDeletes: 2")
	}
	w.in.Project.MaxDeletes = new(2)
	if p := w.make(); p.Summary.Delete != 2 {
		t.Errorf("allowed: %+v", p.Summary)
	}
}

// TestAServerThatRenames: the ledger knows the object by git's name.
func TestAServerThatRenames(t *testing.T) {
	w := pruneCandidate(t)
	w.live(old, func(o *kind.LiveObject) { o.Name = "content-1" }).record(old, func(r *ledger.Record) { r.RemoteName = "content-1" })
	if it := w.item(old); it.Op != plan.Delete || it.RemoteName != "content-1" || it.Request.Path != "/volumesnapshots/content-1" {
		t.Errorf("planned %+v", it)
	}
}

// TestDroppingAnyProof: whatever set of proofs is missing, it must be none for
// anything to be deleted.
func TestDroppingAnyProof(t *testing.T) {
	all := missingProofs()
	rapid.Check(t, func(t *rapid.T) {
		w := pruneCandidate(t)
		dropped := rapid.SliceOfDistinct(rapid.IntRange(0, len(all)-1), rapid.ID[int]).Draw(t, "dropped")
		for _, i := range dropped {
			all[i].remove(w)
		}
		p, _ := plan.NewPlanner(w.in).MakePlan()
		if want := len(dropped) == 0; (p.Summary.Delete > 0) != want {
			t.Fatalf("dropped %v: %+v", dropped, p.Items)
		}
	})
}

// TestWhatWeDeletedComesBack: it is not made again by itself, and its absence
// says nothing of the workspace.
func TestWhatWeDeletedComesBack(t *testing.T) {
	w := git(t, snapshot("db", "data"), snapshot("next", "data")).sent(db, ledger.Posted, disked("data"), now()).
		record(db, func(r *ledger.Record) {
			r.Outcome = &ledger.Outcome{How: ledger.Removed}
			r.History = []ledger.LogStep{{Event: "deleted", By: "run 7", At: now()}}
		})
	blocked(t, w.item(db), true, "no longer exists: trueup deleted it (run 7 at 2026-11-21T09:00:00Z)", "other data", "--accept recreate=")
	if it := w.item("VolumeSnapshot/next"); it.Op != plan.Create {
		t.Errorf("the other one: %+v", it)
	}
	w.with(func(o *plan.Options) { o.AllowRecreate = allow(t, db) })
	if it := w.item(db); it.Op != plan.Create || !it.Recreate {
		t.Errorf("allowed: %+v", it)
	}
}
