package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/kind"
)

func TestLifeOfARequest(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	ctx := t.Context()
	must(t, tryClaim(ctx, l, purgeKey))
	rec := view(t, l, purgeKey)
	if rec.State != Claimed || string(rec.Spec) != string(someSpec) || *rec.SpecDigest != someSum || rec.Claim.RunID != "run-1" ||
		!rec.FirstClaimAt.Equal(testTime) || rec.FirstClaimAt.Location() != time.UTC || rec.Seq != 1 {
		t.Errorf("claimed %+v", rec)
	}
	wantErr(t, tryClaim(ctx, l, purgeKey), ErrTaken)
	must(t, l.RecordOutcome(ctx, purgeKey, Outcome{How: RejectedByPlatform, HTTP: 422, Message: QuoteMessage("no such hostname")}))
	if rec = view(t, l, purgeKey); rec.State != Rejected || rec.Outcome.HTTP != 422 || rec.Outcome.How != RejectedByPlatform {
		t.Errorf("rejected %+v", rec)
	}
	must(t, tryClaim(ctx, l, purgeKey))
	must(t, l.RecordOutcome(ctx, purgeKey, Outcome{How: Released, Message: QuoteMessage("no route to host")}))
	if rec = view(t, l, purgeKey); rec.State != "" || rec.FirstClaimAt != nil || rec.Seq != 4 {
		t.Errorf("released %+v", rec)
	}
	must(t, tryClaim(ctx, l, purgeKey))
	at := testTime.Add(time.Second)
	must(t, l.RecordPosted(ctx, purgeKey, AcceptedAnswer{HTTP: 201, AcceptedAt: at, RemoteName: "rel-42", UID: "u", CreationTimestamp: "c"}))
	rec = view(t, l, purgeKey)
	if rec.State != Posted || !rec.AcceptedAt.Equal(at) || rec.UID != "u" || rec.RemoteName != "rel-42" || rec.Outcome.How != Created {
		t.Errorf("posted %+v", rec)
	}
	wantErr(t, tryClaim(ctx, l, purgeKey), ErrTaken)
	if err := tryClaimAgain(ctx, l, purgeKey); err == nil {
		t.Error("a request that is sent once was claimed again")
	}
	// Another run sees the same.
	wantErr(t, tryClaim(ctx, open(t, cfg), purgeKey), ErrTaken)
}

// TestTwoRunsLearnOfOneSend: a run that was taken over gets its answer late, when
// the other one has recorded the same.
func TestTwoRunsLearnOfOneSend(t *testing.T) {
	cfg := made(t)
	slow, quick := open(t, cfg), open(t, cfg)
	must(t, slow.RecordProof(t.Context(), kind.Delivery, DuplicateProof{At: testTime, Name: "p", HTTP: 409}))
	must(t, tryClaim(t.Context(), slow, purgeKey))
	later := someIntent()
	later.At = NewInstant(testTime.Add(Lease), testTime.Add(Lease))
	hold, err := takeOver(t.Context(), quick, purgeKey, later)
	must(t, err)
	if hold.FirstClaimAt.Equal(*hold.ClaimedAt) || hold.MaySend(NewInstant(testTime.Add(2*Lease), testTime.Add(2*Lease))) {
		t.Errorf("taken over as %+v", hold)
	}
	must(t, quick.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{How: Duplicate, HTTP: 409}))
	must(t, slow.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{HTTP: 201}))
	if rec := view(t, slow, purgeKey); rec.State != Posted || rec.Outcome.How != Duplicate {
		t.Errorf("recorded as %+v", rec)
	}
}

func TestAcceptedNowWhereTheServerGaveNoTime(t *testing.T) {
	l := open(t, made(t))
	must(t, tryClaim(t.Context(), l, purgeKey))
	must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
	if rec := view(t, l, purgeKey); !rec.AcceptedAt.Equal(testTime) {
		t.Errorf("accepted at %v", rec.AcceptedAt)
	}
}

