package apply_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

const (
	rel     = "Purge/rel"
	relSpec = `{hostname: shop.example.com, paths: [/a]}`
	db      = "VolumeSnapshot/db"
)

// due is a stage with a purge to send and a CDN that is in sync.
func due(t *testing.T) *stage {
	return begin(t, cdn("shop", plain), purge("rel", relSpec)).has(shop, plain).applied(shop, plain)
}

func TestAPurgeIsSentOnce(t *testing.T) {
	s := due(t)
	if o := s.ends(s.run(), rel, apply.Done, apply.OK, "posted"); !o.Sent {
		t.Error("it does not say that it was sent")
	}
	s.wrote("claim Purge/rel, POST Purge/rel, posted Purge/rel")
	s.ends(s.run(), rel, apply.Done, apply.OK)
	s.wrote("")
	if r := s.records[key(rel)]; r.State != ledger.Posted || r.UID != "uid-rel" || len(s.sent) != 1 {
		t.Errorf("record %+v", r)
	}
}

// TestOutcomesOfAPurge is docs/design.md A3 without its second sends.
func TestOutcomesOfAPurge(t *testing.T) {
	for name, tt := range map[string]struct {
		err     error
		did     bool
		verdict apply.Verdict
		state   ledger.RequestState
		sent    bool
		words   string
		next    string
	}{
		"refused": {
			refused(), false, apply.Partial, ledger.Rejected, true, "422",
			"claim Purge/rel, POST Purge/rel, posted Purge/rel",
		},
		"denied":  {denied(), false, apply.Auth, ledger.Rejected, true, "403", "claim Purge/rel, POST Purge/rel, posted Purge/rel"},
		"unsent":  {broken(), false, apply.Partial, "", false, "run apply again", "claim Purge/rel, POST Purge/rel, posted Purge/rel"},
		"taken":   {isNameTaken(), false, apply.NeedsPerson, ledger.Unknown, true, "another name", ""},
		"unclear": {unclear(), true, apply.NeedsPerson, ledger.Unknown, true, "ledger resolve Purge/rel", ""},
		"no word": {context.DeadlineExceeded, false, apply.NeedsPerson, ledger.Unknown, true, "may have been executed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := due(t).on("POST Purge/rel", 1, tt.err, tt.did)
			o := s.ends(s.run(), rel, apply.Failed, tt.verdict, tt.words)
			if r := s.records[key(rel)]; r.State != tt.state || o.Sent != tt.sent {
				t.Errorf("%q, sent %v", r.State, o.Sent)
			}
			s.took()
			s.hook = nil
			res := s.run()
			s.wrote(tt.next)
			if tt.next == "" {
				s.ends(res, rel, apply.Blocked, apply.NeedsPerson)
			}
		})
	}
}

// TestALedgerThatFailsAPurge: no POST without a claim that is durable, and what
// can't be recorded is a person's.
func TestALedgerThatFailsAPurge(t *testing.T) {
	for _, did := range []bool{false, true} {
		s := due(t).on("claim Purge/rel", 1, unclear(), did)
		if o := s.ends(s.run(), rel, apply.Failed, apply.Partial, "nothing was sent"); o.Sent {
			t.Error("it says that it was sent")
		}
		s.wrote("claim Purge/rel")
	}
	s := due(t).on("posted Purge/rel", 1, unclear(), false)
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "accepted", "--posted")
	for call, err := range map[string]error{"rejected": refused(), "release": broken(), "unknown": unclear()} {
		s := due(t).on("POST Purge/rel", 1, err, false).on(call+" Purge/rel", 1, unclear(), false)
		s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "ledger could not record it:", "ledger resolve")
		s.wrote("claim Purge/rel, POST Purge/rel, " + call + " Purge/rel")
		// To another run it is in flight, until the lease is over.
		s.ends(s.run(), rel, apply.InFlight, apply.Partial, "claimed by", "or after 2026-11-21T09:10:00Z if it died")
		s.wrote("")
		s.now = s.now.Add(ledger.Lease)
		s.ends(s.run(), rel, apply.Blocked, apply.NeedsPerson)
		s.wrote("give up Purge/rel")
	}
}

