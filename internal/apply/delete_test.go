package apply_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// The ledger's part of a deletion.

func (s *stage) RecordDeleting(ctx context.Context, k kind.Key, uid, created string) error {
	return s.call(ctx, "deleting", k, func() error {
		if r := s.records[k]; r.UID != uid || r.CreationTimestamp != created || !r.IsOurs() {
			return fmt.Errorf("%s is not ours", k)
		}
		return nil
	})
}

func (s *stage) RecordNotDeleted(ctx context.Context, k kind.Key, _ string) error {
	return s.call(ctx, "not deleted", k, func() error { return nil })
}

// Delete takes a snapshot away at once, unless it lingers.
func (s *stage) Delete(ctx context.Context, k *kind.Kind, name string) error {
	at := kind.Key{Kind: k.Name, Name: name}
	return s.call(ctx, "DELETE", at, func() error {
		o, ok := s.objects[at]
		switch {
		case !ok:
			return missing()
		case s.lingers:
			o.Terminating = true
			s.objects[at] = o
		default:
			delete(s.objects, at)
		}
		return nil
	})
}

const leftOver = "VolumeSnapshot/old"

// departed is a stage with one snapshot in git and one that left it, which we made.
func departed(t *testing.T) *stage {
	t.Helper()
	s := begin(t, snapshot("db"))
	s.created = "2026-11-20T09:00:00Z"
	s.has("VolumeSnapshot/db", disk("data")).applied("VolumeSnapshot/db", disk("data")).leaves("old")
	s.plan, s.project.MaxDeletes = plan.Options{Prune: true}, new(2)
	s.base = plan.PruneBase{Trees: []plan.BaseTree{{Ref: "HEAD", Set: load(t, snapshot("old"), snapshot("older"))}}}
	return s
}

// leaves makes a snapshot live that we made and no manifest names.
func (s *stage) leaves(name string) {
	k := key("VolumeSnapshot/" + name)
	s.has(k.String(), disk("data"))
	s.records[k] = ledger.Record{
		Key: k, State: ledger.Posted, Spec: s.objects[k].Spec, UID: "uid-" + name, CreationTimestamp: s.created,
		Outcome: &ledger.Outcome{How: ledger.Created, HTTP: 201},
	}
}

const (
	wellDeleted = "deleting VolumeSnapshot/old, GET VolumeSnapshot/old, DELETE VolumeSnapshot/old, GET VolumeSnapshot/old, deleted VolumeSnapshot/old"
	looked      = "deleting VolumeSnapshot/old, GET VolumeSnapshot/old, not deleted VolumeSnapshot/old"
)

// TestADeletionIsReportedBeforeAndAfter, looked at right before it, and read back.
func TestADeletionIsReportedBeforeAndAfter(t *testing.T) {
	s := departed(t)
	o := s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	s.wrote(wellDeleted)
	if !o.Sent || !s.records[key(leftOver)].IsGone() {
		t.Errorf("%+v, %+v", o, s.records[key(leftOver)])
	}
	if res := s.run(); len(res.Outcomes) != 1 {
		t.Errorf("again: %+v", res.Outcomes)
	}
	s.wrote("")
}

