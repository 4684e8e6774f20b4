package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/canon"
)

var testTime = time.Date(2026, 11, 21, 12, 30, 0, 0, time.FixedZone("", 3*3600+1800))

func allStates() []RequestState {
	return []RequestState{"", Claimed, Posted, Rejected, Unknown, Adopted, Abandoned}
}

// inState is a record as it is in a state after a claim.
func inState(s RequestState) Record {
	rec := testRecord("a", 3)
	at := testTime.UTC()
	rec.FirstClaimAt, rec.ClaimedAt = &at, &at
	rec.Claim = &Claim{RunID: "run-1"}
	rec.State = s
	if s == "" {
		rec = rec.withIntent(Record{})
	}
	return rec
}

// TestTransitions is the table of docs/design.md A3: for each event and state where it
// leads; what is not named is forbidden.
func TestTransitions(t *testing.T) {
	digest := canon.Digest([]byte(`{}`))
	i := Intent{Spec: []byte(`{}`), Digest: digest, At: NewInstant(testTime, testTime)}
	again := i
	again.Again = true
	events := []struct {
		name string
		do   func(Record) (Record, error)
		to   map[RequestState]RequestState
	}{
		{"claim", func(r Record) (Record, error) { return r.withClaim(i, Claim{}) }, map[RequestState]RequestState{"": Claimed, Rejected: Claimed}},
		{"reclaim", func(r Record) (Record, error) { return r.withClaim(again, Claim{}) }, map[RequestState]RequestState{Posted: Claimed, Adopted: Claimed}},
		{"post", func(r Record) (Record, error) { return r.withOutcome(evPost, Outcome{How: Created}) }, map[RequestState]RequestState{Claimed: Posted, Unknown: Posted}},
		{"reject", func(r Record) (Record, error) { return r.withOutcome(evReject, Outcome{How: RejectedByPlatform}) }, map[RequestState]RequestState{Claimed: Rejected}},
		{"release", func(r Record) (Record, error) { return r.withOutcome(evRelease, Outcome{How: Released}) }, map[RequestState]RequestState{Claimed: ""}},
		{"doubt", func(r Record) (Record, error) { return r.withOutcome(evUnknown, Outcome{How: OutcomeUnknown}) }, map[RequestState]RequestState{Claimed: Unknown}},
		{
			"adopt", func(r Record) (Record, error) { return r.withAdoption(Adoption{Spec: []byte(`{}`), Digest: digest}) },
			map[RequestState]RequestState{"": Adopted, Rejected: Adopted, Unknown: Adopted},
		},
		{
			"forget", func(r Record) (Record, error) { return r.withForgotten("", "me") },
			map[RequestState]RequestState{"": "", Rejected: Abandoned, Posted: Abandoned, Adopted: Abandoned, Abandoned: Abandoned},
		},
		{"delete", func(r Record) (Record, error) { return r, r.checkState(evDelete) }, map[RequestState]RequestState{Posted: Posted}},
		{"deleted", func(r Record) (Record, error) { return r.withOutcome(evDeleted, Outcome{How: Removed}) }, map[RequestState]RequestState{Posted: Posted}},
		{"not deleted", func(r Record) (Record, error) { return r, r.checkState(evNotDeleted) }, map[RequestState]RequestState{Posted: Posted}},
		{"posted", func(r Record) (Record, error) { return r.withAnswer(ResolvePosted, "seen", "me") }, map[RequestState]RequestState{Claimed: Posted, Unknown: Posted}},
		{"repost", func(r Record) (Record, error) { return r.withAnswer(ResolveRepost, "not seen", "me") }, map[RequestState]RequestState{Claimed: "", Unknown: ""}},
		{"abandon", func(r Record) (Record, error) { return r.withAnswer(ResolveAbandon, "old", "me") }, map[RequestState]RequestState{Claimed: Abandoned, Unknown: Abandoned}},
	}
	for _, e := range events {
		for _, from := range allStates() {
			before := inState(from)
			after, err := e.do(before)
			to, allowed := e.to[from]
			switch {
			case allowed && (err != nil || after.State != to):
				t.Errorf("%s from %q: %q, %v; want %q", e.name, from, after.State, err, to)
			case allowed && after.validate() != nil:
				t.Errorf("%s from %q: %v", e.name, from, after.validate())
			case !allowed && err == nil:
				t.Errorf("%s from %q is allowed", e.name, from)
			case !allowed && after.State != from:
				t.Errorf("%s from %q is refused and leads to %q", e.name, from, after.State)
			}
			if !allowed && e.name == "claim" && !errors.Is(err, ErrTaken) {
				t.Errorf("claim from %q gave %v", from, err)
			}
			var state *StateError
			if !allowed && e.name != "claim" && (!errors.As(err, &state) || err.Error() == "") {
				t.Errorf("%s from %q gave %v", e.name, from, err)
			}
		}
	}
	if transitions()["else"].from != nil {
		t.Error("an event that is none may happen")
	}
}

func TestClaimStartsAfresh(t *testing.T) {
	before := inState(Rejected)
	before.Outcome, before.UID = &Outcome{How: RejectedByPlatform}, "old"
	spec, digest := []byte(`{"hostname":"new"}`), canon.Digest([]byte("new"))
	rec, err := before.withClaim(Intent{Spec: spec, Digest: digest, At: NewInstant(testTime, testTime)}, Claim{RunID: "run-2"})
	if err != nil {
		t.Fatal(err)
	}
	if string(rec.Spec) != string(spec) || *rec.SpecDigest != digest || rec.Outcome != nil || rec.UID != "" || rec.Claim.RunID != "run-2" {
		t.Errorf("claimed %+v", rec)
	}
	if got := rec.FirstClaimAt.Format(time.RFC3339); got != "2026-11-21T09:00:00Z" {
		t.Errorf("first claim at %s, want UTC", got)
	}
	if before.State != Rejected || before.UID != "old" {
		t.Error("the record before was changed")
	}
}

