package ledger_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// theory is what a test holds of all its histories.
type theory struct {
	store func() storeMaker
	tally *tally
	// sets are trees of one purge and more.
	sets []*manifest.Set
	// stale moves the check of the window to the beginning of a run; credulous
	// trusts a proof of a platform that executes duplicates.
	stale, credulous bool
	// most bounds the runs of a history.
	most int
	// plain leaves out what the model does not know: other clients, and odd refusals of a duplicate.
	plain bool
}

// live draws a history, lives it to its end, and returns its world.
func (th theory) live(t *rapid.T) *world {
	w := th.begin(t)
	defer w.store.close()
	defer w.end()
	w.found()
	start := w.now
	for range 3 + w.draw("runs", th.most-2) {
		r := &run{skew: w.skew(), batch: []int{1, 20}[w.draw("batch", 2)], stale: th.stale}
		w.at(w.batchDelay(start), func() { w.start(r) })
	}
	for range w.draw("visits", 4) {
		w.at(w.batchDelay(start), w.visit)
	}
	if w.draw("others", 6) == 5 && !th.plain {
		o := w.set.Objects[w.draw("which", len(w.set.Objects))]
		w.at(w.batchDelay(start), func() { w.platform.meddle(o.Kind, o.Name, o.Spec) })
	}
	w.play()
	// What runs are reduced to is bounded by the bubble's time, which stands
	// still else.
	time.Sleep(5 * time.Millisecond)
	w.calm = true
	w.settle()
	th.tally.histories++
	th.tally.steps += len(w.trace)
	for _, n := range w.platform.ours {
		th.tally.executed += n
	}
	return w
}

var historyStart = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func (th theory) begin(t *rapid.T) *world {
	w := &world{
		t: t, now: historyStart, store: th.store(), tally: th.tally,
		records: map[kind.Key]ledger.Record{}, lastPost: map[kind.Key]time.Time{},
	}
	w.nature = nature{
		luck: 1024, window: []time.Duration{ledger.DefaultWindow, 22 * time.Hour, time.Hour}[w.draw("window", 3)],
		proven: w.draw("proven", 2) == 1, dateless: w.draw("dateless", 4) == 3, gap: delay,
	}
	how := refuses(w.draw("refuses", 5))
	if th.plain && how != notAtAll {
		how = byConflict
	}
	switch {
	case th.credulous:
		how, w.nature.proven = notAtAll, true
	case how == notAtAll:
		w.nature.proven = false
	}
	if w.nature.proven {
		// As long as a window that is kept to leaves.
		w.nature.gap = min(3*time.Hour, 23*time.Hour-w.nature.window)
	}
	w.nature.luck = []int{1000, 900, 700, 400}[w.draw("faults", 4)]
	w.platform = newPlatform(how, func() time.Time { return w.now }, func() time.Duration {
		return 23*time.Hour + 30*time.Minute + time.Duration(w.draw("life", 61))*time.Minute
	})
	w.set = th.sets[w.draw("purges", len(th.sets))]
	return w
}

// found makes the ledger of the history.
func (w *world) found() {
	g := ledger.Genesis{
		Schema: ledger.Schema, Seq: 1, LedgerID: "ledger-1", CreatedAt: w.now,
		Origins: historyOrigins, Workspace: historyWorkspace.UUID,
	}
	store := w.direct(w.store.open())
	err := store.WriteGenesis(context.Background(), 0, g)
	if err == nil && w.nature.proven {
		var l *ledger.Ledger
		if l, err = w.ledger(store, func() time.Time { return w.now }, "founder"); err == nil {
			for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
				err = errors.Join(err, l.RecordProof(context.Background(), area, ledger.DuplicateProof{At: w.now, Name: "probe", HTTP: 409}))
			}
		}
	}
	if err != nil {
		w.t.Fatalf("found a ledger: %v", err)
	}
}

// moment is a time within 48 hours: often near that of the last one.
func (w *world) batchDelay(start time.Time) time.Time {
	if w.draw("soon", 2) == 0 {
		w.last = w.last.Add(w.span("after", time.Hour))
	} else {
		w.last = start.Add(time.Duration(w.draw("minute", 48*60)) * time.Minute)
	}
	return w.last
}

func (w *world) skew() time.Duration {
	return time.Duration(w.draw("skew", 601)-300) * time.Second
}

