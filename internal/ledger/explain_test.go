package ledger

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	resolve := "check whether it happened, then run trueup ledger resolve Purge/a --reason TEXT with --posted"
	outcome := func(s RequestState, o *Outcome) Record {
		rec := inState(s)
		rec.Outcome = o
		return rec
	}
	by := func(s RequestState, c *Claim) Record {
		rec := inState(s)
		rec.Claim = c
		return rec
	}
	accepted := inState(Posted)
	accepted.AcceptedAt = accepted.ClaimedAt
	left := outcome(Claimed, &Outcome{How: OutcomeUnknown, Message: QuoteMessage("no answer")})
	left.Left = true
	plain := func(r Record) Record {
		r.Key = testRecord("shop", 1).Key
		return r
	}
	for _, c := range []struct {
		rec     Record
		message string
		fix     string
	}{
		{
			inState(Claimed), "Purge/a was about to be sent by run run-1 at 2026-11-21T09:00:00Z, and no outcome was recorded: it may have been executed",
			"if that run is still going, wait for it; otherwise " + resolve,
		},
		{by(Claimed, nil), "sent by an unnamed run at", resolve},
		{by(Claimed, &Claim{}), "sent by an unnamed run at", resolve},
		{by(Claimed, &Claim{Host: "laptop"}), "sent by a run on laptop at", resolve},
		{by(Claimed, &Claim{Host: "laptop", Actor: "mina"}), "sent by mina on laptop at", resolve},
		{by(Claimed, &Claim{RunID: "7", RunURL: "https://ci.example/7"}), "sent by run https://ci.example/7 at", resolve},
		{
			outcome(Unknown, &Outcome{How: OutcomeUnknown, HTTP: 502, Message: QuoteMessage("bad gateway")}),
			"its outcome is unknown (HTTP 502: bad gateway): it may have been executed", resolve,
		},
		{outcome(Unknown, &Outcome{How: OutcomeUnknown}), "its outcome is unknown: it may", resolve},
		{
			outcome(Unknown, &Outcome{How: NotOurs, Message: QuoteMessage("the name exists already")}),
			"Purge/a was sent by run run-1 at 2026-11-21T09:00:00Z, but the name exists already",
			"run trueup ledger adopt Purge/a. Otherwise give the manifest another name, and run trueup ledger resolve Purge/a --abandon",
		},
		{left, "Purge/a was sent by run run-1 at 2026-11-21T09:00:00Z and its outcome is unknown (no answer)", resolve},
		{accepted, "Purge/a was accepted at 2026-11-21T09:00:00Z", ""},
		{outcome(Posted, &Outcome{How: Operator, By: "mina", Reason: "seen"}), "Purge/a was accepted, according to mina: seen", ""},
		{outcome(Rejected, &Outcome{How: RejectedByPlatform, HTTP: 422}), "was rejected at 2026-11-21T09:00:00Z (HTTP 422); nothing was executed", ""},
		{outcome(Adopted, &Outcome{How: AdoptedByOperator}), "recorded as done", ""},
		{outcome(Abandoned, &Outcome{How: Operator, By: "mina", Reason: "old"}), "was abandoned, according to mina: old; trueup never sends it", "another name"},
		{outcome("", &Outcome{How: Released, Message: QuoteMessage("no route")}), "Purge/a was not sent (no route)", ""},
		{outcome("", &Outcome{How: Operator, By: "mina"}), "trueup will send Purge/a again, according to mina", ""},
		{plain(Record{}), "Purge/shop was not sent", ""},
		{plain(Record{Applied: CanonicalJSON(`{}`)}), "Purge/shop was applied", ""},
		{plain(Record{Applied: CanonicalJSON(`{}`), NotConverged: true}), "did not keep or remove all", ""},
		{plain(Record{Applied: CanonicalJSON(`{}`), Pending: []CanonicalJSON{CanonicalJSON(`{}`)}}), "no outcome was recorded; the next apply", ""},
	} {
		message, fix := ExplainRecord(c.rec)
		if !strings.Contains(message, c.message) || !strings.Contains(fix, c.fix) || c.fix == "" && fix != "" {
			t.Errorf("%s: %q, %q\nwant %q, %q", c.rec.State, message, fix, c.message, c.fix)
		}
	}
}

func TestCommandsAreSafeToPaste(t *testing.T) {
	rec := inState(Unknown)
	rec.Name = "x'; rm -rf ~"
	if _, fix := ExplainRecord(rec); !strings.Contains(fix, `resolve 'Purge/x'\''; rm -rf ~' --reason`) {
		t.Error(fix)
	}
}