func TestUnknownIsForAPersonToSettle(t *testing.T) {
	for to, want := range map[Resolution]RequestState{ResolvePosted: Posted, ResolveRepost: "", ResolveAbandon: Abandoned} {
		l := open(t, made(t))
		must(t, tryClaim(t.Context(), l, purgeKey))
		must(t, l.RecordOutcome(t.Context(), purgeKey, Outcome{How: OutcomeUnknown, Message: QuoteMessage("timeout")}))
		wantErr(t, tryClaim(t.Context(), l, purgeKey), ErrTaken)
		if err := l.Resolve(t.Context(), purgeKey, to, ""); err == nil {
			t.Error("resolved without a reason")
		}
		must(t, l.Resolve(t.Context(), purgeKey, to, "looked"))
		if rec := view(t, l, purgeKey); rec.State != want || rec.Outcome.By != "mina" || rec.Outcome.Message.String() != "timeout" {
			t.Errorf("%s: %+v", to, rec)
		}
		err := tryClaim(t.Context(), l, purgeKey)
		if (err == nil) != (to == ResolveRepost) {
			t.Errorf("%s: claim gave %v", to, err)
		}
		if err := l.Resolve(t.Context(), cdnKey, to, "looked"); err == nil {
			t.Error("resolved what was never claimed")
		}
	}
}

func TestOnlyTheWriterOfAClaimEndsIt(t *testing.T) {
	cfg := made(t)
	mine, other := open(t, cfg), open(t, cfg)
	ctx := t.Context()
	must(t, tryClaim(ctx, mine, purgeKey))
	for name, end := range map[string]func(*Ledger) error{
		"posted": func(l *Ledger) error { return l.RecordPosted(ctx, purgeKey, AcceptedAnswer{}) },
		"rejected": func(l *Ledger) error {
			return l.RecordOutcome(ctx, purgeKey, Outcome{How: RejectedByPlatform, HTTP: 400})
		},
		"release": func(l *Ledger) error { return l.RecordOutcome(ctx, purgeKey, Outcome{How: Released}) },
		"unknown": func(l *Ledger) error { return l.RecordOutcome(ctx, purgeKey, Outcome{How: OutcomeUnknown}) },
	} {
		if err := end(other); !errors.Is(err, ErrConflict) {
			t.Errorf("%s by another run gave %v", name, err)
		}
	}
	// A person says that it may be sent again, another run claims it: the late
	// outcome of the first is not the outcome of the second.
	err := other.Resolve(ctx, purgeKey, ResolveRepost, "the runner is gone")
	if err == nil || !strings.Contains(err.Error(), "may still send it:") {
		t.Errorf("repost of a fresh claim gave %v", err)
	}
	cfg.Now = func() time.Time { return testTime.Add(Lease) }
	other = open(t, cfg)
	must(t, other.Resolve(ctx, purgeKey, ResolveRepost, "the runner is gone"))
	_, err = other.Claim(ctx, purgeKey, Intent{Spec: someSpec, Digest: someSum, At: NewInstant(time.Time{}, cfg.Now())})
	must(t, err)
	wantErr(t, mine.RecordPosted(ctx, purgeKey, AcceptedAnswer{}), ErrConflict)
	must(t, other.RecordPosted(ctx, purgeKey, AcceptedAnswer{}))
}

