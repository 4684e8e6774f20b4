package ledger

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/kind"
)

// turnBack puts a ledger back to what it was before something happened.
func turnBack(t *testing.T, cfg Config, something func()) {
	t.Helper()
	dir, copied := filepath.Join(cfg.Dir, "ledger"), filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	something()
	must(t, os.RemoveAll(dir))
	must(t, os.CopyFS(dir, os.DirFS(copied)))
}

func TestALedgerThatWasTurnedBackIsNoticed(t *testing.T) {
	cfg := made(t)
	cfg.SeenCache = t.TempDir()
	l := open(t, cfg)
	turnBack(t, cfg, func() {
		must(t, tryClaim(t.Context(), l, purgeKey))
		must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
	})
	for _, who := range []struct {
		name    string
		witness string
		notices bool
	}{{"who saw it", cfg.SeenCache, true}, {"who did not", t.TempDir(), false}, {"who keeps nothing", "", false}} {
		cfg.SeenCache = who.witness
		v, err := open(t, cfg).ReadView(t.Context(), keysOf(purgeKey, cdnKey))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(v.Problem, "rolled back"); got != who.notices {
			t.Errorf("%s: problem %q", who.name, v.Problem)
		}
		if who.notices && (!strings.Contains(v.Problem, "posted") || !strings.Contains(v.Fix, "ledger import")) {
			t.Errorf("%q, %q", v.Problem, v.Fix)
		}
	}
}

// TestAnotherHistoryIsNoticed: after a turn back others went on, so that the
// steps alone look right.
func TestAnotherHistoryIsNoticed(t *testing.T) {
	cfg := made(t)
	cfg.SeenCache = t.TempDir()
	l := open(t, cfg)
	turnBack(t, cfg, func() {
		must(t, tryClaim(t.Context(), l, purgeKey))
		must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
	})
	other := cfg
	other.SeenCache = ""
	m := open(t, other)
	for range 2 {
		must(t, tryClaim(t.Context(), m, purgeKey))
		must(t, m.RecordOutcome(t.Context(), purgeKey, Outcome{How: Released, Message: QuoteMessage("no route")}))
	}
	v, err := open(t, cfg).ReadView(t.Context(), keysOf(purgeKey))
	if err != nil || !strings.Contains(v.Problem, "rolled back") {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestWhatOthersDidIsNoTurnBack(t *testing.T) {
	cfg := made(t)
	cfg.SeenCache = t.TempDir()
	must(t, tryClaim(t.Context(), open(t, cfg), purgeKey))
	// So many steps that the history does not reach back to what was seen.
	m := open(t, cfg)
	m.cfg.SeenCache = ""
	m.cfg.Now = func() time.Time { return testTime.Add(Lease) }
	must(t, m.Resolve(t.Context(), purgeKey, ResolveRepost, "gone"))
	for range maxSteps {
		must(t, tryClaim(t.Context(), m, purgeKey))
		must(t, m.RecordOutcome(t.Context(), purgeKey, Outcome{How: Released, Message: QuoteMessage("no route")}))
	}
	if v, err := open(t, cfg).ReadView(t.Context(), keysOf(purgeKey)); err != nil || v.Problem != "" {
		t.Errorf("%+v, %v", v, err)
	}
}

func keysOf(keys ...kind.Key) []kind.Key { return keys }

// lateStore gives a record as it was before another run moved it on.
type lateStore struct {
	RecordStore
	moved func()
}

func (s *lateStore) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	found, err := s.RecordStore.Read(ctx, keys)
	if move := s.moved; move != nil {
		s.moved = nil
		move()
	}
	return found, err
}

// TestARunBesideUsTurnsNothingBack: what another run of this machine writes
// between our look at the ledger and our look at what was seen is no turn back.
func TestARunBesideUsTurnsNothingBack(t *testing.T) {
	cfg := made(t)
	cfg.SeenCache = t.TempDir()
	ours, theirs := open(t, cfg), open(t, cfg)
	ours.store = &lateStore{ours.store, func() { must(t, tryClaim(t.Context(), theirs, purgeKey)) }}
	if rec := view(t, ours, purgeKey); rec.State != Claimed {
		t.Errorf("the record is %+v", rec)
	}
}

// TestRunsBesideUsMayWriteDuringBothReads is the same, when the other run writes
// again during the second look.
func TestRunsBesideUsMayWriteDuringBothReads(t *testing.T) {
	cfg := made(t)
	cfg.SeenCache = t.TempDir()
	ours, theirs := open(t, cfg), open(t, cfg)
	late := &lateStore{RecordStore: ours.store}
	late.moved = func() {
		must(t, tryClaim(t.Context(), theirs, purgeKey))
		late.moved = func() {
			must(t, theirs.RecordOutcome(t.Context(), purgeKey, Outcome{How: Released, Message: QuoteMessage("no route")}))
		}
	}
	ours.store = late
	if rec := view(t, ours, purgeKey); rec.State != Claimed {
		t.Errorf("the record is %+v", rec)
	}
}
