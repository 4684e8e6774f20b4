package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// row is a stage with CDNs to create, in that order, a snapshot and a purge.
func row(t *testing.T, n int) *stage {
	documents := []string{snapshot("db"), cdn("shop", plain), purge("rel", relSpec)}
	for i := range n {
		documents = append(documents, cdn(fmt.Sprintf("c%d", i), fmt.Sprintf(`{hostname: c%d.example.com}`, i)))
	}
	return begin(t, documents...).has(shop, plain).applied(shop, plain)
}

const inARow = "stopped: the platform failed 5 times in a row: 500"

// TestAPlatformThatFailsInARow is not bothered any further (docs/design.md C3).
func TestAPlatformThatFailsInARow(t *testing.T) {
	s := row(t, 7)
	for i := range 7 {
		s.on(fmt.Sprintf("POST CDN/c%d", i), 0, answered(500), false)
	}
	res := s.run()
	s.ends(res, "CDN/c4", apply.Failed, apply.Partial, "500")
	for _, name := range []string{"CDN/c5", "CDN/c6", db, rel} {
		s.ends(res, name, apply.Skipped, apply.Partial, inARow)
	}
	if log := s.took(); strings.Contains(log, "c5") || strings.Contains(log, "db") || strings.Contains(log, rel) {
		t.Errorf("calls %s", log)
	}

	// What it answers in between, a refusal too, begins the count anew.
	for _, answer := range []error{nil, refused(), isNameTaken()} {
		s = row(t, 9)
		for i := range 9 {
			if i != 4 {
				s.on(fmt.Sprintf("POST CDN/c%d", i), 0, answered(500), false)
			} else if answer != nil {
				s.on("POST CDN/c4", 1, answer, false)
			}
		}
		s.ends(s.run(), rel, apply.Done, apply.OK)
	}
	// So does what live shows to have been done.
	s = row(t, 9)
	for i := range 9 {
		s.on(fmt.Sprintf("POST CDN/c%d", i), 0, answered(500), true)
	}
	s.ends(s.run(), rel, apply.Done, apply.OK)
	// No answer at all is no better than a bad one.
	for _, err := range []error{unclear(), unsent()} {
		s = row(t, 7)
		for i := range 7 {
			s.on(fmt.Sprintf("POST CDN/c%d", i), 0, err, false)
		}
		s.ends(s.run(), rel, apply.Skipped, apply.Partial, "stopped: the platform failed 5 times in a row: connection re")
	}
	// Reads count as well.
	s = row(t, 6)
	for i := range 6 {
		s.on(fmt.Sprintf("GET CDN/c%d", i), 0, &said{"500 oh", api.Error{Class: api.Unavailable, Status: 500}}, false)
	}
	s.ends(s.run(), rel, apply.Skipped, apply.Partial, inARow)
}

func TestWhatIsSentOnceCountsToo(t *testing.T) {
	s := many(t, 25, 20)
	s.options.Parallelism = 2
	for i := range 6 {
		s.on(fmt.Sprintf("POST Purge/rel-%02d", i), 1, answered(500+3*(i%2)), i%2 == 0)
	}
	res := s.run()
	s.ends(res, "Purge/rel-03", apply.Failed, apply.NeedsPerson, "may have been executed")
	s.ends(res, "Purge/rel-06", apply.Skipped, apply.Partial, "stopped: the platform failed 5 times in a row: 50")
	s.ends(res, "Purge/rel-24", apply.Skipped, apply.Partial, "in a row")
	if len(s.named("POST")) > 6 || len(s.named("claim")) > 8 {
		t.Errorf("calls %s", s.took())
	}

	// A connection that breaks each time leaves as few questions.
	s = many(t, 25, 1)
	for i := range 25 {
		s.on(fmt.Sprintf("POST Purge/rel-%02d", i), 1, unclear(), true)
	}
	s.ends(s.run(), "Purge/rel-24", apply.Skipped, apply.Partial, "failed 5 times in a row: connection reset")
	if len(s.named("POST")) != 5 || len(s.named("unknown")) != 5 {
		t.Errorf("calls %s", s.took())
	}

	s = begin(t, snapshot("a"), snapshot("b"), snapshot("c"), snapshot("d"), snapshot("e"), snapshot("f"), cdn("shop", plain), purge("rel", relSpec)).
		has(shop, plain).applied(shop, plain)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.on("GET VolumeSnapshot/"+name, 1, &said{"502", api.Error{Class: api.Unavailable, Status: 502}}, false)
	}
	s.on("clock", 1, &said{"503", api.Error{Class: api.Unavailable, Status: 503}}, false)
	res = s.run()
	s.ends(res, "VolumeSnapshot/e", apply.Failed, apply.Partial, "the platform's time: 503")
	s.ends(res, "VolumeSnapshot/f", apply.Skipped, apply.Partial, "in a row")
	s.ends(res, rel, apply.Skipped, apply.Partial, "in a row")
}

