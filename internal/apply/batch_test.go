package apply_test

import (
	"cmp"
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
	k, _ := kind.FindKind("Purge")
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

// theirs makes another run claim the request right before we do, and end it as the
// function says.
func theirs(s *stage, name string, end func(r *ledger.Record)) *stage {
	at := s.now
	return s.at("claim "+name, 1, func() {
		r := ledger.Record{
			Key: key(name), State: ledger.Claimed, FirstClaimAt: &at, ClaimedAt: &at,
			Claim: &ledger.Claim{RunURL: "https://ci.example.com/runs/7"},
		}
		end(&r)
		s.records[key(name)] = r
	})
}

// TestWhatAnotherRunHasClaimed is never sent, whatever became of it: the next apply
// sees that. Who has it is said.
func TestWhatAnotherRunHasClaimed(t *testing.T) {
	for name, tt := range map[string]struct {
		end   func(*ledger.Record)
		words []string
		next  string
	}{
		"claimed": {
			func(*ledger.Record) {},
			[]string{"claimed by run https://ci.example.com/runs/7", "run apply again", "2026-11-21T09:10:00Z"},
			"",
		},
		"posted":       {func(r *ledger.Record) { r.State = ledger.Posted }, []string{"another run has claimed it meanwhile: Purge/rel was accepted", "run apply again"}, ""},
		"adopted":      {func(r *ledger.Record) { r.State = ledger.Adopted }, []string{"another run has claimed it", "run apply again"}, ""},
		"abandoned":    {func(r *ledger.Record) { r.State = ledger.Abandoned }, []string{"another run has claimed it", "run apply again"}, ""},
		"made unknown": {func(r *ledger.Record) { r.State = ledger.Unknown }, []string{"another run has claimed it meanwhile", "its outcome is unknown"}, ""},
		"left open":    {func(r *ledger.Record) { r.Left = true }, []string{"another run has claimed it meanwhile", "may have been executed", "run apply again"}, "give up Purge/rel"},
	} {
		t.Run(name, func(t *testing.T) {
			s := theirs(due(t), rel, tt.end)
			s.ends(s.run(), rel, apply.InFlight, apply.Partial, tt.words...)
			s.wrote("claim Purge/rel")
			s.run()
			s.wrote(tt.next)
		})
	}
	s := theirs(begin(t, snapshot("db")), db, func(*ledger.Record) {})
	s.ends(s.run(), db, apply.InFlight, apply.Partial, "runs/7")
	s.wrote("GET VolumeSnapshot/db, claim VolumeSnapshot/db")
}

// TestAnotherRunPostsIt: what another run posts while this one ends is done, if it is what git has.
func TestAnotherRunPostsIt(t *testing.T) {
	for name, tt := range map[string]struct {
		spec    string
		status  apply.Status
		verdict apply.Verdict
	}{
		"as git has it": {"", apply.Done, apply.OK},
		"otherwise":     {`{"hostname":"shop.example.com"}`, apply.InFlight, apply.Partial},
	} {
		t.Run(name, func(t *testing.T) {
			s := theirs(due(t), rel, func(*ledger.Record) {})
			s.sleep = func(context.Context, time.Duration) error {
				spec := cmp.Or(tt.spec, string(s.set.Find(key(rel)).Spec))
				digest := plan.SpecDigest(kindOf(rel), []byte(spec))
				r := s.records[key(rel)]
				r.State, r.SpecDigest, r.AcceptedAt = ledger.Posted, &digest, r.ClaimedAt
				s.records[key(rel)] = r
				return nil
			}
			s.ends(s.run(), rel, tt.status, tt.verdict)
			s.wrote("claim Purge/rel")
		})
	}
}

// TestTheOtherRunIsUnknown: a ledger that can't be read again changes nothing but the words.
func TestTheOtherRunIsUnknown(t *testing.T) {
	s := theirs(due(t), rel, func(*ledger.Record) {})
	s.looked = func(kind.Key) error { return refused() }
	s.ends(s.run(), rel, apply.InFlight, apply.Partial, "another run has claimed it, and the ledger could not be read again: 422", "run apply again")
	s.wrote("claim Purge/rel")
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

func (s *slowRelease) RecordOutcome(ctx context.Context, k kind.Key, o ledger.Outcome) error {
	if o.How != ledger.Released {
		return s.stage.RecordOutcome(ctx, k, o)
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
	return s.stage.RecordOutcome(ctx, k, o)
}
