package apply_test

import (
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// existing is a conflict that shows the object of the name.
func existing(t *testing.T, spec, made string) error {
	s := begin(t)
	k, _ := kind.FindKind("Purge")
	o, err := k.ReadObject(canon.Encode(map[string]any{
		"metadata": map[string]any{"name": "rel", "creationTimestamp": made}, "spec": s.tree(spec),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if spec == `{}` {
		o.Spec = nil
	}
	return &said{"409 conflict", api.Error{Class: api.Taken, Status: 409, Existing: &o}}
}

// dead is a stage on which a run claimed the purge an hour ago and died.
func dead(t *testing.T) *stage {
	s := due(t)
	k, _ := kind.FindKind("Purge")
	first, spec := s.now.Add(-time.Hour), s.set.Find(key(rel)).Spec
	digest := plan.SpecDigest(k, spec)
	s.records[key(rel)] = ledger.Record{
		Key: key(rel), State: ledger.Claimed, Spec: spec, SpecDigest: &digest, FirstClaimAt: &first, ClaimedAt: &first,
	}
	s.proven = true
	return s
}

const (
	sendOnce  = "claim Purge/rel, POST Purge/rel"
	sendAgain = "take over Purge/rel, POST Purge/rel"
)

// TestWhatAnAnswerMeans is docs/design.md A3: the outcome of a first send, and of one after
// a send that may have arrived.
func TestWhatAnAnswerMeans(t *testing.T) {
	const other = `{hostname: shop.example.com, paths: [/b]}`
	type want struct {
		calls   string
		state   ledger.RequestState
		verdict apply.Verdict
		words   string
	}
	for name, tt := range map[string]struct {
		err           error
		created       string
		alone         bool
		first, second want
	}{
		"accepted": {
			first:  want{"posted", ledger.Posted, apply.OK, "posted the platform executes it later"},
			second: want{"posted", ledger.Posted, apply.OK, "posted the platform executes it later"},
		},
		"made half a minute ago": {
			created: "2026-11-21T08:59:30Z",
			first:   want{"posted", ledger.Posted, apply.OK, "executes it later"},
			second:  want{"posted", ledger.Posted, apply.OK, "executes it later"},
		},
		"made before it was sent": {
			created: "2026-11-21T08:59:29Z",
			first:   want{"unknown", ledger.Unknown, apply.NeedsPerson, "before this request"},
			second:  want{"posted", ledger.Posted, apply.OK, "when it was first sent"},
		},
		"made before, by a clock that may be off": {
			created: "2026-11-21T08:55:00Z", alone: true,
			first:  want{"posted", ledger.Posted, apply.OK, "executes it later"},
			second: want{"posted", ledger.Posted, apply.OK, "executes it later"},
		},
		"made before the intent": {
			created: "2026-11-21T07:59:29Z",
			first:   want{"unknown", ledger.Unknown, apply.NeedsPerson, "another name"},
			second:  want{"unknown", ledger.Unknown, apply.NeedsPerson, "another name"},
		},
		"duplicate": {
			err:    isNameTaken(),
			first:  want{"unknown", ledger.Unknown, apply.NeedsPerson, "ledger adopt Purge/rel"},
			second: want{"posted", ledger.Posted, apply.OK, "when it was first sent"},
		},
		"duplicate of the same spec": {
			err:    existing(t, `{paths: [/a], hostname: shop.example.com}`, "2026-11-21T08:00:01Z"),
			first:  want{"unknown", ledger.Unknown, apply.NeedsPerson, "this ledger did not create it"},
			second: want{"posted", ledger.Posted, apply.OK, "when it was first sent"},
		},
		"duplicate without a spec": {
			err:    existing(t, `{}`, ""),
			first:  want{"unknown", ledger.Unknown, apply.NeedsPerson, "this ledger did not create it"},
			second: want{"posted", ledger.Posted, apply.OK, "when it was first sent"},
		},
		"duplicate of another spec": {
			err:    existing(t, other, "2026-11-21T08:00:01Z"),
			first:  want{"unknown", ledger.Unknown, apply.NeedsPerson, "this ledger did not create it"},
			second: want{"unknown", ledger.Unknown, apply.NeedsPerson, "this ledger did not create it"},
		},
		"duplicate of before the intent": {
			err:    existing(t, relSpec, "2026-11-21T07:59:29Z"),
			first:  want{"unknown", ledger.Unknown, apply.NeedsPerson, "this ledger did not create it"},
			second: want{"unknown", ledger.Unknown, apply.NeedsPerson, "this ledger did not create it"},
		},
		"refused": {
			err:    refused(),
			first:  want{"rejected", ledger.Rejected, apply.Partial, "422"},
			second: want{"leave", ledger.Claimed, apply.Partial, "may have been executed: 422"},
		},
		"throttled": {
			err:    &said{"429 too many requests, for good", api.Error{Class: api.Unsent, Status: 429, Hopeless: true}},
			first:  want{"release", "", apply.Partial, "429"},
			second: want{"leave", ledger.Claimed, apply.Partial, "429"},
		},
		"not written": {
			err:    broken(),
			first:  want{"release", "", apply.Partial, "run apply again"},
			second: want{"leave", ledger.Claimed, apply.Partial, "safe until 2026-11-22T04:00:00Z"},
		},
	} {
		for _, after := range []bool{false, true} {
			s, want, sent := due(t), tt.first, sendOnce
			if after {
				s, want, sent = dead(t), tt.second, sendAgain
			}
			s.proven, s.alone, s.created = true, tt.alone, tt.created
			if tt.err != nil {
				s.on("POST Purge/rel", 1, tt.err, false)
			}
			status := apply.Done
			if want.verdict != apply.OK {
				status = apply.Failed
			}
			t.Logf("%s, after another: %v", name, after)
			s.ends(s.run(), rel, status, want.verdict, want.words)
			s.wrote(sent + ", " + want.calls + " Purge/rel")
			if r := s.records[key(rel)]; r.State != want.state || r.Left != (want.calls == "leave") {
				t.Errorf("record %q, left %v", r.State, r.Left)
			}
		}
	}
}

// TestSentAgainOnlyOnProof is docs/design.md 0.7: up to three sends under one claim
// where the platform is known to refuse duplicates, else one.
func TestSentAgainOnlyOnProof(t *testing.T) {
	s := due(t).on("POST Purge/rel", 1, unclear(), true)
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "may have been executed", "ledger resolve Purge/rel")
	s.wrote(sendOnce + ", unknown Purge/rel")

	s = due(t).on("POST Purge/rel", 1, unclear(), false)
	s.proven = true
	s.ends(s.run(), rel, apply.Done, apply.OK, "executes it later")
	s.wrote(sendOnce + ", POST Purge/rel, posted Purge/rel")

	s = due(t).on("POST Purge/rel", 1, unclear(), true).on("POST Purge/rel", 2, unclear(), false).on("POST Purge/rel", 3, isNameTaken(), false)
	s.proven = true
	s.ends(s.run(), rel, apply.Done, apply.OK, "when it was first sent")
	s.wrote(sendOnce + ", POST Purge/rel, POST Purge/rel, posted Purge/rel")
	if s.slept <= 0 || s.slept > 3*time.Second/2 {
		t.Errorf("slept %s", s.slept)
	}

	s = due(t).on("POST Purge/rel", 0, unclear(), false)
	s.proven = true
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "may have been executed", "ledger settle or the next apply", "safe until 2026-11-22T05:00:00Z")
	s.wrote(sendOnce + ", POST Purge/rel, POST Purge/rel, leave Purge/rel")
	// The next run need not wait for the lease.
	s.hook = nil
	s.ends(s.run(), rel, apply.Done, apply.OK)
	s.wrote(sendAgain + ", posted Purge/rel")

	// What certainly was refused only then is not known to be that.
	s = due(t).on("POST Purge/rel", 1, unclear(), true).on("POST Purge/rel", 2, refused(), false)
	s.proven = true
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "422")
	s.wrote(sendOnce + ", POST Purge/rel, leave Purge/rel")
}

// TestTheWindowIsCheckedBeforeEverySend: the one rule (docs/design.md A1 and 0.8).
func TestTheWindowIsCheckedBeforeEverySend(t *testing.T) {
	sleepsAt := func(s *stage, n int) *stage {
		s.proven = true
		return s.at("clock", n, func() { s.now = s.now.Add(ledger.DefaultWindow) })
	}
	s := sleepsAt(due(t), 2)
	if o := s.ends(s.run(), rel, apply.Failed, apply.Partial, "it was not sent", "until 2026-11-22T05:00:00Z", "run apply again"); o.Sent {
		t.Error("it says that it was sent")
	}
	s.wrote("claim Purge/rel, release Purge/rel")

	s = sleepsAt(due(t).on("POST Purge/rel", 1, unclear(), false), 3)
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "may have been executed", "until 2026-11-22T05:00:00Z", "ledger resolve")
	s.wrote(sendOnce + ", unknown Purge/rel")

	// It was open when the plan was made, and is over when it is taken over, or sent.
	s = sleepsAt(dead(t), 1)
	s.at("clock", 1, func() { s.now = s.now.Add(ledger.DefaultWindow) })
	s.ends(s.run(), rel, apply.InFlight, apply.Partial, "claimed by")
	s = sleepsAt(dead(t), 2)
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "may have been executed")
	s.wrote("take over Purge/rel, unknown Purge/rel")

	// Without the platform's clock an hour less is left.
	s = dead(t)
	first := s.now.Add(-(ledger.DefaultWindow - time.Hour))
	r := s.records[key(rel)]
	r.FirstClaimAt = &first
	s.records[key(rel)] = r
	s.at("clock", 2, func() { s.alone = true })
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "may have been executed")
}

