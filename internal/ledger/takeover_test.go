package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// proven makes the ledger one of a platform that was seen to refuse duplicates.
func proven(t *testing.T, cfg Config) Config {
	t.Helper()
	must(t, open(t, cfg).RecordProof(t.Context(), kind.Delivery, DuplicateProof{At: testTime, Name: "probe", HTTP: 409}))
	return cfg
}

func intentAt(age time.Duration) Intent {
	i := someIntent()
	i.At = NewInstant(testTime.Add(age), testTime.Add(age))
	return i
}

// by is a run of its own that says who it is.
func by(t *testing.T, cfg Config, run string) *Ledger {
	t.Helper()
	cfg.Claim.RunID = run
	return open(t, cfg)
}

// TestTakeOver carries the time of the first claim forward, and leaves no way
// back to free (docs/design.md A3).
func TestTakeOver(t *testing.T) {
	cfg, ctx := proven(t, made(t)), t.Context()
	one, two, three := by(t, cfg, "1"), by(t, cfg, "2"), by(t, cfg, "3")
	hold, err := one.Claim(ctx, purgeKey, intentAt(0))
	if err != nil || hold.EarlierUnknown || !hold.FirstClaimAt.Equal(testTime) {
		t.Fatalf("claim %+v, %v", hold, err)
	}
	_, err = takeOver(ctx, two, purgeKey, intentAt(Lease-1))
	wantErr(t, err, ErrTaken)
	other := intentAt(Lease)
	other.Digest = canon.Digest([]byte("another"))
	if _, err := takeOver(ctx, two, purgeKey, other); err == nil || !strings.Contains(err.Error(), "another spec") {
		t.Errorf("taken over with another spec: %v", err)
	}
	hold, err = takeOver(ctx, two, purgeKey, intentAt(Lease))
	if err != nil || !hold.EarlierUnknown || !hold.FirstClaimAt.Equal(testTime) {
		t.Fatalf("take over %+v, %v", hold, err)
	}
	rec := view(t, two, purgeKey)
	if !rec.FirstClaimAt.Equal(testTime) || !rec.ClaimedAt.Equal(testTime.Add(Lease)) || !rec.EarlierUnknown || rec.Left || rec.Claim.RunID != "2" {
		t.Errorf("taken over %+v", rec)
	}
	var state *StateError
	for name, err := range map[string]error{
		"release": two.RecordOutcome(ctx, purgeKey, Outcome{How: Released}), "reject": two.RecordOutcome(ctx, purgeKey, Outcome{How: RejectedByPlatform, HTTP: 422}),
	} {
		if !errors.As(err, &state) {
			t.Errorf("%s of what may have been sent before gave %v", name, err)
		}
	}
	// The lease begins anew; who ends it lets the next go on at once.
	_, err = takeOver(ctx, three, purgeKey, intentAt(2*Lease-1))
	wantErr(t, err, ErrTaken)
	must(t, two.MarkResumable(ctx, purgeKey, "timeout"))
	if rec = view(t, two, purgeKey); rec.State != Claimed || !rec.Left || rec.Outcome.How != OutcomeUnknown || rec.Outcome.Message.String() != "timeout" {
		t.Errorf("left %+v", rec)
	}
	if _, err = takeOver(ctx, three, purgeKey, intentAt(Lease+1)); err != nil {
		t.Fatal(err)
	}
	must(t, three.MarkResumable(ctx, purgeKey, "timeout"))
	_, err = takeOver(ctx, one, purgeKey, intentAt(DefaultWindow))
	wantErr(t, err, ErrTaken)

	// Nothing but a claim is taken over.
	_, err = takeOver(ctx, one, kind.Key{Kind: "Purge", Name: "never"}, intentAt(Lease))
	wantErr(t, err, ErrTaken)
	if _, err := takeOver(ctx, one, kind.Key{Kind: "purge"}, intentAt(0)); err == nil || errors.Is(err, ErrTaken) {
		t.Errorf("a kind that is none: %v", err)
	}
}