// TestAClaimLastsAsLongAsItsLease: a machine that slept between the claim and the
// send knows nothing of what others did with the request meanwhile.
func TestAClaimLastsAsLongAsItsLease(t *testing.T) {
	sleep := func(s *stage, turn int, d time.Duration) *stage {
		return s.at("turn", turn, func() { s.now = s.now.Add(d) })
	}
	for _, proven := range []bool{false, true} {
		s := sleep(due(t), 1, ledger.Lease)
		s.proven = proven
		s.ends(s.run(), rel, apply.Failed, apply.Partial, "paused for too long", "run apply again")
		s.wrote("claim Purge/rel, release Purge/rel")
		s.hook = nil
		s.ends(s.run(), rel, apply.Done, apply.OK)
		s.wrote("claim Purge/rel, POST Purge/rel, posted Purge/rel")
	}
	s := sleep(due(t), 1, ledger.Lease-time.Second)
	s.ends(s.run(), rel, apply.Done, apply.OK)

	s = sleep(due(t).on("POST Purge/rel", 1, unclear(), true), 2, ledger.Lease)
	s.proven = true
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "may have been executed", "sends it again")
	s.wrote("claim Purge/rel, POST Purge/rel, leave Purge/rel")
}

func TestWhatIsSentOnceNeedsALedger(t *testing.T) {
	s := due(t)
	planner, p := s.ready()
	res := apply.Run(t.Context(), p, apply.Deps{
		Writer: s, Report: func(apply.Event) {}, Rules: planner.RulesOf, Spec: func(k kind.Key) []byte { return s.set.Find(k).Spec },
	})
	s.ends(res, rel, apply.Failed, apply.NeedsPerson, "need the ledger")
	s.wrote("")
}

func TestAPurgeWaitsForItsCDN(t *testing.T) {
	of := func() *stage {
		return begin(t, cdn("shop", forced), purge("rel", relSpec)).has(shop, loose).applied(shop, loose)
	}
	normalised := func(map[string]any) map[string]any {
		return map[string]any{"hostname": "shop.example.com", "tls": map[string]any{"forced": "maybe"}}
	}
	s := of()
	s.ends(s.run(), rel, apply.Done, apply.OK)
	s.wrote("pending CDN/shop, GET CDN/shop, PATCH CDN/shop, GET CDN/shop, applied CDN/shop, claim Purge/rel, POST Purge/rel, posted Purge/rel")

	s = of().on("PATCH CDN/shop", 1, refused(), false)
	s.ends(s.run(), rel, apply.Skipped, apply.Partial, "failed")
	if strings.Contains(s.took(), rel) {
		t.Error("it was begun")
	}

	s = of()
	s.keeps = normalised
	s.ends(s.run(), rel, apply.Skipped, apply.Partial, "--accept normalised")
	s = of()
	s.keeps, s.options.AcceptNormalised = normalised, true
	s.ends(s.run(), rel, apply.Done, apply.OK)

	// What is not there at all is nothing that a person can accept.
	s = of()
	s.options.AcceptNormalised = true
	s.at("GET CDN/shop", 2, func() { delete(s.objects, key(shop)) })
	res := s.run()
	s.ends(res, shop, apply.Failed, apply.NotConverged)
	s.ends(res, rel, apply.Skipped, apply.Partial, "failed")

	s = of()
	planner, p := s.ready()
	for i := range p.Items {
		p.Items[i].After = []kind.Key{key("CDN/elsewhere")}
	}
	res = apply.Run(t.Context(), p, apply.Deps{Writer: s, Journal: s, Clock: s.clock, Report: func(apply.Event) {}, Rules: planner.RulesOf})
	s.ends(res, rel, apply.Skipped, apply.Partial, "not part of this run")
}

func TestASnapshotIsMadeOnce(t *testing.T) {
	s := begin(t, snapshot("db"))
	if o := s.ends(s.run(), db, apply.Done, apply.OK, "created ready"); !o.Sent {
		t.Error("it does not say that it was sent")
	}
	s.wrote("GET VolumeSnapshot/db, claim VolumeSnapshot/db, POST VolumeSnapshot/db, posted VolumeSnapshot/db, GET VolumeSnapshot/db")
	s.ends(s.run(), db, apply.Done, apply.OK)
	s.wrote("")
	delete(s.objects, key(db))
	s.ends(s.run(), db, apply.Blocked, apply.NeedsPerson, "no longer exists")
	s.wrote("")
	s.plan.AllowRecreate = map[kind.Key]bool{key(db): true}
	s.ends(s.run(), db, apply.Done, apply.OK)
	s.wrote("GET VolumeSnapshot/db, claim again VolumeSnapshot/db, POST VolumeSnapshot/db, posted VolumeSnapshot/db, GET VolumeSnapshot/db")
}

