package ledger

import (
	"strings"
	"testing"
)

// shotTaken is a ledger whose run has made an object.
func shotTaken(t *testing.T, m AcceptedAnswer) (Config, *Ledger) {
	t.Helper()
	cfg := made(t)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, diskKey))
	must(t, l.RecordPosted(t.Context(), diskKey, m))
	return cfg, open(t, cfg)
}

func TestLifeOfADeletion(t *testing.T) {
	cfg, l := shotTaken(t, AcceptedAnswer{UID: "u", CreationTimestamp: "c"})
	rec := view(t, l, diskKey)
	if !rec.IsOurs() || rec.IsGone() || rec.DescribeDeletion() != "" {
		t.Fatalf("made %+v", rec)
	}
	must(t, l.RecordDeleting(t.Context(), diskKey, "u", "c"))
	rec = view(t, l, diskKey)
	if message, _ := ExplainRecord(rec); !rec.IsOurs() || !strings.Contains(message, "run run-1 at 2026-11-21T09:00:00Z started its deletion and recorded no outcome") {
		t.Errorf("begun: %q %+v", message, rec)
	}
	must(t, l.RecordNotDeleted(t.Context(), diskKey, "403 forbidden"))
	if rec = view(t, l, diskKey); !rec.IsOurs() || rec.DescribeDeletion() != "" {
		t.Errorf("left alone: %+v", rec)
	}
	must(t, l.RecordDeleting(t.Context(), diskKey, "u", "c"))
	must(t, l.RecordOutcome(t.Context(), diskKey, Outcome{How: Removed, Message: QuoteMessage("gone")}))
	rec = view(t, l, diskKey)
	message, fix := ExplainRecord(rec)
	if rec.IsOurs() || !rec.IsGone() || rec.State != Posted || fix != "" || !strings.Contains(message, "; trueup deleted it (run run-1 at 2026") {
		t.Errorf("deleted: %q %q %+v", message, fix, rec)
	}
	if err := rec.checkTransitions(); err != nil {
		t.Error(err)
	}
	if err := l.RecordDeleting(t.Context(), diskKey, "u", "c"); err == nil {
		t.Error("it was deleted twice")
	}
	// It goes into a backup and comes back, and verify finds nothing.
	backup := exported(t, l)
	lose(t, cfg)
	if done, err := open(t, cfg).Import(t.Context(), backup); err != nil || !done.Restored {
		t.Fatalf("import %+v, %v", done, err)
	}
	again := open(t, cfg)
	if v, err := again.Verify(t.Context()); err != nil || v.Damage != nil {
		t.Errorf("verify %+v, %v", v, err)
	}
	if got := view(t, again, diskKey); !got.IsGone() || got.DescribeDeletion() != rec.DescribeDeletion() {
		t.Errorf("restored %+v", got)
	}
	// A person may have it made again, and then it is ours again.
	must(t, tryClaimAgain(t.Context(), again, diskKey))
	if rec = view(t, again, diskKey); rec.IsGone() || rec.UID != "" || rec.Applied == nil {
		t.Errorf("claimed again %+v", rec)
	}
}

// TestNothingElseIsDeleted: only what this ledger's own request made, as it was
// seen, and of a kind that has a deletion.
func TestNothingElseIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		made         AcceptedAnswer
		uid, created string
	}{
		"another uid":     {AcceptedAnswer{UID: "u", CreationTimestamp: "c"}, "x", "c"},
		"another time":    {AcceptedAnswer{UID: "u", CreationTimestamp: "c"}, "u", "x"},
		"no uid":          {AcceptedAnswer{CreationTimestamp: "c"}, "", "c"},
		"found":           {AcceptedAnswer{How: Found, UID: "u", CreationTimestamp: "c"}, "u", "c"},
		"a person's word": {AcceptedAnswer{How: Operator, UID: "u", CreationTimestamp: "c"}, "u", "c"},
	} {
		_, l := shotTaken(t, c.made)
		before := view(t, l, diskKey)
		if err := l.RecordDeleting(t.Context(), diskKey, c.uid, c.created); err == nil {
			t.Errorf("%s: it may be deleted", name)
		}
		if after := view(t, l, diskKey); after.Seq != before.Seq {
			t.Errorf("%s: something was recorded", name)
		}
	}
	_, l := shotTaken(t, AcceptedAnswer{UID: "u", CreationTimestamp: "c"})
	wantErr(t, l.RecordDeleting(t.Context(), diskKey, "u", "c"), ErrConflict) // it was not looked at
	if err := l.RecordDeleting(t.Context(), purgeKey, "u", "c"); err == nil {
		t.Error("a purge may be deleted")
	}
	if err := l.RecordDeleting(t.Context(), cdnKey, "u", "c"); err == nil {
		t.Error("a CDN may be deleted")
	}
}

// TestOneRunDeletes: of two that saw the same, the second is turned away, and
// neither speaks for the other.
func TestOneRunDeletes(t *testing.T) {
	cfg, one := shotTaken(t, AcceptedAnswer{UID: "u", CreationTimestamp: "c"})
	two := open(t, cfg)
	view(t, one, diskKey)
	view(t, two, diskKey)
	must(t, one.RecordDeleting(t.Context(), diskKey, "u", "c"))
	wantErr(t, two.RecordDeleting(t.Context(), diskKey, "u", "c"), ErrConflict)
	wantErr(t, two.RecordOutcome(t.Context(), diskKey, Outcome{How: Removed}), ErrConflict)
	must(t, one.RecordOutcome(t.Context(), diskKey, Outcome{How: Removed}))
}

// TestForget: git no longer manages what a person forgets, unless the record changed since it was looked at, is open,
// or is needed so that nothing is sent twice.
func TestForget(t *testing.T) {
	_, l := shotTaken(t, AcceptedAnswer{UID: "u", CreationTimestamp: "c"})
	if err := l.Forget(t.Context(), diskKey, ""); err == nil {
		t.Error("forgotten without having been looked at")
	}
	view(t, l, diskKey)
	must(t, l.Forget(t.Context(), diskKey, "not ours"))
	rec := view(t, l, diskKey)
	if message, _ := ExplainRecord(rec); !rec.IsForgotten() || rec.IsOurs() || rec.State != Abandoned || !strings.Contains(message, "was forgotten, according to mina: not ours") {
		t.Errorf("forgotten: %q %+v", message, rec)
	}
	if err := tryClaim(t.Context(), l, diskKey); err == nil {
		t.Error("what was forgotten is claimed")
	}
	must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: []byte(`{"a":1}`), Converged: true, UID: "u"}))
	view(t, l, cdnKey)
	must(t, l.Forget(t.Context(), cdnKey, ""))
	if rec := view(t, l, cdnKey); !rec.IsForgotten() || !rec.IsBlank() || rec.UID != "" {
		t.Errorf("forgotten: %+v", rec)
	}
	must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: []byte(`{"a":1}`), Converged: true}))
	if rec := view(t, l, cdnKey); rec.IsForgotten() || rec.IsBlank() {
		t.Errorf("managed again: %+v", rec)
	}
	must(t, tryClaim(t.Context(), l, purgeKey))
	view(t, l, purgeKey)
	if err := l.Forget(t.Context(), purgeKey, ""); err == nil || !strings.Contains(err.Error(), "remembers every purge") {
		t.Errorf("a purge: %v", err)
	}
}
