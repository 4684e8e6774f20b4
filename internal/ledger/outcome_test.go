package ledger

import (
	"context"
	"errors"
	"testing"
	"time"

	"trueup/internal/kind"
)

// unsteady is a store that fails some writes, and all reads after them.
type unsteady struct {
	RecordStore
	// fails says which of the next writes of a record fail, did that the failing ones
	// are done all the same, deaf that nothing can be read after the first of them.
	fails          int
	did, deaf, put bool
}

var errAway = errors.New("the store is away")

func (u *unsteady) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, u, changes, u.Put)
}

func (u *unsteady) Put(ctx context.Context, seq int, rec Record) error {
	if u.fails == 0 {
		return putOne(ctx, u.RecordStore, seq, rec)
	}
	u.fails--
	u.put = true
	if u.did {
		_ = putOne(ctx, u.RecordStore, seq, rec)
		u.did = false
	}
	return errAway
}

func (u *unsteady) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	if u.deaf && u.put && u.fails > 0 {
		u.fails--
		return nil, errAway
	}
	return u.RecordStore.Read(ctx, keys)
}

// onUnsteady is a ledger in memory with a purge that this run has claimed.
func onUnsteady(t *testing.T) (*Ledger, *unsteady, Config) {
	t.Helper()
	cfg := testConfig(t.TempDir())
	store := &unsteady{RecordStore: NewMemory()}
	cfg.Backend = store
	cfg = madeIn(t, cfg)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	return l, store, cfg
}

func TestAnOutcomeIsWrittenWhenTheStoreIsBack(t *testing.T) {
	for _, did := range []bool{false, true} {
		for _, deaf := range []bool{false, true} {
			l, store, _ := onUnsteady(t)
			store.fails, store.did, store.deaf = 7, did, deaf
			must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
			rec := view(t, l, purgeKey)
			if rec.State != Posted || rec.Seq != 2 || len(rec.History) != 2 {
				t.Errorf("done %v, deaf %v: %s at seq %d", did, deaf, rec.State, rec.Seq)
			}
		}
	}
}

func TestAnOutcomeIsNotWaitedForBeyondTheRun(t *testing.T) {
	l, store, cfg := onUnsteady(t)
	ctx, cancel := context.WithCancel(t.Context())
	waits := 0
	l.cfg.Sleep = func(context.Context, time.Duration) error {
		if waits++; waits == 3 {
			cancel()
		}
		return ctx.Err()
	}
	store.fails = 1000
	var lacks *UnrecordedError
	if err := l.RecordPosted(ctx, purgeKey, AcceptedAnswer{}); !errors.As(err, &lacks) || waits != 3 {
		t.Errorf("%v after %d waits", err, waits)
	}
	store.fails = 0
	if rec := view(t, open(t, cfg), purgeKey); rec.State != Claimed {
		t.Errorf("it is %s", rec.State)
	}
}

// TestARescueRecordAgreesWithAnOutcomeThatArrived although its answer was lost.
func TestARescueRecordAgreesWithAnOutcomeThatArrived(t *testing.T) {
	l, store, cfg := onUnsteady(t)
	store.fails, store.did, store.deaf = 1000, true, true
	var lacks *UnrecordedError
	if err := l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{UID: "u1"}); !errors.As(err, &lacks) {
		t.Fatal(err)
	}
	store.fails = 0
	done, err := open(t, cfg).Import(t.Context(), Backup{Records: []Record{lacks.Record}})
	if err != nil || done.Left != 1 || done.Added+done.Advanced != 0 {
		t.Errorf("import: %+v, %v", done, err)
	}
}

// TestARescueRecordAgreesWithWhatAnotherRunFound of the same intent.
func TestARescueRecordAgreesWithWhatAnotherRunFound(t *testing.T) {
	l, store, cfg := onUnsteady(t)
	store.fails = 1000
	var lacks *UnrecordedError
	if err := l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}); !errors.As(err, &lacks) {
		t.Fatal(err)
	}
	store.fails = 0
	must(t, open(t, cfg).Resolve(t.Context(), purgeKey, ResolvePosted, "it is in the log"))
	done, err := open(t, cfg).Import(t.Context(), Backup{Records: []Record{lacks.Record}})
	if err != nil || done.Left != 1 {
		t.Errorf("import: %+v, %v", done, err)
	}
}

// TestRunsOfOneSpecDoNotCollide: two applies of one commit write the same to a CDN.
func TestRunsOfOneSpecDoNotCollide(t *testing.T) {
	_, _, cfg := onUnsteady(t)
	a, b := open(t, cfg), open(t, cfg)
	cdn := kind.Key{Kind: "CDN", Name: "shop"}
	ctx, spec := t.Context(), AppliedSpec{Spec: []byte(`{"hostname":"a"}`), Converged: true}
	for _, l := range []*Ledger{a, b} {
		view(t, l, cdn)
	}
	must(t, a.RecordPending(ctx, cdn, spec.Spec, nil))
	must(t, b.RecordPending(ctx, cdn, spec.Spec, nil))
	must(t, a.RecordApplied(ctx, cdn, spec))
	must(t, b.RecordApplied(ctx, cdn, spec))
	if rec := view(t, a, cdn); rec.Pending != nil || string(rec.Applied) != string(spec.Spec) {
		t.Errorf("record %+v", rec)
	}

	other := []byte(`{"hostname":"b"}`)
	must(t, a.RecordPending(ctx, cdn, spec.Spec, nil))
	must(t, b.RecordPending(ctx, cdn, other, nil))
	if err := a.RecordApplied(ctx, cdn, spec); !errors.Is(err, ErrConflict) {
		t.Errorf("another spec is being written, but it says %v", err)
	}
}