func TestNothingIsTakenOverWithoutProof(t *testing.T) {
	cfg := made(t)
	must(t, tryClaim(t.Context(), open(t, cfg), purgeKey))
	_, err := takeOver(t.Context(), open(t, cfg), purgeKey, intentAt(Lease))
	wantErr(t, err, ErrTaken)
	// A proof of another area is none.
	must(t, open(t, cfg).RecordProof(t.Context(), kind.Compute, DuplicateProof{At: testTime, Name: "probe", HTTP: 409}))
	_, err = takeOver(t.Context(), open(t, cfg), purgeKey, intentAt(Lease))
	wantErr(t, err, ErrTaken)
}

// TestACertainOutcomeIsReported also where another run has taken the intent over, or
// called it unknown; it never gets another intent.
func TestACertainOutcomeIsReported(t *testing.T) {
	ctx := t.Context()
	for name, meanwhile := range map[string]func(t *testing.T, l *Ledger){
		"taken over": func(t *testing.T, l *Ledger) {
			_, err := takeOver(ctx, l, purgeKey, intentAt(Lease))
			must(t, err)
		},
		"left open": func(t *testing.T, l *Ledger) {
			_, err := takeOver(ctx, l, purgeKey, intentAt(Lease))
			must(t, err)
			must(t, l.MarkResumable(ctx, purgeKey, ""))
		},
		"called unknown": func(t *testing.T, l *Ledger) {
			must(t, l.MarkUnknown(ctx, purgeKey, intentAt(DefaultWindow).At))
		},
	} {
		cfg := proven(t, made(t))
		l := by(t, cfg, "1")
		must(t, tryClaim(ctx, l, purgeKey))
		meanwhile(t, by(t, cfg, "2"))
		if err := l.RecordPosted(ctx, purgeKey, AcceptedAnswer{HTTP: 201}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if rec := view(t, l, purgeKey); rec.State != Posted || rec.Left {
			t.Errorf("%s: %+v", name, rec)
		}
		// What is not certain does not replace another run's outcome.
		if err := l.RecordOutcome(ctx, purgeKey, Outcome{How: OutcomeUnknown}); err == nil {
			t.Errorf("%s: made unknown after that", name)
		}
	}
	cfg := proven(t, made(t))
	late, next := by(t, cfg, "1"), by(t, cfg, "2")
	must(t, tryClaim(ctx, late, purgeKey))
	cfg.Now = func() time.Time { return testTime.Add(Lease) }
	must(t, by(t, cfg, "").Resolve(ctx, purgeKey, ResolveRepost, "it does not exist"))
	_, err := next.Claim(ctx, purgeKey, intentAt(Lease))
	must(t, err)
	wantErr(t, late.RecordPosted(ctx, purgeKey, AcceptedAnswer{}), ErrConflict)
	if rec := view(t, next, purgeKey); rec.State != Claimed || rec.Claim.RunID != "2" {
		t.Errorf("the next intent became %+v", rec)
	}
}

// TestGiveUp makes unknown only what nobody can send again.
func TestGiveUp(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		set  func(t *testing.T, l *Ledger)
		age  time.Duration
		want RequestState
	}{
		"never claimed": {func(*testing.T, *Ledger) {}, Lease, ""},
		"in flight":     {func(t *testing.T, l *Ledger) { must(t, tryClaim(ctx, l, purgeKey)) }, Lease - 1, Claimed},
		"lost":          {func(t *testing.T, l *Ledger) { must(t, tryClaim(ctx, l, purgeKey)) }, Lease, Unknown},
		"refused": {func(t *testing.T, l *Ledger) {
			must(t, tryClaim(ctx, l, purgeKey))
			must(t, l.RecordOutcome(ctx, purgeKey, Outcome{How: RejectedByPlatform, HTTP: 422}))
		}, Lease, Rejected},
		"posted": {func(t *testing.T, l *Ledger) {
			must(t, tryClaim(ctx, l, purgeKey))
			must(t, l.RecordPosted(ctx, purgeKey, AcceptedAnswer{}))
		}, Lease, Posted},
		"asked about": {func(t *testing.T, l *Ledger) {
			must(t, tryClaim(ctx, l, purgeKey))
			must(t, l.RecordOutcome(ctx, purgeKey, Outcome{How: OutcomeUnknown}))
		}, Lease, Unknown},
		"safe to resend": {func(t *testing.T, l *Ledger) { must(t, tryClaim(ctx, l, purgeKey)); proven(t, l.cfg) }, Lease, Claimed},
	} {
		cfg := made(t)
		c.set(t, open(t, cfg))
		l := open(t, cfg)
		before := view(t, l, purgeKey)
		if err := l.MarkUnknown(ctx, purgeKey, intentAt(c.age).At); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rec := view(t, l, purgeKey)
		if rec.State != c.want || (rec.Seq != before.Seq) != (before.State == Claimed && c.want == Unknown) {
			t.Errorf("%s: %q, seq %d", name, rec.State, rec.Seq)
		}
	}
	l := open(t, made(t))
	must(t, tryClaim(ctx, l, purgeKey))
	must(t, l.MarkResumable(ctx, purgeKey, "no answer"))
	must(t, l.MarkUnknown(ctx, purgeKey, intentAt(0).At))
	if rec := view(t, l, purgeKey); rec.State != Unknown || rec.Outcome.Message.String() != "no answer" {
		t.Errorf("what was left is %q, and its reason is lost: %+v", rec.State, rec.Outcome)
	}
	l = open(t, made(t))
	good := l.store
	eio := errors.New("input/output error")
	must(t, tryClaim(ctx, l, purgeKey))
	l.store = failStore{RecordStore: good, put: eio}
	wantErr(t, l.MarkUnknown(ctx, purgeKey, intentAt(Lease).At), eio)
	if err := l.MarkUnknown(ctx, kind.Key{Kind: "purge"}, intentAt(Lease).At); err == nil {
		t.Error("gave up a kind that is none")
	}
}