// slow is a platform and a ledger that take their time, and note when they are
// not waited for; a time that is not named is none.
type slow struct {
	*stage
	turn, get, post, patch, pending, claim, posted time.Duration
}

func (s *slow) take(ctx context.Context, d time.Duration) error {
	if err := sleep(ctx, d); err != nil {
		return &said{"given up: " + context.Cause(ctx).Error(), api.Error{Class: api.Unknown}}
	}
	return nil
}

// sleep waits for as long as it takes.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (s *slow) WaitForRateLimit(ctx context.Context, k *kind.Kind) error {
	if err := sleep(ctx, s.turn); err != nil {
		return &said{"waiting for the rate limit", api.Error{Class: api.Unsent, Hopeless: true}}
	}
	return s.stage.WaitForRateLimit(ctx, k)
}

func (s *slow) Get(ctx context.Context, k *kind.Kind, name string) (kind.LiveObject, error) {
	if err := s.take(ctx, s.get); err != nil {
		return kind.LiveObject{}, err
	}
	return s.stage.Get(ctx, k, name)
}

func (s *slow) Create(ctx context.Context, k *kind.Kind, body []byte) (kind.LiveObject, error) {
	if err := s.take(ctx, s.post); err != nil {
		return kind.LiveObject{}, err
	}
	return s.stage.Create(ctx, k, body)
}

func (s *slow) Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.LiveObject, error) {
	if err := s.take(ctx, s.patch); err != nil {
		return kind.LiveObject{}, err
	}
	return s.stage.Patch(ctx, k, name, body)
}

func (s *slow) RecordPending(ctx context.Context, k kind.Key, spec []byte, before *ledger.LiveBefore) error {
	if err := sleep(ctx, s.pending); err != nil {
		return err
	}
	return s.stage.RecordPending(ctx, k, spec, before)
}

func (s *slow) Claim(ctx context.Context, k kind.Key, i ledger.Intent) (ledger.OwnClaim, error) {
	if err := sleep(ctx, s.claim); err != nil {
		return ledger.OwnClaim{}, err
	}
	return s.stage.Claim(ctx, k, i)
}

func (s *slow) RecordPosted(ctx context.Context, k kind.Key, m ledger.AcceptedAnswer) error {
	if err := sleep(ctx, s.posted); err != nil {
		return err
	}
	return s.stage.RecordPosted(ctx, k, m)
}

// stopping is a run of a slow world that is asked to end after a second.
type stopping struct {
	stage *stage
	world slow
	// hurry is when it is asked again, deadline that the run's own limit ends it.
	hurry    time.Duration
	deadline bool
	// took is how long the run lasts, ends how its object does.
	took    time.Duration
	ends    string
	status  apply.Status
	verdict apply.Verdict
	words   []string
	// state is that of its record, left that another run may go on with it.
	state ledger.RequestState
	left  bool
	// pending says that a spec is.
	pending bool
}