// TestADeletionThatTakesItsTime is done when it was accepted, or waited for.
func TestADeletionThatTakesItsTime(t *testing.T) {
	s := departed(t)
	s.lingers = true
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleting accepted (--wait waits")
	s.wrote(wellDeleted)
	if !s.records[key(leftOver)].IsGone() {
		t.Error("it is not recorded")
	}

	s = departed(t)
	s.lingers, s.options.Wait = true, time.Minute
	s.at("GET VolumeSnapshot/old", 5, func() { delete(s.objects, key(leftOver)) })
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	if s.slept != 4*time.Second {
		t.Errorf("slept %s", s.slept)
	}

	s = departed(t)
	s.lingers, s.options.Wait = true, 3*time.Second
	s.ends(s.run(), leftOver, apply.Failed, apply.Partial, "not gone within 3s")
}

// TestWhatIsNotAsThePlanSaidIsNotDeleted: the last look decides.
func TestWhatIsNotAsThePlanSaidIsNotDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kind.LiveObject)
		word   string
	}{
		"uid":         {func(o *kind.LiveObject) { o.UID = "another" }, "another object of that name"},
		"time":        {func(o *kind.LiveObject) { o.CreationTimestamp = "2026-11-21T09:00:00Z" }, "another object of that name"},
		"terminating": {func(o *kind.LiveObject) { o.Terminating = true }, "another client is deleting it"},
		"kept":        {func(o *kind.LiveObject) { o.Keep = true }, "trueup.dev/keep"},
	} {
		s := departed(t)
		res := s.apply(t.Context(), func() { s.change(leftOver, c.change) })
		if o := s.ends(res, leftOver, apply.Skipped, apply.Stale, c.word, "run plan again"); o.Sent {
			t.Errorf("%s: sent", name)
		}
		s.wrote(looked)
	}
	s := departed(t)
	o := s.ends(s.apply(t.Context(), func() { delete(s.objects, key(leftOver)) }), leftOver, apply.Done, apply.OK, "already gone")
	if o.Sent || s.records[key(leftOver)].IsGone() {
		t.Errorf("%+v", o)
	}
	s.wrote(looked)
}

// TestADeletionWhoseAnswerIsLost is settled by a look: gone, ours still, or
// another client's.
func TestADeletionWhoseAnswerIsLost(t *testing.T) {
	// It was carried out.
	s := departed(t).on("DELETE VolumeSnapshot/old", 1, unclear(), true)
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	s.wrote("deleting VolumeSnapshot/old, GET VolumeSnapshot/old, DELETE VolumeSnapshot/old, GET VolumeSnapshot/old, deleted VolumeSnapshot/old")
	// It was accepted.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, unclear(), true)
	s.lingers = true
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "accepted")
	// It was not.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, unclear(), false)
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	if n := strings.Count(s.took(), "DELETE"); n != 2 {
		t.Errorf("%d requests", n)
	}
	// Somebody made another one of the name since.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, unclear(), true)
	s.at("GET VolumeSnapshot/old", 2, func() { s.has(leftOver, disk("data")); s.change(leftOver, func(o *kind.LiveObject) { o.UID = "new" }) })
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	if n := strings.Count(s.took(), "DELETE"); n != 1 {
		t.Errorf("%d requests", n)
	}
	// It never is.
	s = departed(t).on("DELETE VolumeSnapshot/old", 0, unclear(), false)
	s.ends(s.run(), leftOver, apply.Failed, apply.Partial, "tell whether it will be deleted", "which checks first")
	log := s.took()
	if n := strings.Count(log, "DELETE"); n != 4 || strings.Contains(log, "not deleted") {
		t.Errorf("%d requests: %s", n, log)
	}
	// An answer that proves nothing is not asked again, but looked at.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, &said{"500", api.Error{Class: api.Unknown, Status: 500}}, true)
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	s.wrote(wellDeleted)
}

// TestADeletionThatWasNotSent goes again, a refused one does not.
func TestADeletionThatWasNotSent(t *testing.T) {
	s := departed(t).on("DELETE VolumeSnapshot/old", 1, unsent(), false)
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
	s = departed(t).on("DELETE VolumeSnapshot/old", 0, unsent(), false)
	s.ends(s.run(), leftOver, apply.Failed, apply.Partial, "connection refused")
	if log := s.took(); strings.Count(log, "DELETE") != 4 || !strings.HasSuffix(log, "not deleted VolumeSnapshot/old") {
		t.Error(log)
	}
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, denied(), false)
	s.leaves("older")
	res := s.run()
	s.ends(res, leftOver, apply.Failed, apply.Auth, "403")
	s.ends(res, "VolumeSnapshot/older", apply.Skipped, apply.Partial, "authentication")
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, refused(), false)
	s.ends(s.run(), leftOver, apply.Failed, apply.Partial, "422 no")
	s.wrote("deleting VolumeSnapshot/old, GET VolumeSnapshot/old, DELETE VolumeSnapshot/old, not deleted VolumeSnapshot/old")
	// One that is gone when the request arrives is gone.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, missing(), true)
	s.ends(s.run(), leftOver, apply.Done, apply.OK, "deleted")
}