// TestFound records what live showed, as the view was.
func TestFound(t *testing.T) {
	cfg, ctx := made(t), t.Context()
	must(t, tryClaim(ctx, open(t, cfg), diskKey))
	one, two := open(t, cfg), open(t, cfg)
	wantErr(t, one.RecordExecuted(ctx, diskKey, AcceptedAnswer{}), ErrConflict)
	view(t, one, diskKey)
	view(t, two, diskKey)
	must(t, one.RecordExecuted(ctx, diskKey, AcceptedAnswer{RemoteName: "content-7", UID: "u"}))
	wantErr(t, two.RecordExecuted(ctx, diskKey, AcceptedAnswer{RemoteName: "content-8"}), ErrConflict)
	if rec := view(t, two, diskKey); rec.State != Posted || rec.Outcome.How != Found || rec.RemoteName != "content-7" || rec.UID != "u" {
		t.Errorf("found %+v", rec)
	}
}

// TestHistoryIsBounded: the newest steps stay, and end with the record's nonce.
func TestHistoryIsBounded(t *testing.T) {
	cfg, ctx := made(t), t.Context()
	l := by(t, cfg, "run-9")
	for range maxSteps {
		must(t, tryClaim(ctx, l, purgeKey))
		must(t, l.RecordOutcome(ctx, purgeKey, Outcome{How: Released, Message: QuoteMessage(strings.Repeat("é", maxDetail))}))
	}
	for range maxSpecSteps {
		must(t, l.RecordPending(ctx, cdnKey, someSpec, nil))
		must(t, l.RecordApplied(ctx, cdnKey, AppliedSpec{Spec: someSpec, Converged: true}))
	}
	for key, most := range map[kind.Key]int{purgeKey: maxSteps, cdnKey: maxSpecSteps} {
		rec := view(t, l, key)
		last := rec.History[len(rec.History)-1]
		if len(rec.History) != most || last.Seq != rec.Seq || last.Nonce != rec.Nonce || rec.History[0].Seq != rec.Seq-most+1 {
			t.Errorf("%s: %d steps, the last %+v of seq %d", key, len(rec.History), last, rec.Seq)
		}
	}
	last := view(t, l, purgeKey).History[maxSteps-1]
	if last.Event != "released" || last.By != "run run-9" || len(last.Detail) > maxDetail || strings.ContainsRune(last.Detail, '\uFFFD') {
		t.Errorf("the last step is %+v", last)
	}
}