// settle lets people and runs without faults finish what was left.
func (w *world) settle() {
	for range 6 {
		w.now = w.now.Add(25 * time.Hour)
		w.start(&run{batch: 20})
		w.play()
		w.visit()
	}
	last := w.runs[len(w.runs)-1]
	if last.err != nil {
		w.fault("the last run: %v", last.err)
		return
	}
	for _, it := range last.plan.Items {
		rec := w.records[it.Key]
		done := it.Op == plan.None || it.Op == plan.Kept && rec.State == ledger.Abandoned
		if !done {
			w.fault("%s is not settled: %s, %s", it.Key, it.Op, it.Reason)
		}
	}
}

// tell says what went wrong, and what had happened.
func (w *world) tell() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%+v, refuses %d\n", strings.Join(w.wrong, "\n"), w.nature, w.platform.refuses)
	for _, s := range w.trace {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// inMemory is a store that needs nothing of the real world.
type inMemory struct{ *ledger.Memory }

func (m inMemory) open() ledger.RecordStore      { return m.Memory }
func (m inMemory) outside(do func() error) error { return do() }
func (m inMemory) close()                        {}

// lasting is a store that needs the real world's time, which does not go on in the
// bubble of a history: its calls are made by a goroutine of their own.
type lasting struct {
	opener ledger.StoreOpener
	todo   chan<- func() error
	done   <-chan error
	opened []ledger.RecordStore
}

func (r *lasting) outside(do func() error) error {
	r.todo <- do
	return <-r.done
}

func (r *lasting) open() ledger.RecordStore {
	var s ledger.RecordStore
	err := r.outside(func() (err error) { s, err = r.opener(); return err })
	if err != nil {
		panic(err)
	}
	r.opened = append(r.opened, s)
	return s
}

func (r *lasting) close() {
	for _, s := range r.opened {
		if c, ok := s.(io.Closer); ok {
			_ = r.outside(c.Close)
		}
	}
}

// newTheory holds what is held of every history, on a store in memory.
func newTheory(t *testing.T) theory {
	t.Helper()
	th := theory{tally: newTally(), most: 8, store: func() storeMaker { return inMemory{ledger.NewMemory()} }}
	for n := range 3 {
		set, err := treeOf(n+1, snapshotText)
		if err != nil {
			t.Fatal(err)
		}
		th.sets = append(th.sets, set)
	}
	return th
}

// check lives n histories, each of which must end well.
func (th theory) check(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	usual := checks.String()
	defer func() { _ = checks.Set(usual) }()
	if err := checks.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		// Without the deadline of the test, which has no meaning in a bubble.
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			if w := th.live(t); len(w.wrong) > 0 {
				t.Fatal(w.tell())
			}
		})
	})
	t.Log(th.tally)
}

func TestHistories(t *testing.T) {
	th := newTheory(t)
	n := long.Times(300)
	th.check(t, n)
	if none := th.tally.missing(); n >= 10000 && len(none) > 0 {
		t.Errorf("never met: %q", none)
	}
}

// TestHistoriesOnStores lives some histories on each store that lasts.
func TestHistoriesOnStores(t *testing.T) {
	for name, prepare := range ledger.HistoryStores() {
		t.Run(name, func(t *testing.T) {
			opener := prepare(t)
			todo, done := make(chan func() error), make(chan error)
			defer close(todo)
			go func() {
				for do := range todo {
					done <- do()
				}
			}()
			th, count := newTheory(t), 0
			th.store = func() storeMaker {
				count++
				return &lasting{opener: opener(count), todo: todo, done: done}
			}
			th.check(t, long.Times(1))
		})
	}
}

// TestHistoriesFindDoubles: the same histories find requests that were executed
// twice where the one rule is asked only at a run's beginning, and where a proof
// is believed of a platform that executes duplicates. They find none else.
func TestHistoriesFindDoubles(t *testing.T) {
	long.SkipUnlessSet(t)
	for name, tt := range map[string]struct {
		most int
		with func(*theory)
	}{
		"nothing is broken":             {1000, func(*theory) {}},
		"checked at the beginning only": {10000, func(th *theory) { th.stale = true }},
		"sent again before proof":       {10000, func(th *theory) { th.credulous = true }},
	} {
		t.Run(name, func(t *testing.T) {
			th := newTheory(t)
			tt.with(&th)
			doubled := ""
			synctest.Test(t, func(*testing.T) {
				for seed := 0; seed < tt.most && doubled == ""; seed++ {
					if w := rapid.Custom(th.live).Example(seed); w.doubled {
						doubled = w.tell()
					}
				}
			})
			t.Logf("%d histories", th.tally.histories)
			if broken := th.stale || th.credulous; broken != (doubled != "") {
				t.Errorf("a request was executed twice: %q", doubled)
			}
		})
	}
}