// TestAServerThatLies: what is there as before was not deleted.
func TestAServerThatLies(t *testing.T) {
	s := departed(t).on("DELETE VolumeSnapshot/old", 1, nil, false)
	s.ends(s.run(), leftOver, apply.Failed, apply.NotConverged, "it is still there")
	if log := s.took(); !strings.HasSuffix(log, "not deleted VolumeSnapshot/old") || s.slept != 10*time.Second {
		t.Error(log, s.slept)
	}
	s = departed(t)
	for n := 2; n <= 5; n++ {
		s.on("GET VolumeSnapshot/old", n, unclear(), false)
	}
	s.ends(s.run(), leftOver, apply.Failed, apply.Partial, "trueup can't check it: ")
}

// TestDeletionsComeLast: nothing is deleted unless everything before ended well.
func TestDeletionsComeLast(t *testing.T) {
	s := departed(t)
	s.set = load(t, snapshot("db"), cdn("shop", `{hostname: shop.example.com}`))
	s.on("POST CDN/shop", 1, refused(), false)
	s.ends(s.run(), leftOver, apply.Skipped, apply.Partial, "deletions come last, and CDN/shop failed")
	if log := s.took(); strings.Contains(log, "delet") || strings.Contains(log, "DELETE") {
		t.Error(log)
	}
	// A deletion that fails ends the others.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, refused(), false)
	s.leaves("older")
	s.ends(s.run(), "VolumeSnapshot/older", apply.Skipped, apply.Partial, "VolumeSnapshot/old failed")
	// And so does a panic.
	s = departed(t).on("DELETE VolumeSnapshot/old", 1, mistake("nil pointer"), false)
	s.leaves("older")
	res := s.run()
	s.ends(res, leftOver, apply.Failed, apply.Partial, "internal error")
	s.ends(res, "VolumeSnapshot/older", apply.Skipped, apply.Partial, "failed")
}

// TestInterruptedBeforeADeletion: nothing is sent, wherever it stops.
func TestInterruptedBeforeADeletion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := departed(t)
	s.ends(s.apply(ctx, nil), leftOver, apply.Skipped, apply.Interrupted)
	s.wrote("")
	for _, call := range []string{"deleting VolumeSnapshot/old", "GET VolumeSnapshot/old"} {
		ctx, cancel = context.WithCancel(t.Context())
		s = departed(t).at(call, 1, cancel)
		s.ends(s.apply(ctx, nil), leftOver, apply.Skipped, apply.Interrupted, "before it was sent")
		if log := s.took(); strings.Contains(log, "DELETE") || !strings.HasSuffix(log, "not deleted VolumeSnapshot/old") {
			t.Errorf("%s: %s", call, log)
		}
	}
	// What is in flight is brought to its end.
	ctx, cancel = context.WithCancel(t.Context())
	s = departed(t).at("DELETE VolumeSnapshot/old", 1, cancel)
	s.ends(s.apply(ctx, nil), leftOver, apply.Done, apply.OK, "deleted")
}

// TestALedgerThatFailsADeletion: without the intent nothing is sent, and what
// could not be recorded afterwards is handed out.
func TestALedgerThatFailsADeletion(t *testing.T) {
	s := departed(t).on("deleting VolumeSnapshot/old", 1, fmt.Errorf("disk full"), false)
	s.ends(s.run(), leftOver, apply.Failed, apply.NeedsPerson, "nothing was sent: disk full")
	s.wrote("deleting VolumeSnapshot/old")
	s = departed(t).on("deleting VolumeSnapshot/old", 1, ledger.ErrConflict, false)
	s.ends(s.run(), leftOver, apply.Skipped, apply.Stale, "another run changed its record")
	s.wrote("deleting VolumeSnapshot/old")
	s = departed(t).on("deleted VolumeSnapshot/old", 1, fmt.Errorf("disk full"), false)
	s.ends(s.run(), leftOver, apply.Failed, apply.NeedsPerson, "disk full")
}