func TestAClockThatCantBeAsked(t *testing.T) {
	s := due(t).on("clock", 1, denied(), false)
	s.ends(s.run(), rel, apply.Failed, apply.Auth, "nothing was sent", "the platform's time")
	s.wrote("")
	s = due(t).on("clock", 2, refused(), false)
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "the platform's time", "run apply again")
	s.wrote("claim Purge/rel, release Purge/rel")
	s = due(t).on("turn", 1, refused(), false)
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "422")
	s.wrote("claim Purge/rel, release Purge/rel")
	s = dead(t).on("clock", 2, refused(), false)
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "may have been executed")
	s.wrote("take over Purge/rel, leave Purge/rel")
	// What a person is to be asked about is said all the same.
	s = dead(t).on("clock", 1, refused(), false)
	s.proven = false
	s.ends(s.run(), rel, apply.Blocked, apply.NeedsPerson, "the ledger could not record it:")
	s.wrote("")
}

// TestASnapshotWithoutAnAnswer is settled by a look at live, then as a purge is.
func TestASnapshotWithoutAnAnswer(t *testing.T) {
	s := begin(t, snapshot("db")).on("POST "+db, 1, unclear(), false)
	s.proven = true
	s.ends(s.run(), db, apply.Done, apply.OK, "created ready")
	if got := strings.Count(s.took(), "POST"); got != 2 {
		t.Errorf("%d sends", got)
	}
	s = begin(t, snapshot("db")).on("POST "+db, 0, unclear(), false)
	s.proven = true
	s.ends(s.run(), db, apply.Failed, apply.Partial, "safe until")
	s.hook, s.now = nil, s.now.Add(time.Hour)
	s.took()
	s.ends(s.run(), db, apply.Done, apply.OK)
	if log := s.took(); !strings.Contains(log, "take over "+db) {
		t.Errorf("calls %s", log)
	}

	// A look that shows it does not prove that it was made by the request.
	s = begin(t, snapshot("db")).on("POST "+db, 1, unclear(), true)
	s.ends(s.run(), db, apply.Done, apply.OK, "created ready")
	if r := s.records[key(db)]; r.State != ledger.Posted || r.Outcome.How != ledger.Found || r.IsOurs() {
		t.Errorf("record %+v", r)
	}

	// It is live by the time of the next run, which only records it.
	s = begin(t, snapshot("db")).on("POST "+db, 1, unclear(), false)
	s.proven, s.created = true, s.now.Format(time.RFC3339)
	s.on("POST "+db, 2, unclear(), false).on("POST "+db, 3, unclear(), false)
	s.run()
	s.has(db, disk("data"))
	s.took()
	s.on("found "+db, 1, refused(), false)
	s.ends(s.run(), db, apply.Failed, apply.Partial, "it is live, but the ledger could not record it", "run apply again")
	s.hook = nil
	s.ends(s.run(), db, apply.Done, apply.OK)
	if r := s.records[key(db)]; r.State != ledger.Posted || r.RemoteName != "db" {
		t.Errorf("record %+v", r)
	}

	// Another run was first to record it.
	s = begin(t, snapshot("db"))
	s.created = s.now.Format(time.RFC3339)
	s.has(db, disk("data"))
	first := s.now
	digest := plan.SpecDigest(kindOf(db), s.set.Find(key(db)).Spec)
	rec := ledger.Record{
		Key: key(db), State: ledger.Unknown, Spec: s.set.Find(key(db)).Spec, SpecDigest: &digest, FirstClaimAt: &first, ClaimedAt: &first,
	}
	s.records[key(db)] = rec
	s.on("found "+db, 1, ledger.ErrConflict, false)
	s.looked = func(k kind.Key) error {
		rec.State, rec.AcceptedAt = ledger.Posted, &first
		s.records[k] = rec
		return nil
	}
	s.ends(s.run(), db, apply.Done, apply.OK, "another run posted it: VolumeSnapshot/db was accepted")
}

func kindOf(name string) *kind.Kind {
	k, _ := kind.FindKind(key(name).Kind)
	return k
}
