package plan_test

import (
	"strings"
	"testing"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// proven makes the platform one that was seen to refuse a second request of a name.
func (w *world) proven() *world {
	for area, t := range w.in.Ledger.Terms {
		t.Proven = true
		w.in.Ledger.Terms[area] = t
	}
	return w
}

// claimed records a claim without an outcome, and the run that made it.
func (w *world) claimed(name, text string, at time.Time) *world {
	return w.sent(name, ledger.Claimed, text, at).record(name, func(r *ledger.Record) {
		r.Claim = &ledger.Claim{RunURL: "https://ci.example.com/runs/7"}
	})
}

// TestWhatARunLeft is docs/design.md A3 for what another run has claimed: by the age of
// its claim, by whether that run has ended, and by what is known of the platform.
func TestWhatARunLeft(t *testing.T) {
	left := func(r *ledger.Record) { r.Left, r.EarlierUnknown = true, true }
	for name, tt := range map[string]struct {
		age    time.Duration
		left   bool
		proven bool
		op     plan.Op
		resend bool
		lost   bool
	}{
		"just now":                    {0, false, true, plan.InFlight, false, false},
		"a second before the lease":   {ledger.Lease - time.Second, false, true, plan.InFlight, false, false},
		"the lease is over":           {ledger.Lease, false, true, plan.Post, true, false},
		"it ended without an outcome": {0, true, true, plan.Post, true, false},
		"nobody knows of duplicates":  {ledger.Lease, false, false, plan.Blocked, false, true},
		"nobody knows, and it ended":  {0, true, false, plan.Blocked, false, true},
		"the window is open":          {ledger.DefaultWindow - time.Second, true, true, plan.Post, true, false},
		"the window is over":          {ledger.DefaultWindow, true, true, plan.Blocked, false, true},
	} {
		w := servingCDN(t, purge("rel", relSpec)).claimed(rel, relSpec, now().Add(-tt.age))
		if tt.proven {
			w.proven()
		}
		if tt.left {
			w.record(rel, left)
		}
		p := w.make()
		it := find(t, p, rel)
		if it.Op != tt.op || it.Resend != tt.resend || it.Lost != tt.lost || (it.Request != nil) != tt.resend {
			t.Errorf("%s: %+v", name, it)
		}
		text := it.Reason + strings.Join(it.Hints, "")
		if !strings.Contains(text, "run https://ci.example.com/runs/7") {
			t.Errorf("%s: %q does not say whose it is", name, text)
		}
		if p.HasDifferences() != (tt.op != plan.InFlight) || p.Summary.InFlight == 1 != (tt.op == plan.InFlight) {
			t.Errorf("%s: %+v", name, p.Summary)
		}
		if tt.lost {
			blocked(t, it, true, "may have been executed", "ledger resolve "+rel)
		}
		if tt.resend && it.Purge.Budget.Requests != 1 {
			t.Errorf("%s: what may have been sent counts %d times", name, it.Purge.Budget.Requests)
		}
	}
}

func TestAnUnknownRequestIsNeverSent(t *testing.T) {
	w := servingCDN(t, purge("rel", relSpec)).proven().sent(rel, ledger.Unknown, relSpec, now())
	it := w.item(rel)
	blocked(t, it, true, "its outcome is unknown")
	if it.Lost {
		t.Error("what a person is asked about already is to be recorded again")
	}
}

// TestOpenRequestsThatLeftGit are never sent, and never forgotten (docs/design.md 0.10).
func TestOpenRequestsThatLeftGit(t *testing.T) {
	const old = "Purge/old"
	left := func(state ledger.RequestState, at time.Time) *world {
		return servingCDN(t).proven().sent(old, state, relSpec, at)
	}
	for _, state := range []ledger.RequestState{ledger.Claimed, ledger.Unknown} {
		p := left(state, ago()).make()
		it := find(t, p, old)
		blocked(t, it, true, "not in git now", "won't send it again", "ledger resolve "+old)
		if it.Resend || it.Lost || p.SendsAnything() || !p.HasDifferences() {
			t.Errorf("%s: %+v", state, it)
		}
	}
	p := left(ledger.Claimed, now()).make()
	if it := find(t, p, old); it.Op != plan.InFlight || it.NeedsPerson || !strings.Contains(it.Reason, "claimed by") {
		t.Errorf("another run's: %+v", it)
	}
	for _, state := range []ledger.RequestState{"", ledger.Posted, ledger.Rejected, ledger.Adopted, ledger.Abandoned} {
		if p := left(state, ago()).make(); len(p.Items) != 1 {
			t.Errorf("%q: %+v", state, p.Items)
		}
	}
	// It comes back, and is what it was.
	w := servingCDN(t, purge("old", relSpec)).sent(old, ledger.Claimed, relSpec, ago())
	blocked(t, w.item(old), true, "may have been executed")
	if it := w.proven().item(old); !it.Resend {
		t.Errorf("back in git: %+v", it)
	}

	w = left(ledger.Unknown, ago()).with(func(o *plan.Options) { o.Targets = onlyKind("CDN") })
	if p := w.make(); len(p.Items) != 1 || len(p.Notes) != 0 {
		t.Errorf("--target leaves it out: %+v, %q", p.Items, p.Notes)
	}
	w = left(ledger.Unknown, ago()).with(func(o *plan.Options) { o.PartOfTree = true })
	if p := w.make(); len(p.Items) != 1 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "outside it without an outcome: 1") {
		t.Errorf("a part of the tree: %+v, %q", p.Items, p.Notes)
	}
	// One that is live is no stray: it is asked about, and not kept as well.
	w = git(t, snapshot("here", "data")).has("VolumeSnapshot/here", disked("data")).foreign(db, disked("data")).
		sent(db, ledger.Unknown, disked("data"), ago())
	blocked(t, w.item(db), true, "not in git now")
	w = left("", ago())
	w.in.Ledger.Records[kind.Key{Kind: "Other", Name: "x"}] = ledger.Record{State: ledger.Unknown}
	if p := w.make(); len(p.Items) != 1 {
		t.Errorf("a kind that nobody knows: %+v", p.Items)
	}
}