func (c stopping) run(t *testing.T) {
	s := c.stage
	c.world.stage = s
	s.t, s.writer, s.journal, s.sleep, s.hurry = t, &c.world, &c.world, sleep, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c.deadline {
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	} else {
		defer time.AfterFunc(time.Second, cancel).Stop()
	}
	if c.hurry > 0 {
		defer time.AfterFunc(c.hurry, func() { close(s.hurry) }).Stop()
	}
	start := time.Now()
	res := s.apply(ctx, nil)
	if took := time.Since(start); took != c.took {
		t.Errorf("it took %s, want %s", took, c.took)
	}
	s.ends(res, c.ends, c.status, c.verdict, c.words...)
	if r := s.records[key(c.ends)]; r.State != c.state || r.Left != c.left || (r.Pending != nil) != c.pending {
		t.Errorf("record %q, left %v, pending %s", r.State, r.Left, r.Pending)
	}
}

// TestARunThatIsAskedToEnd: at the first signal nothing new begins and nothing is
// waited for; what is in flight has five seconds, and two more are the ledger's;
// at the second it ends. Both are part of the run's time limit. Whatever happened is recorded (docs/design.md C5).
func TestARunThatIsAskedToEnd(t *testing.T) {
	const never = time.Hour
	creating := func(t *testing.T) *stage { return begin(t, cdn("shop", forced)) }
	patching := func(t *testing.T) *stage { return begin(t, cdn("shop", forced)).has(shop, loose) }
	busy := answered(429)
	busy.answer.RetryAfter = time.Minute
	proven := func(s *stage) *stage { s.proven = true; return s }
	waiting := func(s *stage, status string) *stage {
		s.options.Wait = time.Hour
		s.status = func(int) string { return status }
		return s
	}
	for name, c := range map[string]func(t *testing.T) stopping{
		"a patch that is answered in time": func(t *testing.T) stopping {
			return stopping{
				stage: patching(t), world: slow{patch: 3 * time.Second},
				took: 3 * time.Second, ends: shop, status: apply.Done, verdict: apply.OK, words: []string{"changed 1 field"},
			}
		},
		"a patch that is not": func(t *testing.T) stopping {
			return stopping{
				stage: patching(t), world: slow{patch: never}, took: 6 * time.Second, pending: true,
				ends: shop, status: apply.Failed, verdict: apply.Partial, words: []string{"tell whether", "run was stopped", "which checks first"},
			}
		},
		"a patch, and a hurry": func(t *testing.T) stopping {
			return stopping{
				stage: patching(t), world: slow{patch: never}, hurry: 2 * time.Second, took: 2 * time.Second, pending: true,
				ends: shop, status: apply.Failed, verdict: apply.Partial, words: []string{"tell whether"},
			}
		},
		"a patch, and a hurry from the start": func(t *testing.T) stopping {
			return stopping{
				stage: patching(t), world: slow{patch: never}, hurry: time.Second / 2, took: time.Second / 2, pending: true,
				ends: shop, status: apply.Failed, verdict: apply.Partial, words: []string{"tell whether"},
			}
		},
		"a patch that is throttled": func(t *testing.T) stopping {
			return stopping{
				stage: patching(t).on("PATCH CDN/shop", 1, busy, false), took: time.Second,
				ends: shop, status: apply.Skipped, verdict: apply.Interrupted, words: []string{"interrupted before it was sent"},
			}
		},
		"a patch that was lost": func(t *testing.T) stopping {
			lost := answered(503)
			lost.answer.RetryAfter = time.Minute
			return stopping{
				stage: patching(t).on("PATCH CDN/shop", 1, lost, true), took: time.Second,
				ends: shop, status: apply.Done, verdict: apply.OK,
			}
		},
		"a look before a patch": func(t *testing.T) stopping {
			return stopping{
				stage: patching(t), world: slow{get: never}, took: time.Second,
				ends: shop, status: apply.Skipped, verdict: apply.Interrupted, words: []string{"interrupted before it was sent"},
			}
		},
		"a turn": func(t *testing.T) stopping {
			return stopping{
				stage: creating(t), world: slow{turn: never}, took: time.Second,
				ends: shop, status: apply.Skipped, verdict: apply.Interrupted, words: []string{"interrupted before it was sent"},
			}
		},
		"live that does not show it yet": func(t *testing.T) stopping {
			s := patching(t)
			s.keeps = func(map[string]any) map[string]any { return s.tree(loose) }
			return stopping{
				stage: s, world: slow{patch: time.Second / 2}, took: time.Second,
				ends: shop, status: apply.Failed, verdict: apply.Interrupted, words: []string{"it was written; interrupted before live showed it"},
				pending: true,
			}
		},
		"the time of the run": func(t *testing.T) stopping {
			return stopping{
				stage: creating(t), world: slow{get: never}, deadline: true, took: time.Second / 2,
				ends: shop, status: apply.Skipped, verdict: apply.Partial, words: []string{"the run reached its time limit (TRUEUP_TIMEOUT) before it was sent"},
			}
		},
		"a creation that is lost": func(t *testing.T) stopping {
			return stopping{
				stage: creating(t), world: slow{post: never}, took: 6 * time.Second, pending: true,
				ends: shop, status: apply.Failed, verdict: apply.Partial, words: []string{"tell whether"},
			}
		},
		"a creation that failed, before it is looked for again": func(t *testing.T) stopping {
			return stopping{
				stage: creating(t).on("POST CDN/shop", 1, answered(500), false), took: time.Second, pending: true,
				ends: shop, status: apply.Failed, verdict: apply.Partial, words: []string{"tell whether", "500"},
			}
		},
		"an intent to create": func(t *testing.T) stopping {
			return stopping{
				stage: creating(t), world: slow{pending: 2 * time.Second}, took: 2 * time.Second,
				ends: shop, status: apply.Skipped, verdict: apply.Interrupted, words: []string{"interrupted before it was sent"},
			}
		},
		"a purge that is answered in time": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{post: 5 * time.Second}, took: 5 * time.Second,
				ends: rel, status: apply.Done, verdict: apply.OK, state: ledger.Posted,
			}
		},
		"a purge that is not": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{post: never}, took: 6 * time.Second,
				ends: rel, status: apply.Failed, verdict: apply.NeedsPerson, words: []string{"may have been executed"}, state: ledger.Unknown,
			}
		},
		"a purge that is not, where a duplicate is refused": func(t *testing.T) stopping {
			return stopping{
				stage: proven(due(t)), world: slow{post: never}, took: 6 * time.Second,
				ends: rel, status: apply.Failed, verdict: apply.Partial, words: []string{"may have been executed", "ledger settle"}, state: ledger.Claimed, left: true,
			}
		},
		"a purge, and a hurry": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{post: never}, hurry: 3 * time.Second, took: 3 * time.Second,
				ends: rel, status: apply.Failed, verdict: apply.NeedsPerson, words: []string{"may have been executed"}, state: ledger.Unknown,
			}
		},
		"a purge that is throttled": func(t *testing.T) stopping {
			return stopping{
				stage: due(t).on("POST Purge/rel", 1, busy, false), took: time.Second,
				ends: rel, status: apply.Skipped, verdict: apply.Interrupted, words: []string{"interrupted before it was sent"},
			}
		},
		"a claim": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{claim: 2 * time.Second}, took: 2 * time.Second,
				ends: rel, status: apply.Skipped, verdict: apply.Interrupted, words: []string{"interrupted before it started"},
			}
		},
		"a ledger that is slow": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{posted: 6 * time.Second}, took: 6 * time.Second,
				ends: rel, status: apply.Done, verdict: apply.OK, state: ledger.Posted,
			}
		},
		"a ledger that hangs": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{posted: never}, took: 8 * time.Second,
				ends: rel, status: apply.Failed, verdict: apply.NeedsPerson, words: []string{"accepted (and the ledger could not record it"}, state: ledger.Claimed,
			}
		},
		"a ledger that hangs, and the time of the run": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{posted: never}, deadline: true, took: time.Second,
				ends: rel, status: apply.Failed, verdict: apply.NeedsPerson, words: []string{"accepted (and the ledger could not record it"}, state: ledger.Claimed,
			}
		},
		"a ledger that hangs, and a hurry": func(t *testing.T) stopping {
			return stopping{
				stage: due(t), world: slow{posted: never}, hurry: 2 * time.Second, took: 4 * time.Second,
				ends: rel, status: apply.Failed, verdict: apply.NeedsPerson, words: []string{"accepted"}, state: ledger.Claimed,
			}
		},
		"a snapshot that is not ready": func(t *testing.T) stopping {
			return stopping{
				stage: waiting(begin(t, snapshot("db")), `{}`), took: time.Second,
				ends: db, status: apply.Failed, verdict: apply.Interrupted, words: []string{"created; interrupted while it was not ready yet"}, state: ledger.Posted,
			}
		},
		"a snapshot that live does not show yet": func(t *testing.T) stopping {
			s := begin(t, snapshot("db"))
			s.keeps = func(map[string]any) map[string]any { return s.tree(disk("other")) }
			return stopping{
				stage: s, took: time.Second,
				ends: db, status: apply.Failed, verdict: apply.Interrupted, words: []string{"it was created; interrupted before live showed it"}, state: ledger.Posted,
			}
		},
		"what an earlier run made is not ready": func(t *testing.T) stopping {
			s := waiting(begin(t, snapshot("db")).has(db, disk("data")), `{}`)
			s.records[key(db)] = ledger.Record{Key: key(db), State: ledger.Posted, RemoteName: "db", Spec: s.set.Find(key(db)).Spec}
			return stopping{
				stage: s, world: slow{get: never}, took: time.Second, state: ledger.Posted,
				ends: db, status: apply.Failed, verdict: apply.Interrupted, words: []string{"interrupted before it was ready"},
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c(t).run(t) }) })
	}
}