func TestOutcomesOfASnapshot(t *testing.T) {
	s := begin(t, snapshot("db")).on("POST "+db, 1, unclear(), true)
	s.ends(s.run(), db, apply.Done, apply.OK)
	s.wrote("GET VolumeSnapshot/db, claim VolumeSnapshot/db, POST VolumeSnapshot/db, GET VolumeSnapshot/db, posted VolumeSnapshot/db, GET VolumeSnapshot/db")

	s = begin(t, snapshot("db")).on("POST "+db, 1, unclear(), true)
	s.keeps = func(map[string]any) map[string]any { return s.tree(disk("other")) }
	s.ends(s.run(), db, apply.Failed, apply.NeedsPerson, "may have been executed")

	for name, tt := range map[string]struct {
		err     error
		verdict apply.Verdict
		state   ledger.RequestState
	}{
		"unclear": {unclear(), apply.NeedsPerson, ledger.Unknown},
		"taken":   {isNameTaken(), apply.NeedsPerson, ledger.Unknown},
		"refused": {refused(), apply.Partial, ledger.Rejected},
		"unsent":  {broken(), apply.Partial, ""},
	} {
		s := begin(t, snapshot("db")).on("POST "+db, 1, tt.err, false)
		s.ends(s.run(), db, apply.Failed, tt.verdict)
		if got := s.records[key(db)].State; got != tt.state || strings.Count(s.took(), "POST") != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}

	s = begin(t, snapshot("db")).on("claim "+db, 1, unclear(), true)
	s.ends(s.run(), db, apply.Failed, apply.Partial, "nothing was sent")
	s = begin(t, snapshot("db")).on("posted "+db, 1, unclear(), false)
	s.ends(s.run(), db, apply.Failed, apply.NeedsPerson, "--posted")
	s = begin(t, snapshot("db"))
	s.ends(s.apply(t.Context(), func() { s.has(db, disk("data")) }), db, apply.Skipped, apply.Stale, "appeared")
	s.wrote("GET VolumeSnapshot/db")
}

func TestASnapshotThatCantBeReadBack(t *testing.T) {
	s := begin(t, snapshot("db"))
	for n := 2; n <= 5; n++ {
		s.on("GET "+db, n, missing(), false)
	}
	s.ends(s.run(), db, apply.Failed, apply.NotConverged, "does not have it")
	if s.records[key(db)].State != ledger.Posted {
		t.Error("the server said yes")
	}
	s = begin(t, snapshot("db"))
	s.keeps = func(map[string]any) map[string]any { return s.tree(disk("other")) }
	if o := s.ends(s.run(), db, apply.Failed, apply.NotConverged); len(o.Mismatches) != 1 {
		t.Errorf("mismatches %+v", o.Mismatches)
	}
}

// TestTheServerNamesASnapshot: it is looked up by the name that it was given
// (docs/platform.md 1).
func TestTheServerNamesASnapshot(t *testing.T) {
	s := begin(t, snapshot("db"))
	s.calls = func(name string) string { return "content-" + name }
	s.ends(s.run(), db, apply.Done, apply.OK, "ready")
	s.wrote("GET VolumeSnapshot/db, claim VolumeSnapshot/db, POST VolumeSnapshot/db, posted VolumeSnapshot/db, GET VolumeSnapshot/content-db")
	if got := s.records[key(db)].RemoteName; got != "content-db" {
		t.Errorf("remote name %q", got)
	}
}