func TestOneRunWinsAClaim(t *testing.T) {
	cfg := made(t)
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		l := open(t, cfg)
		wg.Go(func() {
			err := tryClaim(t.Context(), l, purgeKey)
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, ErrTaken) && !errors.Is(err, ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d runs won", won.Load())
	}
}

func TestMomentsAreMadeAgainOnRequest(t *testing.T) {
	l := open(t, made(t))
	ctx := t.Context()
	if err := tryClaimAgain(ctx, l, diskKey); err == nil {
		t.Error("claimed again what was never made")
	}
	must(t, tryClaim(ctx, l, diskKey))
	must(t, l.RecordPosted(ctx, diskKey, AcceptedAnswer{RemoteName: "snap-1", UID: "old"}))
	wantErr(t, tryClaimAgain(ctx, l, diskKey), ErrConflict)
	view(t, l, diskKey)
	must(t, tryClaimAgain(ctx, l, diskKey))
	if rec := view(t, l, diskKey); rec.State != Claimed || rec.UID != "" || rec.AcceptedAt != nil {
		t.Errorf("claimed again %+v", rec)
	}
}

// TestWhatWasNotMadeAgainIsKnownToBeGone: it may be made again only where a person
// allows it, also after a run that was allowed to and did not come to it.
func TestWhatWasNotMadeAgainIsKnownToBeGone(t *testing.T) {
	ctx := t.Context()
	for name, end := range map[string]func(*Ledger) error{
		"released": func(l *Ledger) error {
			return l.RecordOutcome(ctx, diskKey, Outcome{How: Released, Message: QuoteMessage("interrupted")})
		},
		"refused": func(l *Ledger) error {
			return l.RecordOutcome(ctx, diskKey, Outcome{How: RejectedByPlatform, HTTP: 422, Message: QuoteMessage("no")})
		},
		"reposted": func(l *Ledger) error {
			return errors.Join(l.RecordOutcome(ctx, diskKey, Outcome{How: OutcomeUnknown, Message: QuoteMessage("reset")}), l.Resolve(ctx, diskKey, ResolveRepost, "it does not exist"))
		},
	} {
		l := open(t, made(t))
		must(t, tryClaim(ctx, l, diskKey))
		must(t, l.RecordPosted(ctx, diskKey, AcceptedAnswer{UID: "old"}))
		view(t, l, diskKey)
		must(t, tryClaimAgain(ctx, l, diskKey))
		must(t, end(l))
		if rec := view(t, l, diskKey); (rec.Applied != nil) != (name != "reposted") || rec.UID != "" {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

// TestMomentsAreMadeAgainOnce: two people want the same object again, and the
// second decided before the first was done. The server may call it by another
// name, so that a GET of ours would not find it.
func TestMomentsAreMadeAgainOnce(t *testing.T) {
	cfg := made(t)
	before, first, second := open(t, cfg), open(t, cfg), open(t, cfg)
	ctx := t.Context()
	must(t, tryClaim(ctx, before, diskKey))
	must(t, before.RecordPosted(ctx, diskKey, AcceptedAnswer{RemoteName: "snap-1"}))
	view(t, first, diskKey)
	view(t, second, diskKey)
	must(t, tryClaimAgain(ctx, first, diskKey))
	must(t, first.RecordPosted(ctx, diskKey, AcceptedAnswer{RemoteName: "snap-2"}))
	wantErr(t, tryClaimAgain(ctx, second, diskKey), ErrConflict)
	if rec := view(t, second, diskKey); rec.State != Posted || rec.RemoteName != "snap-2" {
		t.Errorf("the record of the first became %+v", rec)
	}
}

func TestSpecsOfConvergingObjects(t *testing.T) {
	cfg := made(t)
	l, ctx := open(t, cfg), t.Context()
	one, two := []byte(`{"a":1,"b":1}`), []byte(`{"a":2}`)
	must(t, l.RecordPending(ctx, cdnKey, one, nil))
	if rec := view(t, l, cdnKey); begun(rec) != string(one) || rec.Applied != nil {
		t.Errorf("pending %+v", rec)
	}
	must(t, l.DropPending(ctx, cdnKey))
	if rec := view(t, l, cdnKey); rec.Pending != nil {
		t.Errorf("dropped %+v", rec)
	}
	must(t, l.RecordPending(ctx, cdnKey, one, nil))
	must(t, l.RecordApplied(ctx, cdnKey, AppliedSpec{Spec: one, UID: "u"}))
	if rec := view(t, l, cdnKey); string(rec.Applied) != string(one) || rec.Pending != nil || !rec.NotConverged || rec.UID != "u" || rec.Seq != 4 {
		t.Errorf("applied %+v", rec)
	}
	// A run dies between Pending and its outcome; the next is refused. What the
	// first may have written stays known.
	must(t, open(t, cfg).RecordPending(ctx, cdnKey, []byte(`{"a":1,"c":1}`), nil))
	next := open(t, cfg)
	wantErr(t, next.DropPending(ctx, cdnKey), ErrConflict)
	must(t, next.RecordPending(ctx, cdnKey, two, nil))
	if rec := view(t, next, cdnKey); begun(rec) != `{"a":1,"c":1} `+string(two) {
		t.Errorf("pending %s", rec.Pending)
	}
	must(t, next.DropPending(ctx, cdnKey))
	if rec := view(t, next, cdnKey); begun(rec) != `{"a":1,"c":1}` {
		t.Errorf("pending %s after the drop", rec.Pending)
	}
	wantErr(t, l.RecordApplied(ctx, cdnKey, AppliedSpec{Spec: two, Converged: true}), ErrConflict)
	must(t, open(t, cfg).RecordApplied(ctx, cdnKey, AppliedSpec{Spec: two, Converged: true}))
	if rec := view(t, l, cdnKey); string(rec.Applied) != string(two) || rec.Pending != nil || rec.NotConverged {
		t.Errorf("applied %+v", rec)
	}
}

// TestWhatWasLookedAtIsNotRecordedOverWhatIsBegun: live is as an older commit has
// it, and another run begins to write it meanwhile and dies.
func TestWhatWasLookedAtIsNotRecordedOverWhatIsBegun(t *testing.T) {
	cfg := made(t)
	older, newer := open(t, cfg), open(t, cfg)
	view(t, older, cdnKey)
	must(t, newer.RecordPending(t.Context(), cdnKey, []byte(`{"a":1,"b":1}`), nil))
	wantErr(t, older.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: []byte(`{"a":1}`), Converged: true}), ErrConflict)
	if rec := view(t, older, cdnKey); begun(rec) != `{"a":1,"b":1}` {
		t.Errorf("what may be live is forgotten: %+v", rec)
	}
	must(t, older.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: []byte(`{"a":1}`), Converged: true}))
}