func TestReleaseForgetsTheIntent(t *testing.T) {
	rec, err := inState(Claimed).withOutcome(evRelease, Outcome{How: Released, Message: QuoteMessage("no route to host")})
	if err != nil {
		t.Fatal(err)
	}
	if rec.FirstClaimAt != nil || rec.ClaimedAt != nil || rec.SpecDigest != nil || rec.Spec != nil || rec.Outcome.Message.String() == "" {
		t.Errorf("released %+v", rec)
	}
}

func TestSettleNeedsAReasonAndAnAnswer(t *testing.T) {
	if _, err := inState(Unknown).withAnswer(ResolvePosted, " \n", "me"); err == nil {
		t.Error("settled without a reason")
	}
	if _, err := inState(Unknown).withAnswer("sent", "because", "me"); err == nil {
		t.Error("settled with an answer that is none")
	}
	doubtful := inState(Unknown)
	doubtful.Outcome = &Outcome{How: OutcomeUnknown, HTTP: 502, Message: QuoteMessage("bad gateway")}
	rec, err := doubtful.withAnswer(ResolvePosted, "seen in the console", "mina")
	want := Outcome{How: Operator, HTTP: 502, Message: QuoteMessage("bad gateway"), Reason: "seen in the console", By: "mina"}
	if err != nil || *rec.Outcome != want || rec.AcceptedAt == nil {
		t.Errorf("settled %+v, %v", rec.Outcome, err)
	}
	if doubtful.Outcome.How != OutcomeUnknown {
		t.Error("the record before was changed")
	}
}

func TestPendingKeepsWhatWasNeverConfirmed(t *testing.T) {
	var rec Record
	for _, step := range []struct{ spec, want string }{
		{`{"a":1}`, `{"a":1}`},
		{`{"b":1}`, `{"a":1} {"b":1}`},
		{`{"b":1}`, `{"a":1} {"b":1}`},
		{`{"a":1}`, `{"b":1} {"a":1}`},
	} {
		var err error
		if rec, err = rec.withPending([]byte(step.spec), nil); err != nil || begun(rec) != step.want {
			t.Errorf("%s: %s, %v; want %s", step.spec, begun(rec), err, step.want)
		}
	}
	if _, err := rec.withPending([]byte("{"), nil); err == nil {
		t.Error("begun with what is no JSON")
	}
}

// begun are the pending specs, oldest first.
func begun(rec Record) string {
	var all []string
	for _, p := range rec.Pending {
		all = append(all, string(p))
	}
	return strings.Join(all, " ")
}

func TestConfirmedKeepsFactsThatWereNotSaidAgain(t *testing.T) {
	rec := Record{Pending: []CanonicalJSON{CanonicalJSON(`{"a":2}`)}, RemoteName: "r", UID: "u", CreationTimestamp: "c"}
	rec = rec.withApplied(AppliedSpec{Spec: []byte(`{"a":2}`), UID: "u2"}, Claim{})
	if rec.Pending != nil || string(rec.Applied) != `{"a":2}` || !rec.NotConverged || rec.UID != "u2" || rec.RemoteName != "r" {
		t.Errorf("confirmed %+v", rec)
	}
}

func TestCutKeepsTextWhole(t *testing.T) {
	got := cutText(strings.Repeat("é", maxMessage), maxMessage)
	if len(got) > maxMessage || strings.ContainsRune(got, '\uFFFD') || cutText("short", maxMessage) != "short" {
		t.Errorf("cut gave %d bytes", len(got))
	}
}

// TestNoPathSendsTwice walks the machine at random: between two claims there is
// always a proof that nothing was done, or a person's word.
func TestNoPathSendsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := inState("")
		proof := true
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"claim", "post", "reject", "release", "doubt", "adopt", "posted", "repost", "abandon", "forget"}), 1, 30).Draw(t, "steps")
		for i, step := range steps {
			next, err := walk(rec, step)
			if err != nil {
				continue
			}
			if step == "claim" {
				if !proof {
					t.Fatalf("claimed twice: %v", steps[:i+1])
				}
				proof = false
			}
			proof = proof || slices.Contains([]string{"reject", "release", "repost"}, step)
			rec = next
			if err := rec.validate(); err != nil {
				t.Fatalf("after %v: %v", steps[:i+1], err)
			}
		}
	})
}

func walk(r Record, step string) (Record, error) {
	switch step {
	case "claim":
		return r.withClaim(Intent{Spec: []byte(`{}`), At: NewInstant(testTime, testTime)}, Claim{})
	case "post":
		return r.withOutcome(evPost, Outcome{How: Created})
	case "reject":
		return r.withOutcome(evReject, Outcome{How: RejectedByPlatform})
	case "release":
		return r.withOutcome(evRelease, Outcome{How: Released})
	case "doubt":
		return r.withOutcome(evUnknown, Outcome{How: OutcomeUnknown})
	case "adopt":
		return r.withAdoption(Adoption{Spec: []byte(`{}`)})
	case "forget":
		return r.withForgotten("", "me")
	case "posted", "repost", "abandon":
		return r.withAnswer(Resolution(step), "because", "me")
	}
	return r, fmt.Errorf("no step %s", step)
}
