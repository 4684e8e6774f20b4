package apply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// abreast is how many requests are worked on at once here.
const abreast = 3

// many is a stage with that many purges to send, and a batch size.
func many(t *testing.T, n, batch int) *stage {
	documents := []string{cdn("shop", plain)}
	for i := range n {
		documents = append(documents, purge(fmt.Sprintf("rel-%02d", i), relSpec))
	}
	s := begin(t, documents...).has(shop, plain).applied(shop, plain)
	s.options.Batch, s.options.Parallelism = batch, abreast
	return s
}

// named are the objects of the calls of that name, in their order.
func (s *stage) named(call string) []string {
	var keys []string
	for _, line := range s.log {
		if k, ok := strings.CutPrefix(line, call+" "); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// TestABatchIsClaimedTogether and sent together, batch after batch in the order of the
// plan: a run that dies leaves no more claims without an outcome than requests may be
// in flight.
func TestABatchIsClaimedTogether(t *testing.T) {
	for _, batch := range []int{0, 1, 20} {
		s := many(t, 45, batch)
		res := s.run()
		for _, o := range res.Outcomes {
			if o.Verdict != apply.OK {
				t.Errorf("%s: %s", o.Key, o.Message)
			}
		}
		posts := s.named("POST")
		together := max(1, min(batch, abreast))
		for some := range slices.Chunk(posts, together) {
			slices.Sort(some)
		}
		if len(posts) != 45 || !slices.IsSorted(posts) || len(s.named("posted")) != 45 {
			t.Errorf("batch %d: sent %v", batch, posts)
		}
		claimed, sent := 0, 0
		for _, line := range s.log {
			switch {
			case strings.HasPrefix(line, "claim "):
				claimed++
			case strings.HasPrefix(line, "POST "):
				sent++
			}
			if claimed-sent > together {
				t.Fatalf("batch %d: %d claimed before they are sent", batch, claimed-sent)
			}
			if sent > 0 && sent%together != 0 && claimed%together != 0 && claimed < 45 {
				t.Fatalf("batch %d: a claim between the sends: %s", batch, line)
			}
		}
	}
}

func TestOneFailureOfABatchStopsNothing(t *testing.T) {
	s := many(t, 5, 20).on("POST Purge/rel-01", 1, refused(), false).on("claim Purge/rel-02", 1, refused(), false).
		on("POST Purge/rel-03", 1, unclear(), true)
	res := s.run()
	s.ends(res, "Purge/rel-00", apply.Done, apply.OK)
	s.ends(res, "Purge/rel-01", apply.Failed, apply.Partial, "422")
	s.ends(res, "Purge/rel-02", apply.Failed, apply.Partial, "nothing was sent")
	s.ends(res, "Purge/rel-03", apply.Failed, apply.NeedsPerson, "may have been executed")
	s.ends(res, "Purge/rel-04", apply.Done, apply.OK)
	if got := len(s.named("POST")); got != 4 {
		t.Errorf("%d sends", got)
	}
}

// TestAnInterruptedBatchGivesBack what it has not sent; what an earlier run may
// have sent is left for the next one instead.
func TestAnInterruptedBatchGivesBack(t *testing.T) {
	s := many(t, 4, 20)
	s.proven = true
	hour := s.now.Add(-time.Hour)
	k, _ := kind.Named("Purge")
	spec := s.set.Find(key("Purge/rel-03")).Spec
	digest := plan.SpecDigest(k, spec)
	s.records[key("Purge/rel-03")] = ledger.Record{
		Key: key("Purge/rel-03"), State: ledger.Claimed, Spec: spec, SpecDigest: &digest, FirstClaimAt: &hour, ClaimedAt: &hour,
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.options.Parallelism = 2
	claims := 0
	second := func() { // the two claims come in any order
		if claims++; claims == 2 {
			cancel()
		}
	}
	res := s.at("claim Purge/rel-02", 1, second).at("take over Purge/rel-03", 1, second).apply(ctx, nil)
	s.ends(res, "Purge/rel-00", apply.Done, apply.OK)
	s.ends(res, "Purge/rel-01", apply.Done, apply.OK)
	s.ends(res, "Purge/rel-02", apply.Skipped, apply.Interrupted)
	s.ends(res, "Purge/rel-03", apply.Skipped, apply.Interrupted)
	if got := s.named("POST"); len(got) != 2 {
		t.Errorf("sent %v", got)
	}
	if a, b := s.records[key("Purge/rel-02")], s.records[key("Purge/rel-03")]; a.State != "" || b.State != ledger.Claimed || !b.Left {
		t.Errorf("records %q, %q (left %v)", a.State, b.State, b.Left)
	}
	s.hook = nil
	s.took()
	s.run()
	got := s.named("POST")
	if slices.Sort(got); !slices.Equal(got, []string{"Purge/rel-02", "Purge/rel-03"}) {
		t.Errorf("sent %v", got)
	}
}

func TestARefusedTokenStopsABatch(t *testing.T) {
	s := many(t, 25, 20).on("POST Purge/rel-01", 1, denied(), false)
	res := s.run()
	s.ends(res, "Purge/rel-01", apply.Failed, apply.Auth)
	s.ends(res, "Purge/rel-03", apply.Skipped, apply.Partial, "stopped after an authentication failure")
	s.ends(res, "Purge/rel-24", apply.Skipped, apply.Partial, "stopped after an authentication failure")
	if len(s.named("POST")) > abreast || len(s.named("claim")) != abreast {
		t.Errorf("calls %v", s.took())
	}
	s = many(t, 3, 20).on("POST Purge/rel-00", 1, &said{"404 no such workspace", api.Error{Class: api.Rejected, Status: 404}}, false)
	s.options.Parallelism = 1
	s.ends(s.run(), "Purge/rel-02", apply.Skipped, apply.Partial, "does not know this workspace")
}

// theirs makes another run claim the purge right before we do, and end it as the
// function says when we look at its record for the n-th time.
func theirs(t *testing.T, end func(look int, r *ledger.Record)) *stage {
	s := due(t)
	s.options.WaitOthers = time.Minute
	at := s.now
	s.at("claim Purge/rel", 1, func() {
		s.records[key(rel)] = ledger.Record{
			Key: key(rel), State: ledger.Claimed, FirstClaimAt: &at, ClaimedAt: &at,
			Claim: &ledger.Claim{RunURL: "https://ci.example.com/runs/7"},
		}
	})
	looks := 0
	s.looked = func(k kind.Key) error {
		looks++
		r := s.records[k]
		end(looks, &r)
		s.records[k] = r
		return nil
	}
	return s
}

// TestWhatAnotherRunHasClaimed is waited for, as long as the user wants, and
// never sent while it may be under way.
func TestWhatAnotherRunHasClaimed(t *testing.T) {
	after := func(n int, state ledger.State, more ...func(*ledger.Record)) func(int, *ledger.Record) {
		return func(look int, r *ledger.Record) {
			if look >= n && r.State == ledger.Claimed {
				r.State = state
				for _, m := range more {
					m(r)
				}
			}
		}
	}
	for name, tt := range map[string]struct {
		end     func(int, *ledger.Record)
		status  apply.Status
		verdict apply.Verdict
		words   []string
		slept   time.Duration
		calls   string
	}{
		"posted at once":    {after(1, ledger.Posted), apply.Done, apply.OK, []string{"was accepted"}, 0, "claim Purge/rel"},
		"posted meanwhile":  {after(4, ledger.Posted), apply.Done, apply.OK, []string{"was accepted"}, 14 * time.Second, "claim Purge/rel"},
		"adopted meanwhile": {after(2, ledger.Adopted), apply.Done, apply.OK, nil, 2 * time.Second, "claim Purge/rel"},
		"given up":          {after(2, ledger.Abandoned), apply.Done, apply.OK, nil, 2 * time.Second, "claim Purge/rel"},
		"made unknown": {
			after(3, ledger.Unknown), apply.Blocked, apply.NeedsPerson, []string{"its outcome is unknown", "ledger resolve"}, 6 * time.Second, "claim Purge/rel",
		},
		"given back": {
			after(2, ""), apply.Done, apply.OK,
			[]string{"executes it later"},
			2 * time.Second,
			"claim Purge/rel, claim Purge/rel, POST Purge/rel, posted Purge/rel",
		},
		"refused to them": {
			after(1, ledger.Rejected), apply.Done, apply.OK, nil, 0, "claim Purge/rel, claim Purge/rel, POST Purge/rel, posted Purge/rel",
		},
		"left open": {
			after(2, ledger.Claimed, func(r *ledger.Record) { r.Left = true }), apply.Skipped, apply.Partial,
			[]string{"may have been executed", "run apply again"},
			2 * time.Second, "claim Purge/rel",
		},
		"claimed all the time": {
			after(99, ""), apply.InFlight, apply.Partial,
			[]string{"in flight elsewhere: claimed by run https://ci.example.com/runs/7", "run apply again", "2026-11-21T09:10:00Z"},
			time.Minute, "claim Purge/rel",
		},
	} {
		s := theirs(t, tt.end)
		t.Log(name)
		s.ends(s.run(), rel, tt.status, tt.verdict, tt.words...)
		s.wrote(tt.calls)
		if s.slept != tt.slept {
			t.Errorf("slept %s, want %s", s.slept, tt.slept)
		}
	}
}

// TestANameThatAnotherRunTakesForAnotherSpec: what they send is not what git asks
// for here, and nobody may think that it was done.
func TestANameThatAnotherRunTakesForAnotherSpec(t *testing.T) {
	for _, state := range []ledger.State{ledger.Posted, ledger.Claimed, ledger.Unknown} {
		s := theirs(t, func(_ int, r *ledger.Record) {
			digest := canon.Digest([]byte("another"))
			r.State, r.SpecDigest = state, &digest
		})
		s.ends(s.run(), rel, apply.Blocked, apply.NeedsPerson, "another spec", "this one was not sent", "another name")
		s.wrote("claim Purge/rel")
	}
	s := theirs(t, func(_ int, r *ledger.Record) {
		digest := canon.Digest([]byte("another"))
		r.State, r.SpecDigest = ledger.Rejected, &digest
	})
	s.ends(s.run(), rel, apply.Done, apply.OK)
	s.wrote("claim Purge/rel, claim Purge/rel, POST Purge/rel, posted Purge/rel")
}

// TestWhatIsInterruptedIsGivenBackTogether: a CI service kills what does not end
// in seconds, and a store may be slow.
func TestWhatIsInterruptedIsGivenBackTogether(t *testing.T) {
	const n = 20
	ctx, cancel := context.WithCancel(t.Context())
	s := many(t, n, n).at(fmt.Sprintf("claim Purge/rel-%02d", n-1), 1, cancel)
	slow := &slowRelease{stage: s, left: n, all: make(chan struct{})}
	s.journal, s.options.Parallelism = slow, n
	res := s.apply(ctx, nil)
	for i := range n {
		s.ends(res, fmt.Sprintf("Purge/rel-%02d", i), apply.Skipped, apply.Interrupted)
	}
}

// slowRelease is a store that takes all that is given back at once.
type slowRelease struct {
	*stage
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func (s *slowRelease) End(ctx context.Context, k kind.Key, o ledger.Outcome) error {
	if o.How != ledger.Released {
		return s.stage.End(ctx, k, o)
	}
	s.mu.Lock()
	if s.left--; s.left == 0 {
		close(s.all)
	}
	s.mu.Unlock()
	select {
	case <-s.all:
	case <-time.After(10 * time.Second):
		return errors.New("one after the other")
	}
	return s.stage.End(ctx, k, o)
}

func TestWaitingForOthers(t *testing.T) {
	never := func(int, *ledger.Record) {}
	s := theirs(t, never)
	s.options.WaitOthers = 0
	s.ends(s.run(), rel, apply.InFlight, apply.Partial, "runs/7")
	if s.slept != 0 {
		t.Errorf("slept %s, and nobody wants to wait", s.slept)
	}

	s = theirs(t, never)
	s.options.WaitOthers = 4 * time.Second
	s.looked = func(kind.Key) error { return refused() }
	s.ends(s.run(), rel, apply.InFlight, apply.Partial, "in flight elsewhere", "could not be read again: 422")

	s = theirs(t, never)
	ctx, cancel := context.WithCancel(t.Context())
	s.looked = func(kind.Key) error { cancel(); return nil }
	s.ends(s.apply(ctx, nil), rel, apply.InFlight, apply.Partial, "runs/7")
	if s.slept > 2*time.Second {
		t.Errorf("slept %s after the interruption", s.slept)
	}
	said := slices.IndexFunc(s.events, func(e apply.Event) bool {
		return e.Phase == "wait" && strings.Contains(e.Message, "1 in flight elsewhere")
	})
	if said < 0 {
		t.Errorf("nobody was told of the waiting: %+v", s.events)
	}

	// What the plan knew to be in flight is not sent by this run.
	s = theirs(t, func(_ int, r *ledger.Record) { r.State = "" })
	s.hook(`claim Purge/rel`, 1)
	s.ends(s.run(), rel, apply.Skipped, apply.Partial, "run apply again")
	s.wrote("")
}

// TestASnapshotThatAnotherRunClaims is made by us when it is given back.
func TestASnapshotThatAnotherRunClaims(t *testing.T) {
	s := begin(t, snapshot("db"))
	s.options.WaitOthers = time.Minute
	at := s.now
	s.at("claim "+db, 1, func() {
		s.records[key(db)] = ledger.Record{Key: key(db), State: ledger.Claimed, FirstClaimAt: &at, ClaimedAt: &at}
	})
	s.looked = func(k kind.Key) error { delete(s.records, k); return nil }
	s.ends(s.run(), db, apply.Done, apply.OK, "created ready")
}