// TestARunThatEndsTellsOfNoOtherTry: there is none.
func TestARunThatEndsTellsOfNoOtherTry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 1, answered(503), false).at("PATCH CDN/shop", 1, cancel)
	s.ends(s.apply(ctx, nil), shop, apply.Failed, apply.Partial, "live differs from what was sent: 503")
	for _, e := range s.events {
		if e.Phase == "wait" {
			t.Errorf("event %+v", e)
		}
	}
}

// TestLooksThatTakeLongAreInTheWait: the time of --wait holds where the platform does
// not answer either.
func TestLooksThatTakeLongAreInTheWait(t *testing.T) {
	const long = 4 * time.Minute
	limit := 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, snapshot("db"))
		s.writer, s.sleep = &slow{stage: s, get: long}, sleep
		s.status = func(int) string { return `{}` }
		s.options.Wait = limit
		start := time.Now()
		s.ends(s.run(), db, apply.Failed, apply.Partial, "created, but not ready within 10m0s")
		// One look before it is made, one after, and those of the wait.
		if took := time.Since(start); took != 2*long+limit {
			t.Errorf("it took %s", took)
		}
	})
}

// TestAMistakeOfTheProgram is an error of its item: the rest goes on, and what may
// have been sent is recorded so.
func TestAMistakeOfTheProgram(t *testing.T) {
	oops := mistake("index out of range")
	for name, tt := range map[string]struct {
		item    string
		call    string
		did     bool
		verdict apply.Verdict
		words   string
		calls   string
	}{
		"a look":   {shop, "GET CDN/shop", false, apply.Partial, "which checks first", "pending CDN/shop, GET CDN/shop"},
		"a patch":  {shop, "PATCH CDN/shop", true, apply.Partial, "in trueup: report it", "pending CDN/shop, GET CDN/shop, PATCH CDN/shop"},
		"a ledger": {shop, "pending CDN/shop", true, apply.Partial, "in trueup: report it", "pending CDN/shop"},
		"a purge": {
			rel, "POST Purge/rel", true, apply.NeedsPerson, "may have been executed",
			"claim Purge/rel, POST Purge/rel, unknown Purge/rel",
		},
		"a claim":     {rel, "claim Purge/rel", true, apply.Partial, "in trueup: report it", "claim Purge/rel"},
		"a clock":     {rel, "clock", false, apply.Partial, "the platform's time", ""},
		"a turn":      {rel, "turn", false, apply.Partial, "run apply again", "claim Purge/rel, release Purge/rel"},
		"its outcome": {rel, "posted Purge/rel", false, apply.NeedsPerson, "it was accepted (and the ledger could not record it", "claim Purge/rel, POST Purge/rel, posted Purge/rel"},
	} {
		t.Run(name, func(t *testing.T) {
			s := due(t)
			if tt.item == shop {
				s = begin(t, cdn("shop", forced)).has(shop, loose)
			}
			s.set = load(t, cdn("shop", map[bool]string{true: forced, false: plain}[tt.item == shop]), cdn("zoo", `{hostname: zoo.example.com}`), purge("rel", relSpec))
			if tt.item == shop {
				s.set = load(t, cdn("shop", forced), cdn("zoo", `{hostname: zoo.example.com}`))
			}
			first := 1
			if tt.call == "turn" {
				first = 2 // the other CDN's comes before
			}
			s.on(tt.call, first, oops, tt.did)
			res := s.run()
			s.ends(res, tt.item, apply.Failed, tt.verdict, "internal error: index out of range; the rest continued", tt.words)
			s.ends(res, "CDN/zoo", apply.Done, apply.OK)
			var own []string
			for _, call := range s.log {
				if strings.HasSuffix(call, tt.item) {
					own = append(own, call)
				}
			}
			if got := strings.Join(own, ", "); got != tt.calls {
				t.Errorf("calls %s, want %s", got, tt.calls)
			}
			if !strings.Contains(phases(s), "stack goroutine ") {
				t.Errorf("nobody is told where: %s", phases(s))
			}
		})
	}
}