func TestAdopt(t *testing.T) {
	l := open(t, made(t))
	ctx := t.Context()
	a := Adoption{Spec: someSpec, Digest: someSum, Reason: "sent from the console", UID: "u"}
	for _, key := range []kind.Key{purgeKey, diskKey, cdnKey} {
		must(t, l.Adopt(ctx, key, a))
	}
	wantErr(t, tryClaim(ctx, l, purgeKey), ErrTaken)
	if err := l.Adopt(ctx, purgeKey, a); err == nil {
		t.Error("adopted twice")
	}
	if rec := view(t, l, diskKey); rec.State != Adopted || rec.UID != "u" || rec.Applied != nil {
		t.Errorf("adopted %+v", rec)
	}
	if rec := view(t, l, cdnKey); rec.State != "" || string(rec.Applied) != string(someSpec) || rec.Outcome.By != "mina" {
		t.Errorf("adopted %+v", rec)
	}
	records, err := l.ListRecords(ctx)
	if err != nil || len(records) != 3 || records[0].Key != cdnKey || records[2].Key != diskKey {
		t.Errorf("list %v, %v", records, err)
	}
}

func TestNothingBeginsWithoutAnAddress(t *testing.T) {
	cfg := made(t)
	cfg.Origins = nil
	l := open(t, cfg)
	if tryClaim(t.Context(), l, purgeKey) == nil || l.RecordPending(t.Context(), cdnKey, someSpec, nil) == nil {
		t.Error("a write began to an address that the ledger can't check")
	}
}

func TestKindsAreSpelledAsTheyAre(t *testing.T) {
	l := open(t, made(t))
	key := kind.Key{Kind: "purge", Name: "rel-42"}
	ctx := t.Context()
	_, viewErr := l.ReadView(ctx, []kind.Key{key})
	for name, err := range map[string]error{
		"view": viewErr, "claim": tryClaim(ctx, l, key), "again": tryClaimAgain(ctx, l, key),
		"pending": l.RecordPending(ctx, key, someSpec, nil), "adopt": l.Adopt(ctx, key, Adoption{}), "resolve": l.Resolve(ctx, key, ResolvePosted, "x"),
	} {
		if err == nil {
			t.Errorf("%s took the kind %s", name, key.Kind)
		}
	}
}

func TestMovedLedgerStopsARunInProgress(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	dir := filepath.Join(cfg.Dir, "ledger")
	must(t, os.Rename(dir, dir+".away"))
	if err := tryClaim(t.Context(), l, diskKey); err == nil {
		t.Error("claimed in a ledger that is gone")
	}
	if v, err := l.ReadView(t.Context(), []kind.Key{purgeKey}); err != nil || v.Problem == "" {
		t.Errorf("view %+v, %v", v, err)
	}
}

