package ledger

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"trueup/internal/kind"
)

// openOn opens the ledger that a store has, as a run whose clock is so much later.
func openOn(t *testing.T, s RecordStore, later time.Duration) *Ledger {
	t.Helper()
	cfg := testConfig(t.TempDir())
	cfg.Store, cfg.Backend, cfg.ID, cfg.NewID = "", s, testGenesis().LedgerID, nil
	cfg.Now = func() time.Time { return testTime.Add(later) }
	return open(t, cfg)
}

// makeOn makes a ledger in a store.
func makeOn(t *testing.T, s RecordStore) {
	t.Helper()
	g := testGenesis()
	g.Origins = testConfig("").Origins
	must(t, s.WriteGenesis(t.Context(), 0, g))
}

// beginTestRun makes a ledger that of an apply. skew is how much earlier the platform's clock is.
func beginTestRun(l *Ledger, skew time.Duration, despite string) *Ledger {
	now := l.cfg.Now()
	l.BeginRun(nil, ApplyHead{Claim: Claim{Commit: "c1"}, DespiteHold: despite}, NewInstant(now.Add(-skew), now), func(context.Context, *ApplyHead) ([]string, bool) {
		return nil, true
	})
	return l
}

func isHeld(err error) bool {
	_, held := errors.AsType[*HeldError](err)
	return held
}

// TestHoldStopsAnotherRun: on each store, a hold that another run sets stops the next claim of a run, and no outcome.
func TestHoldStopsAnotherRun(t *testing.T) {
	for name, prepare := range HistoryStores() {
		t.Run(name, func(t *testing.T) {
			opener := prepare(t)(1)
			openStore := func() RecordStore {
				s, err := opener()
				must(t, err)
				return s
			}
			ctx, docs := t.Context(), kind.Key{Kind: "CDN", Name: "docs"}
			makeOn(t, openStore())
			run, person := beginTestRun(openOn(t, openStore(), 0), 0, ""), openOn(t, openStore(), 0)
			must(t, run.RecordPending(ctx, cdnKey, someSpec, nil))
			_, _, err := person.SetHold(ctx, nil, testTime.Add(time.Hour), "sale")
			must(t, err)
			if err := run.RecordPending(ctx, docs, someSpec, nil); !isHeld(err) {
				t.Errorf("a write began despite a hold: %v", err)
			}
			if err := tryClaim(ctx, run, purgeKey); !isHeld(err) {
				t.Errorf("a purge was claimed despite a hold: %v", err)
			}
			must(t, run.RecordApplied(ctx, cdnKey, AppliedSpec{Spec: someSpec, Converged: true}))
			must(t, beginTestRun(openOn(t, openStore(), 0), 0, "incident 7").RecordPending(ctx, docs, someSpec, nil))

			// It ends by the earlier clock.
			late := beginTestRun(openOn(t, openStore(), 61*time.Minute), 2*time.Minute, "")
			if err := late.RecordPending(ctx, docs, someSpec, nil); !isHeld(err) {
				t.Errorf("a hold ended by the later clock: %v", err)
			}
			must(t, beginTestRun(openOn(t, openStore(), 61*time.Minute), 0, "").RecordPending(ctx, docs, someSpec, nil))

			// One of an object leaves the others alone, and is ended by its name.
			_, _, err = person.SetHold(ctx, []string{"CDN/docs"}, testTime.Add(time.Hour), "moves")
			must(t, err)
			_, err = person.EndHold(ctx, nil)
			must(t, err)
			if _, err := person.EndHold(ctx, nil); err == nil {
				t.Error("a hold of all was ended twice")
			}
			next := beginTestRun(openOn(t, openStore(), 0), 0, "")
			must(t, next.CheckNotSuperseded(ctx, cdnKey))
			must(t, next.RecordPending(ctx, cdnKey, someSpec, nil))
			if err := next.RecordPending(ctx, docs, someSpec, nil); !isHeld(err) {
				t.Errorf("a write began despite a hold of its object: %v", err)
			}
			_, err = person.EndHold(ctx, []string{"CDN/docs"})
			must(t, err)
			must(t, next.RecordPending(ctx, docs, someSpec, nil))
		})
	}
}

// TestLogHasEveryWrite: on each store that keeps a log, ReadLog finds every write, also those whose entries copies replaced.
func TestLogHasEveryWrite(t *testing.T) {
	for name, prepare := range HistoryStores() {
		t.Run(name, func(t *testing.T) {
			s, err := prepare(t)(1)()
			must(t, err)
			if _, isLog := s.(*logStore); !isLog {
				t.Skip("it keeps no log")
			}
			ctx := t.Context()
			makeOn(t, s)
			l := openOn(t, s, 0)
			const writes = 12 // 24 entries
			for n := range writes {
				key := []kind.Key{cdnKey, {Kind: "CDN", Name: "docs"}}[n%2]
				spec := fmt.Appendf(nil, `{"n":%d}`, n)
				must(t, l.RecordPending(ctx, key, spec, &LiveBefore{Absent: n < 2, Diff: []byte(`{}`)}))
				must(t, l.RecordApplied(ctx, key, AppliedSpec{Spec: spec, Converged: true}))
			}
			for only, want := range map[string]int{"": writes, "shop": writes / 2} {
				var wants func(kind.Key) bool
				if only != "" {
					wants = func(k kind.Key) bool { return k.Name == only }
				}
				var found []LogEntry
				_, err := l.ReadLog(ctx, wants, func(e LogEntry) bool {
					found = append(found, e)
					return true
				})
				must(t, err)
				if len(found) != want {
					t.Fatalf("%q: it has %d writes, not %d", only, len(found), want)
				}
				for i, e := range found {
					n := writes - 1 - i*writes/want
					if only != "" {
						n = writes - 2 - 2*i
					}
					if string(e.Sent) != fmt.Sprintf(`{"n":%d}`, n) || e.Entry != 2*n+2 || (e.Did == DidCreate) != (n < 2) || e.Unconfirmed || e.Claim == nil {
						t.Errorf("write %d is %+v", n, e)
					}
				}
			}
			n := 0
			if _, err := l.ReadLog(ctx, nil, func(LogEntry) bool { n++; return n < 3 }); err != nil || n != 3 {
				t.Errorf("it went on for %d writes", n)
			}
		})
	}
}