func TestReady(t *testing.T) {
	const no, yes, bad = `{"readyToUse":false}`, `{"readyToUse":true}`, `{"readyToUse":false,"error":{"message":"no disk"}}`
	// The 1st GET shows that the name is free, the 2nd reads back.
	after := func(n int, last string) func(int) string {
		return func(i int) string {
			if i < n {
				return no
			}
			return last
		}
	}
	for name, tt := range map[string]struct {
		status  func(int) string
		limit   time.Duration
		verdict apply.Verdict
		words   string
		slept   time.Duration
	}{
		"at once":           {after(0, yes), time.Minute, apply.OK, "ready", 0},
		"nobody waits":      {after(9, yes), 0, apply.OK, "not ready yet", 0},
		"in time":           {after(5, yes), time.Minute, apply.OK, "created ready", 6 * time.Second},
		"too late":          {after(99, yes), 10 * time.Second, apply.Partial, "not ready within 10s", 10 * time.Second},
		"failed":            {after(3, bad), time.Minute, apply.Partial, "no disk", 2 * time.Second},
		"failed, no waiter": {after(0, bad), 0, apply.Partial, "no disk", 0},
	} {
		s := begin(t, snapshot("db"))
		s.status, s.options.Wait = tt.status, tt.limit
		want := apply.Done
		if tt.verdict != apply.OK {
			want = apply.Failed
		}
		s.ends(s.run(), db, want, tt.verdict, tt.words)
		if s.slept != tt.slept || s.records[key(db)].State != ledger.Posted {
			t.Errorf("%s: slept %s", name, s.slept)
		}
	}
	// A read that fails meanwhile is no answer.
	s := begin(t, snapshot("db")).on("GET "+db, 3, &said{"503", api.Error{Class: api.Unavailable}}, false)
	s.status, s.options.Wait = after(4, yes), time.Minute
	s.ends(s.run(), db, apply.Done, apply.OK)
}

func TestBlockedAndKept(t *testing.T) {
	s := begin(t, cdn("shop", forced)).has(shop, loose)
	s.change(shop, func(o *kind.LiveObject) { o.Terminating = true })
	s.ends(s.run(), shop, apply.Blocked, apply.Partial, "being deleted", "run trueup again")
	s = begin(t, cdn("shop", group)).has(shop, strings.Replace(group, "[{name: o", "[{name: x}, {name: o", 1))
	s.ends(s.run(), shop, apply.Blocked, apply.NeedsPerson, "--accept take-over=")
	s.wrote("")
	s = due(t)
	s.records[key(rel)] = ledger.Record{Key: key(rel), State: ledger.Abandoned}
	s.ends(s.run(), rel, apply.Done, apply.OK)
	s.wrote("")
	if _, p := s.ready(); p.Items[1].Op != plan.Kept {
		t.Errorf("%s is %s", p.Items[1].Key, p.Items[1].Op)
	}
}

// TestWaitForWhatAnEarlierRunMade: what is live in sync is waited for too.
func TestWaitForWhatAnEarlierRunMade(t *testing.T) {
	s := begin(t, snapshot("db"))
	s.status = func(int) string { return `{"readyToUse":false}` }
	s.ends(s.run(), db, apply.Done, apply.OK, "not ready yet")
	s.ends(s.run(), db, apply.Done, apply.OK)
	s.options.Wait = 5 * time.Second
	s.ends(s.run(), db, apply.Failed, apply.Partial, "not ready within 5s")
	s.status = func(int) string { return `{"readyToUse":false,"error":{"message":"disk is busy"}}` }
	s.ends(s.run(), db, apply.Failed, apply.Partial, "disk is busy")
	s.status = func(int) string { return `{"readyToUse":true}` }
	s.ends(s.run(), db, apply.Done, apply.OK, "ready")
	s.on("GET "+db, 0, denied(), false)
	s.ends(s.run(), db, apply.Failed, apply.Auth, "403")
}

// TestALimitDefersItsHostname and nothing else: no purge is lost, and nobody is asked.
func TestALimitDefersItsHostname(t *testing.T) {
	other := `{hostname: other.example.com, paths: [/a]}`
	s := begin(t, cdn("shop", plain), cdn("other", `{hostname: other.example.com}`),
		purge("a", relSpec), purge("b", relSpec), purge("c", other)).
		has(shop, plain).applied(shop, plain).has("CDN/other", `{hostname: other.example.com}`).applied("CDN/other", `{hostname: other.example.com}`).
		on("POST Purge/a", 1, full(), false)
	res := s.run()
	s.ends(res, "Purge/a", apply.Deferred, apply.Partial, "accepts no more purges of", "403 exceeded quota")
	s.ends(res, "Purge/b", apply.Deferred, apply.Partial, "accepts no more purges of")
	s.ends(res, "Purge/c", apply.Done, apply.OK)
	if got := s.named("POST"); len(got) != 2 {
		t.Errorf("sent %v", got)
	}
	res = s.run()
	s.ends(res, "Purge/a", apply.Done, apply.OK)
	s.ends(res, "Purge/b", apply.Done, apply.OK)
}