// failStore fails as a disk does: when it reads, or when it writes.
type failStore struct {
	RecordStore
	read, put error
}

func (f failStore) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	if f.read != nil {
		return nil, f.read
	}
	return f.RecordStore.Read(ctx, keys)
}

func (f failStore) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, f, changes, f.Put)
}

func (f failStore) Put(ctx context.Context, seq int, rec Record) error {
	if f.put != nil {
		return f.put
	}
	return putOne(ctx, f.RecordStore, seq, rec)
}

func TestFailuresOfTheStore(t *testing.T) {
	eio := errors.New("input/output error")
	l := open(t, made(t))
	good := l.store
	l.store = failStore{RecordStore: good, read: eio}
	_, err := l.ReadView(t.Context(), []kind.Key{purgeKey})
	wantErr(t, err, eio)
	wantErr(t, tryClaim(t.Context(), l, purgeKey), eio)
	l.store = failStore{RecordStore: good, put: eio}
	wantErr(t, tryClaim(t.Context(), l, purgeKey), eio)
	l.store = good
	// A claim that failed is not ours to end.
	wantErr(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}), ErrConflict)
	if _, err := l.Claim(t.Context(), purgeKey, Intent{Spec: []byte("{"), Digest: someSum, At: NewInstant(testTime, testTime)}); err == nil {
		t.Error("claimed a spec that is no JSON")
	}
}

// halfStore writes and says that it failed, as a disk whose last flush fails.
type halfStore struct {
	RecordStore
	fails bool
}

func (s *halfStore) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, s, changes, s.Put)
}

func (s *halfStore) Put(ctx context.Context, seq int, rec Record) error {
	err := putOne(ctx, s.RecordStore, seq, rec)
	if s.fails && err == nil {
		s.fails = false
		return errors.New("input/output error")
	}
	return err
}

func TestAClaimThatWasNotConfirmedIsReleased(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	store := &halfStore{RecordStore: l.store, fails: true}
	l.store = store
	if tryClaim(t.Context(), l, purgeKey) == nil {
		t.Fatal("claimed by a write that failed")
	}
	if rec := view(t, l, purgeKey); rec.State != "" || rec.Seq != 2 {
		t.Errorf("left as %+v", rec)
	}
	must(t, tryClaim(t.Context(), l, purgeKey))
	must(t, l.MarkResumable(t.Context(), purgeKey, "timeout"))
	store.fails = true
	l.store = store
	must(t, l.RecordProof(t.Context(), kind.Delivery, DuplicateProof{At: testTime, Name: "p", HTTP: 409}))
	if _, err := takeOver(t.Context(), l, purgeKey, someIntent()); err == nil {
		t.Fatal("taken over by a write that failed")
	}
	if rec := view(t, l, purgeKey); rec.State != Claimed || !rec.Left || !rec.EarlierUnknown || !rec.FirstClaimAt.Equal(testTime) {
		t.Errorf("left as %+v", rec)
	}
}

// TestExecutedAfterAPersonSaidItWasNot: the answer was given while the request
// was on its way; that it arrived is certain, and it is not sent again.
func TestExecutedAfterAPersonSaidItWasNot(t *testing.T) {
	cfg := made(t)
	mine := open(t, cfg)
	must(t, tryClaim(t.Context(), mine, purgeKey))
	cfg.Now = func() time.Time { return testTime.Add(Lease) }
	other := open(t, cfg)
	must(t, other.Resolve(t.Context(), purgeKey, ResolveRepost, "not seen"))
	must(t, mine.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{UID: "u"}))
	rec := view(t, other, purgeKey)
	if rec.State != Posted || rec.UID != "u" || string(rec.Spec) != string(someSpec) || *rec.SpecDigest != someSum || !rec.FirstClaimAt.Equal(testTime) {
		t.Errorf("%+v", rec)
	}
	wantErr(t, tryClaim(t.Context(), other, purgeKey), ErrTaken)
}