// TestAMistakeElsewhere: in what apply is handed, and in who watches.
func TestAMistakeElsewhere(t *testing.T) {
	s := begin(t, cdn("shop", forced), cdn("zoo", `{hostname: zoo.example.com}`)).has(shop, loose)
	planner, p := s.ready()
	deps := apply.Deps{
		Writer: s, Journal: s, Clock: s.clock, Rules: planner.RulesOf,
		Replan: func(kind.Key, *kind.LiveObject) (plan.Item, error) { panic(errors.New("no such field")) },
		Spec:   func(k kind.Key) []byte { return s.set.Find(k).Spec },
		Report: func(apply.Event) { panic(7) },
	}
	res := apply.Run(t.Context(), p, deps)
	s.ends(res, shop, apply.Failed, apply.Partial, "internal error: no such field")
	s.ends(res, "CDN/zoo", apply.Done, apply.OK)

	deps.Replan = func(kind.Key, *kind.LiveObject) (plan.Item, error) { panic(struct{ token string }{"secret-canary"}) }
	s.ends(apply.Run(t.Context(), p, deps), shop, apply.Failed, apply.Partial, "internal error: struct")

	s = theirs(due(t), rel, func(*ledger.Record) {})
	s.looked = func(kind.Key) error { panic("a torn record") }
	s.ends(s.run(), rel, apply.InFlight, apply.Partial, "another run has claimed it", "could not be read again: internal error: a torn record")

	s = begin(t, snapshot("db")).on("POST "+db, 1, unclear(), true).on("GET "+db, 2, mistake("no spec"), false)
	s.ends(s.run(), db, apply.Failed, apply.NeedsPerson, "may have been executed")
}