// TestAnOutcomeThatWasNotStored is in the error, as it would have been stored.
func TestAnOutcomeThatWasNotStored(t *testing.T) {
	ctx, full := t.Context(), errors.New("no space left on device")
	for name, c := range map[string]struct {
		end  func(l *Ledger) error
		want RequestState
	}{
		"posted": {func(l *Ledger) error { return l.RecordPosted(ctx, purgeKey, AcceptedAnswer{HTTP: 201, UID: "u"}) }, Posted},
		"rejected": {func(l *Ledger) error {
			return l.RecordOutcome(ctx, purgeKey, Outcome{How: RejectedByPlatform, HTTP: 422, Message: QuoteMessage("no")})
		}, Rejected},
		"released": {func(l *Ledger) error { return l.RecordOutcome(ctx, purgeKey, Outcome{How: Released}) }, ""},
		"left":     {func(l *Ledger) error { return l.MarkResumable(ctx, purgeKey, "") }, Claimed},
		"unknown":  {func(l *Ledger) error { return l.RecordOutcome(ctx, purgeKey, Outcome{How: OutcomeUnknown}) }, Unknown},
	} {
		l := open(t, made(t))
		must(t, tryClaim(ctx, l, purgeKey))
		l.store = failStore{RecordStore: l.store, put: full}
		err := c.end(l)
		var lacks *UnrecordedError
		if !errors.As(err, &lacks) || !errors.Is(err, full) || lacks.Error() == "" {
			t.Fatalf("%s: %v", name, err)
		}
		rec := lacks.Record
		if rec.State != c.want || rec.Seq != 2 || rec.validate() != nil || rec.History[len(rec.History)-1].Seq != 2 {
			t.Errorf("%s: %+v", name, rec)
		}
	}
	// What this run did not claim is not its to hand out.
	l := open(t, made(t))
	l.store = failStore{RecordStore: l.store, put: full}
	var lacks *UnrecordedError
	if err := l.RecordPosted(ctx, purgeKey, AcceptedAnswer{}); errors.As(err, &lacks) {
		t.Errorf("handed out %+v", lacks.Record)
	}
}

// racingStore lets others change the genesis right before a write of ours.
type racingStore struct {
	RecordStore
	races int
	race  func()
}

func (s *racingStore) WriteGenesis(ctx context.Context, seq int, g Genesis) error {
	if s.races > 0 {
		s.races--
		s.race()
	}
	return s.RecordStore.WriteGenesis(ctx, seq, g)
}

// takenStore lets others take a claim over before its answer comes, which is no success.
type takenStore struct {
	RecordStore
	takeOver func()
}

func (s *takenStore) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, s, changes, s.Put)
}

func (s *takenStore) Put(ctx context.Context, seq int, rec Record) error {
	err := putOne(ctx, s.RecordStore, seq, rec)
	if take := s.takeOver; err == nil && take != nil {
		s.takeOver, err = nil, ErrConflict
		take()
	}
	return err
}

func TestAClaimThatWasTakenOverIsNotOurs(t *testing.T) {
	cfg, later := made(t), someIntent()
	slow, quick := open(t, cfg), open(t, cfg)
	must(t, slow.RecordProof(t.Context(), kind.Delivery, DuplicateProof{At: testTime, Name: "p", HTTP: 409}))
	later.At = NewInstant(testTime.Add(Lease), testTime.Add(Lease))
	slow.store = &takenStore{slow.store, func() { must1(takeOver(t.Context(), quick, purgeKey, later))(t) }}
	wantErr(t, tryClaim(t.Context(), slow, purgeKey), ErrTaken)
}