// listed adds a live snapshot that no manifest names.
func (w *world) listed(name, disk, made string) *world {
	o := object(w.t, "VolumeSnapshot/"+name, disked(disk), creationTime(made))
	w.in.Live.Unmanaged = append(w.in.Live.Unmanaged, o)
	return w
}

// after lets a request be claimed after snapshots of those names were live.
func (w *world) after(k string, names ...string) *world {
	var before ledger.Listing
	for _, name := range names {
		before.Objects = append(before.Objects, ledger.ObjectID{Name: name})
	}
	return w.record(k, func(r *ledger.Record) { r.Before = &before })
}

func creationTime(text string) func(*kind.LiveObject) {
	return func(o *kind.LiveObject) { o.CreationTimestamp = text }
}

// TestASnapshotIsFound by its name. Otherwise a person decides, and reads which live objects it may be (docs/design.md 0.5).
func TestASnapshotIsFound(t *testing.T) {
	const soon, before = "2026-11-21T08:51:00Z", "2026-11-21T08:44:59Z"
	for name, tt := range map[string]struct {
		set   func(*world)
		found bool
		may   string
	}{
		"by its name":                  {func(w *world) { w.has(db, disked("data"), creationTime(soon)) }, true, ""},
		"by the list":                  {func(w *world) { w.listed("content-7", "data", soon) }, false, "content-7"},
		"with what the server added":   {func(w *world) { w.listed("content-7", "data, x: 1", soon) }, false, "content-7"},
		"while another run is at it":   {func(w *world) { w.claimed(db, disked("data"), now()).has(db, disked("data"), creationTime(soon)) }, false, ""},
		"one of before the intent":     {func(w *world) { w.has(db, disked("data"), creationTime(before)) }, false, ""},
		"one of no age":                {func(w *world) { w.has(db, disked("data")) }, false, ""},
		"one of another disk":          {func(w *world) { w.has(db, disked("other"), creationTime(soon)) }, false, ""},
		"listed, of before the intent": {func(w *world) { w.listed("content-7", "data", before) }, false, ""},
		"listed, of another disk":      {func(w *world) { w.listed("content-7", "other", soon) }, false, ""},
		"listed before the claim":      {func(w *world) { w.listed("content-7", "data", soon).after(db, "content-7") }, false, ""},
		"two of them":                  {func(w *world) { w.listed("content-7", "data", soon).listed("content-8", "data", soon) }, false, "content-7 content-8"},
		"one that the ledger knows":    {func(w *world) { w.listed("x", "data", soon).applied("VolumeSnapshot/x", disked("data")) }, false, ""},
		"one that the ledger knows by the server's name": {func(w *world) {
			w.listed("x", "data", soon).sent("VolumeSnapshot/left", ledger.Posted, disked("data"), ago()).
				record("VolumeSnapshot/left", func(r *ledger.Record) { r.RemoteName = "x" })
		}, false, ""},
		"one that the ledger knows by its uid": {func(w *world) {
			w.listed("x", "data", soon).sent("VolumeSnapshot/left", ledger.Posted, disked("data"), ago()).
				record("VolumeSnapshot/left", func(r *ledger.Record) { r.UID = "uid-x" })
		}, false, ""},
		"one that is being deleted": {func(w *world) { w.has(db, disked("data"), creationTime(soon), terminating) }, false, ""},
	} {
		w := git(t, snapshot("db", "data")).claimed(db, disked("data"), ago()).after(db)
		tt.set(w)
		it := w.item(db)
		if it.Found != tt.found || it.Request != nil {
			t.Errorf("%s: %+v", name, it)
			continue
		}
		if tt.found {
			if it.RemoteName != "" || !strings.Contains(it.Hints[0], "its object is live: apply records") {
				t.Errorf("%s: %+v", name, it)
			}
			continue
		}
		if it.Op != plan.InFlight {
			blocked(t, it, true)
		}
		for _, may := range append(strings.Fields(tt.may), "it may be one of these") {
			if strings.Contains(it.Reason, may) != (tt.may != "") {
				t.Errorf("%s: %s", name, it.Reason)
			}
		}
	}
}

// TestAnUnansweredSnapshotIsMadeAgain only where the platform refuses duplicates.
func TestAnUnansweredSnapshotIsMadeAgain(t *testing.T) {
	w := git(t, snapshot("db", "data")).proven().claimed(db, disked("data"), ago())
	if it := w.item(db); it.Op != plan.Create || !it.Resend || it.Recreate {
		t.Errorf("item %+v", it)
	}
	w = git(t, snapshot("db", "other")).proven().claimed(db, disked("data"), ago()).has(db, disked("data"), creationTime("2026-11-21T08:51:00Z"))
	blocked(t, w.item(db), true, "another spec since", "ledger resolve "+db)
}