func TestProofsDoNotOverwriteEachOther(t *testing.T) {
	cfg, ctx := made(t), t.Context()
	l, n := open(t, cfg), 0
	prove := func(l *Ledger, area kind.Area) error {
		n++
		return l.RecordProof(ctx, area, DuplicateProof{At: testTime, Name: fmt.Sprintf("probe-%d", n), HTTP: 409})
	}
	good := l.store
	l.store = &racingStore{good, 2, func() { must(t, prove(open(t, cfg), kind.Compute)) }}
	must(t, prove(l, kind.Delivery))
	g, err := good.ReadGenesis(ctx)
	if err != nil || g.Seq != 4 || g.Proofs[kind.Compute].Name != "probe-3" || g.Proofs[kind.Delivery].Name != "probe-1" {
		t.Errorf("genesis %+v, %v", g, err)
	}
	v, err := open(t, cfg).ReadView(ctx, nil)
	if err != nil || !v.Terms[kind.Delivery].Proven || !v.Terms[kind.Compute].Proven || v.Terms[kind.Delivery].Window != DefaultWindow {
		t.Errorf("terms %+v, %v", v.Terms, err)
	}
	l.store = &racingStore{good, writeTries, func() { must(t, prove(open(t, cfg), kind.Compute)) }}
	wantErr(t, prove(l, kind.Delivery), ErrConflict)
	var problem *ProblemError
	if err := prove(open(t, Config{}), kind.Delivery); !errors.As(err, &problem) {
		t.Errorf("proven without a ledger: %v", err)
	}
}

// TestAViewHasWhatConcernsEveryRun: the records that were asked for, and what was
// claimed lately or is open.
func TestAViewHasWhatConcernsEveryRun(t *testing.T) {
	cfg, ctx := made(t), t.Context()
	purge := func(name string) kind.Key { return kind.Key{Kind: "Purge", Name: name} }
	at := func(age time.Duration) *Ledger {
		c := cfg
		c.Now = func() time.Time { return testTime.Add(-age) }
		return open(t, c)
	}
	send := func(name string, age time.Duration, end func(*Ledger, kind.Key) error) {
		l := at(age)
		_, err := l.Claim(ctx, purge(name), intentAt(-age))
		must(t, err)
		must(t, end(l, purge(name)))
	}
	posted := func(l *Ledger, k kind.Key) error { return l.RecordPosted(ctx, k, AcceptedAnswer{}) }
	send("asked", 1000*time.Hour, posted)
	send("old", 28*time.Hour, posted)
	send("today", 24*time.Hour, posted)
	send("open", 1000*time.Hour, func(l *Ledger, k kind.Key) error { return l.RecordOutcome(ctx, k, Outcome{How: OutcomeUnknown}) })
	send("left", 1000*time.Hour, func(l *Ledger, k kind.Key) error { return l.MarkResumable(ctx, k, "") })
	l := open(t, cfg)
	v, err := l.ReadView(ctx, []kind.Key{purge("asked"), purge("never"), purge("open")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for k := range v.Records {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	if want := []string{"asked", "left", "open", "today"}; !slices.Equal(names, want) {
		t.Errorf("the view has %v, want %v", names, want)
	}
	must(t, l.AddToView(ctx, &v, []kind.Key{purge("old"), purge("never")}))
	if v.Records[purge("old")].State != Posted || len(v.Records) != 5 {
		t.Errorf("added to %v", names)
	}
}

// TestBatch: claims go together where the store is far away.
func TestBatch(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	if got := l.BatchSize(); got != 1 {
		t.Errorf("%d claims together in files", got)
	}
	cfg.Backend = l.store
	if got := open(t, cfg).BatchSize(); got != 20 {
		t.Errorf("%d claims together far away", got)
	}
	cfg.Store = "git:" + testRef
	if got := open(t, cfg).BatchSize(); got != 200 {
		t.Errorf("%d claims together in git", got)
	}
}

// TestLook is of what is there now; decisions still rest on the view.
func TestLook(t *testing.T) {
	cfg, ctx := made(t), t.Context()
	l, other := open(t, cfg), open(t, cfg)
	must(t, tryClaim(ctx, other, diskKey))
	must(t, other.RecordPosted(ctx, diskKey, AcceptedAnswer{}))
	view(t, l, diskKey)
	view(t, other, diskKey)
	must(t, tryClaimAgain(ctx, other, diskKey))
	found, err := l.ReadRecords(ctx, []kind.Key{diskKey, purgeKey})
	if err != nil || len(found) != 1 || found[diskKey].State != Claimed {
		t.Errorf("look %+v, %v", found, err)
	}
	wantErr(t, tryClaimAgain(ctx, l, diskKey), ErrConflict)
	eio := errors.New("input/output error")
	l.store = failStore{RecordStore: l.store, read: eio}
	_, err = l.ReadRecords(ctx, []kind.Key{diskKey})
	wantErr(t, err, eio)
}
