package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/blob"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
)

// FoldFinal is a record as a fold leaves it, if its outcome is final, whenever that was.
func FoldFinal(rec Record) (Record, bool) {
	return rec.folded(), !rec.Folded && rec.isFoldable(testNow.AddDate(100, 0, 0))
}

// FoldNow folds what is final and old enough, worthwhile or not.
func FoldNow(ctx context.Context, s RecordStore, now time.Time) error {
	since := now.Add(-foldAge)
	switch s := s.(type) {
	case *Memory:
		s.mu.Lock()
		defer s.mu.Unlock()
		for key, rec := range s.records {
			if rec.isFoldable(since) {
				s.records[key] = rec.folded()
			}
		}
	case *logStore:
		return s.withGenesis(ctx, func() error { return s.foldSince(ctx, now, since) })
	}
	return nil
}

// fold folds all that is final. Each fold has a time of its own.
func (w *foldWorld) fold(s *logStore) error {
	w.folds++
	return w.orLate(FoldNow(w.t.Context(), s, testNow.Add(time.Duration(w.folds)*2*foldAge)))
}

// store is that of a new run.
func (w *foldWorld) store() *logStore {
	blobs := w.blobs
	if w.blobs.drops {
		blobs.seen = new(int)
	}
	return newLogStore(blobs, nil, 0)
}

// orLate returns no error of a run that lasted for two folds: what it needs may be gone.
func (w *foldWorld) orLate(err error) error {
	if w.folds > w.begun+1 && errors.Is(err, errMissing) {
		return ErrConflict
	}
	return err
}

// foldWorld is a log with purges, some of them folded, and what each record must be.
type foldWorld struct {
	t     *testing.T
	blobs memoryBlobs
	want  map[string]int // the seq of each record
	// maybe are records that a run wrote, but was not told so.
	maybe map[string]bool
	// folds counts the folds, begun those of the beginning, claims the runs that have claimed the purge "raced".
	folds, begun, claims int
	// open are stores whose state is of the beginning.
	open []*logStore
}

// newFoldWorld makes one, in a store like git or another.
func newFoldWorld(t *testing.T, git bool) *foldWorld {
	t.Helper()
	w := &foldWorld{t: t, blobs: newMemoryBlobs(), want: map[string]int{}, maybe: map[string]bool{}}
	w.blobs.drops = git
	s := w.store()
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	put := func(names ...string) {
		for _, name := range names {
			mustPut(t, s, 0, w.record(name))
			w.want["Purge/"+name] = 1
		}
	}
	put("a", "c", "e")
	cdn := w.record("shop")
	cdn.Kind, cdn.State = "CDN", ""
	mustPut(t, s, 0, cdn)
	w.want["CDN/shop"] = 1
	must(t, w.fold(s))
	put("b", "f", "claimed-1")
	must(t, w.fold(s))
	put("d", "g")
	unknown := w.record("unknown")
	unknown.Seq, unknown.State, unknown.FirstClaimAt, unknown.ClaimedAt = 1, Unknown, &testNow, &testNow
	mustPut(t, s, 0, unknown)
	w.want["Purge/unknown"] = 1
	// The last entry is large, so that a run that writes two absorbs only the first of them.
	var many []RecordChange
	for n := range 10 {
		name := fmt.Sprint("many-", n)
		many = append(many, RecordChange{Rec: w.record(name)})
		w.want["Purge/"+name] = 1
	}
	must(t, errors.Join(s.PutAll(t.Context(), many)...))
	for range 3 {
		other := w.store()
		must(t, other.withState(t.Context(), func() error { return other.proveOnce(t.Context()) }))
		w.open = append(w.open, other)
	}
	w.begun = w.folds
	return w
}

// record is one whose outcome is final, with its history.
func (w *foldWorld) record(name string) Record {
	rec := testRecord(name, 1)
	rec.History = []LogStep{{Seq: 1, Nonce: rec.Nonce, At: testNow, Event: string(evPost)}}
	rec.AcceptedAt = &testNow
	return rec
}

// check asserts that a new reader finds each record, and no damage.
func (w *foldWorld) check(when string) {
	w.t.Helper()
	s := w.store()
	all := readAll(w.t, s)
	for key := range w.maybe {
		if w.maybe[key] {
			delete(all, key)
			delete(w.want, key)
		}
	}
	keys := []kind.Key{{Kind: "Purge", Name: "none"}, {Kind: "Purge", Name: "zzz"}, {Kind: "Purge", Name: "A"}}
	for key, seq := range w.want {
		if all[key].Seq != seq {
			w.t.Errorf("%s: %s is at %d, want %d", when, key, all[key].Seq, seq)
		}
		keys = append(keys, all[key].Key)
	}
	found, err := w.store().Read(w.t.Context(), keys)
	if err != nil || len(found) != len(w.want) || len(all) != len(w.want) {
		w.t.Errorf("%s: read %d, all %d, want %d: %v", when, len(found), len(all), len(w.want), err)
	}
	for key, rec := range found {
		if rec.Key != key || rec.Nonce != testRecord(key.Name, rec.Seq).Nonce || key.Kind == "Purge" && *rec.SpecDigest != *testRecord(key.Name, 1).SpecDigest {
			w.t.Errorf("%s: the record of %s is %+v", when, key, rec)
		}
		if rec.Folded && (rec.State != Posted || rec.AcceptedAt == nil || rec.Spec != nil) {
			w.t.Errorf("%s: %s is folded as %+v", when, key, rec)
		}
	}
	if wrong, err := s.inspectSegments(w.t.Context()); err != nil || len(wrong) > 0 {
		w.t.Errorf("%s: inspected: %v, %v", when, wrong, err)
	}
}

// moves are what other runs do while one folds. The store is one that has read the log before.
func (w *foldWorld) moves() map[string]func(s *logStore) error {
	put := func(s *logStore, seq int, name string) error {
		rec, key := w.record(name), "Purge/"+name
		rec.Seq, rec.Nonce = seq+1, testRecord(name, seq+1).Nonce
		rec.History = []LogStep{{Seq: seq + 1, Nonce: rec.Nonce, At: testNow, Event: string(evPost)}}
		err := w.orLate(s.Put(w.t.Context(), seq, rec))
		if w.maybe[key] = errors.Is(err, ErrConflict) && w.folds > w.begun+1; w.maybe[key] {
			return nil
		}
		if err == nil {
			w.want[key] = seq + 1
		}
		return err
	}
	refused := func(s *logStore, name string) error {
		if err := s.Put(w.t.Context(), 0, w.record(name)); !errors.Is(err, ErrConflict) {
			return fmt.Errorf("a second claim of %s gave %w", name, cmpErr(err))
		}
		return nil
	}
	return map[string]func(s *logStore) error{
		"a claim":                     w.claim,
		"a new purge":                 func(s *logStore) error { return put(s, 0, "new") },
		"two new purges":              func(s *logStore) error { return errors.Join(put(s, 0, "new-1"), put(s, 0, "new-2")) },
		"a second claim":              func(s *logStore) error { return errors.Join(refused(s, "a"), refused(s, "d"), refused(s, "g")) },
		"another outcome":             func(s *logStore) error { return put(s, 1, "d") },
		"another outcome of a folded": func(s *logStore) error { return put(s, 1, "a") },
		"a fold":                      func(s *logStore) error { return ignoreConflict(w.fold(s)) },
		"two folds": func(*logStore) error {
			return errors.Join(ignoreConflict(w.fold(w.store())), ignoreConflict(w.fold(w.store())))
		},
		"a read": func(s *logStore) error {
			s.Invalidate()
			found, err := s.Read(w.t.Context(), []kind.Key{{Kind: "Purge", Name: "a"}, {Kind: "Purge", Name: "d"}, {Kind: "Purge", Name: "none"}})
			if err == nil && len(found) != 2 {
				err = fmt.Errorf("found %d records", len(found))
			}
			return ignoreConflict(w.orLate(err))
		},
		"a read of an old state": func(s *logStore) error {
			found, err := s.Read(w.t.Context(), []kind.Key{{Kind: "Purge", Name: "a"}, {Kind: "Purge", Name: "g"}})
			if err == nil && len(found) != 2 {
				err = fmt.Errorf("found %d records", len(found))
			}
			return ignoreConflict(w.orLate(err))
		},
	}
}

// claim claims a purge that other runs claim, too.
func (w *foldWorld) claim(s *logStore) error {
	err := s.Put(w.t.Context(), 0, w.record("raced"))
	if err == nil {
		w.claims++
		w.want["Purge/raced"] = 1
	}
	w.maybe["Purge/raced"] = w.claims == 0 && w.folds > w.begun+1
	return ignoreConflict(w.orLate(err))
}

func ignoreConflict(err error) error {
	if errors.Is(err, ErrConflict) || errors.Is(err, blob.ErrExists) {
		return nil
	}
	return err
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("nothing")
	}
	return err
}

// play makes one move with what comes between its calls: before call n, between runs.
func (w *foldWorld) play(move func() error, between map[int]func() error) (calls int, err error) {
	var mu sync.Mutex // of playing and calls: a move may make several calls at once
	playing := false
	w.blobs.before = func() {
		mu.Lock()
		if playing {
			mu.Unlock()
			return
		}
		playing = true
		n := calls
		calls++
		mu.Unlock()
		if do := between[n]; do != nil {
			if err := do(); err != nil {
				w.t.Errorf("before call %d: %v", n, err)
			}
		}
		mu.Lock()
		playing = false
		mu.Unlock()
	}
	err = move()
	w.blobs.before = nil
	return calls, err
}

// TestEveryFold lets each move of another run come between each two calls of a fold, with TRUEUP_LONG each pair of moves.
// Between each two calls of each move it lets another run claim a purge, and others fold until the entry of that claim is
// gone: by wrong clocks, that takes no time. Whatever comes when, nothing is lost, and no request is claimed twice.
func TestEveryFold(t *testing.T) {
	names := slices.Sorted(maps.Keys((&foldWorld{}).moves()))
	for _, git := range []bool{false, true} {
		for _, first := range names {
			t.Run(fmt.Sprintf("%s, git %t", first, git), func(t *testing.T) {
				t.Parallel()
				everyFold(t, git, first, names)
			})
		}
	}
}

func everyFold(t *testing.T, git bool, first string, names []string) {
	for at, last := 0, 1; at < last && !t.Failed(); at++ {
		for _, second := range names {
			for then := at; then < last || then == at; then++ {
				if then == at && second != names[0] {
					continue // the first move alone, once
				}
				if then > at && (second == first || !long.IsSet()) {
					break
				}
				w := newFoldWorld(t, git)
				moves := w.moves()
				do := map[int]func() error{at: func() error { return moves[first](w.open[0]) }}
				if then > at {
					do[then] = func() error { return moves[second](w.open[1]) }
				}
				folder := w.store()
				calls, err := w.play(func() error { return w.fold(folder) }, do)
				if ignoreConflict(err) != nil {
					t.Errorf("%s before call %d, %s before %d: %v", first, at, second, then, err)
				}
				last = max(last, calls)
				w.check(fmt.Sprintf("%s before call %d, %s before %d of %d", first, at, second, then, calls))
			}
		}
	}
	for at, last := 0, 1; at < last && !t.Failed(); at++ {
		w := newFoldWorld(t, git)
		calls, err := w.play(func() error { return w.moves()[first](w.open[0]) }, map[int]func() error{at: func() error {
			return errors.Join(w.claim(w.open[1]), w.fold(w.store()), w.fold(w.store()))
		}})
		if last = max(last, calls); err != nil || w.claims > 1 {
			t.Errorf("two folds before call %d of %s: %d runs claimed a purge: %v", at, first, w.claims, err)
		}
		w.check(fmt.Sprintf("two folds before call %d of %s", at, first))
	}
}

// TestFoldOfNothing lets another run write and fold a purge between each two calls of a fold that has none.
func TestFoldOfNothing(t *testing.T) {
	for at, last := 0, 1; at < last && !t.Failed(); at++ {
		w := newFoldWorld(t, false)
		must(t, w.fold(w.store()))
		calls, err := w.play(func() error { return w.fold(w.store()) }, map[int]func() error{at: func() error {
			return errors.Join(w.moves()["a new purge"](w.store()), w.fold(w.store()))
		}})
		if last = max(last, calls); ignoreConflict(err) != nil {
			t.Errorf("before call %d: %v", at, err)
		}
		w.check(fmt.Sprintf("before call %d", at))
	}
}

// TestFoldOfAClaim lets a run that slept claim a purge between each two calls of the fold that removes the entry of another
// claim.
func TestFoldOfAClaim(t *testing.T) {
	for at, last := 0, 1; at < last && !t.Failed(); at++ {
		w := newFoldWorld(t, false)
		must(t, errors.Join(w.claim(w.store()), w.fold(w.store())))
		calls, err := w.play(func() error { return w.fold(w.store()) }, map[int]func() error{at: func() error { return w.claim(w.open[0]) }})
		if last = max(last, calls); err != nil || w.claims != 1 {
			t.Errorf("before call %d: %d runs claimed a purge: %v", at, w.claims, err)
		}
		w.check(fmt.Sprintf("before call %d", at))
	}
}

// TestFoldsBesideAClaim lets another run claim the purge, and two others fold, before any calls of a claim, in this order.
func TestFoldsBesideAClaim(t *testing.T) {
	for _, absorbs := range []bool{false, true} {
		for a, last := 0, 1; a < last && !t.Failed(); a++ {
			for b := a; b < last; b++ {
				for c := b; c < last; c++ {
					w := newFoldWorld(t, false)
					if absorbs { // the second entry of a run
						must(t, w.moves()["a new purge"](w.open[0]))
					}
					fold := func() error { return w.fold(w.store()) }
					do := map[int]func() error{}
					for i, move := range []func() error{func() error { return w.claim(w.open[1]) }, fold, fold} {
						at := []int{a, b, c}[i]
						before := do[at]
						do[at] = func() (err error) {
							if before != nil {
								err = before()
							}
							return errors.Join(err, move())
						}
					}
					calls, err := w.play(func() error { return w.claim(w.open[0]) }, do)
					if last = max(last, calls); err != nil || w.claims > 1 {
						t.Errorf("before calls %d, %d and %d: %d runs claimed a purge: %v", a, b, c, w.claims, err)
					}
					w.check(fmt.Sprintf("before calls %d, %d and %d of %d", a, b, c, calls))
				}
			}
		}
	}
}

// TestKilledFold ends a fold at each call, before or after it took effect. Another run then folds what is left.
func TestKilledFold(t *testing.T) {
	for n, dead := 0, true; dead; n++ {
		for _, c := range []struct{ done, git bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			w, left := newFoldWorld(t, c.git), n
			dead = false
			w.blobs.fault = func(string, string) (bool, error) {
				if left--; left < 0 {
					dead = true
					return c.done && left == -1, errors.New("the run was stopped here")
				}
				return false, nil
			}
			_ = w.fold(w.store())
			w.blobs.fault = nil
			w.check(fmt.Sprintf("killed at call %d", n))
			for range 3 {
				must(t, w.fold(w.store()))
			}
			w.check(fmt.Sprintf("folded after a kill at call %d", n))
			s := w.store()
			if readAll(t, s); len(s.state.folded.Blocks) != 1 || len(w.blobs.blobs) > 3 {
				t.Errorf("after a kill at call %d: %d blocks, files %v", n, len(s.state.folded.Blocks), slices.Sorted(maps.Keys(w.blobs.blobs)))
			}
		}
	}
}

// TestFoldWithoutRemoval: a store may refuse to remove anything.
func TestFoldWithoutRemoval(t *testing.T) {
	w := newFoldWorld(t, false)
	w.blobs.fault = func(call, _ string) (bool, error) {
		if call == "remove" {
			return false, blob.ErrStore
		}
		return false, nil
	}
	must(t, w.fold(w.store()))
	w.check("nothing can be removed")
}

// TestFoldOfMany: blocks have about as many records as fit, whatever the order of names.
func TestFoldOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector, and uses one goroutine")
	}
	for name, order := range map[string]func(n int) int{"in order": func(n int) int { return n }, "at random": func(n int) int { return n * 7919 % 10007 }} {
		blobs, s := bornLog(t)
		w := &foldWorld{t: t, blobs: blobs, want: map[string]int{}, folds: 100}
		for round := range 10 {
			var changes []RecordChange
			for n := range 500 {
				key := fmt.Sprintf("rel-%05d", order(500*round+n))
				changes = append(changes, RecordChange{Rec: w.record(key)})
				w.want["Purge/"+key] = 1
			}
			must(t, errors.Join(s.PutAll(t.Context(), changes)...))
			now := testNow.Add(time.Duration(round+2) * 2 * foldAge)
			must(t, s.fold(t.Context(), now, now))
		}
		w.check(name)
		if blocks := s.state.folded.Blocks; len(blocks) < 5000/maxInBlock || len(blocks) > 1+2*5000/maxInBlock || len(s.state.lines) != 0 {
			t.Errorf("%s: %d blocks, %d records in the log", name, len(blocks), len(s.state.lines))
		}
		if first := s.state.folded; first.Begin.Entry == 0 || blobs.blobs[entryFile(first.Begin.Entry-1)] != nil || blobs.blobs[entryFile(first.Begin.Entry)] == nil {
			t.Errorf("%s: the log begins with %+v", name, first.Begin)
		}
	}
}

// TestFoldIsWorthwhile: only if there is much to fold, and the last fold was long ago.
func TestFoldIsWorthwhile(t *testing.T) {
	_, s := bornLog(t)
	w := &foldWorld{t: t}
	entries := func() int {
		s.Invalidate()
		must(t, s.withState(t.Context(), func() error { return nil }))
		return s.state.last
	}
	put := func(from, n int) {
		var changes []RecordChange
		for i := range n {
			changes = append(changes, RecordChange{Rec: w.record(fmt.Sprint("p-", from+i))})
		}
		must(t, errors.Join(s.PutAll(t.Context(), changes)...))
	}
	folds := func(now time.Time) bool {
		before := entries()
		must(t, s.fold(t.Context(), now, now))
		return entries() > before
	}
	late := testNow.Add(foldAge + time.Hour)
	if put(0, foldEvery-1); folds(late) {
		t.Error("it folds a few")
	}
	if put(1000, 1); folds(testNow.Add(foldAge-time.Hour)) || !folds(late) {
		t.Error("it does not wait for the window, or does not fold many")
	}
	if put(2000, foldEvery); folds(late.Add(time.Hour)) || !folds(late.Add(foldAge+time.Minute)) {
		t.Error("it folds soon after a fold, or never again")
	}
}

// TestVerifyOfFolds names what a fold, or somebody else, has lost.
func TestVerifyOfFolds(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(w *foldWorld)
		says string
	}{
		"a block is gone": {func(w *foldWorld) {
			maps.DeleteFunc(w.blobs.blobs, func(name string, _ []byte) bool { return strings.HasPrefix(name, "folded") })
		}, "folded/log"},
		"a block lacks a record": {func(w *foldWorld) {
			w.changeIndex(func(i *foldIndex, b []foldedRecord) []foldedRecord { i.Blocks[0].Records--; return b[:len(b)-1] })
		}, "a fold lost records"},
		"a record is another": {func(w *foldWorld) {
			w.changeIndex(func(_ *foldIndex, b []foldedRecord) []foldedRecord {
				b[1].text = []byte(strings.Replace(string(b[1].text), `"posted"`, `"adopted"`, 1))
				return b
			})
		}, "a fold lost records"},
		"a record was never folded": {func(w *foldWorld) {
			w.changeIndex(func(i *foldIndex, b []foldedRecord) []foldedRecord {
				last := b[len(b)-1]
				i.Blocks[0].Records--
				i.Records--
				i.Sum -= last.sum()
				return b[:len(b)-1]
			})
		}, "a fold lost the record of Purge/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFoldWorld(t, false)
			must(t, w.fold(w.store()))
			c.harm(w)
			wrong, err := w.store().inspectSegments(t.Context())
			if err != nil || len(wrong) == 0 || !strings.Contains(errors.Join(wrong...).Error(), c.says) {
				t.Errorf("inspected: %v, %v", wrong, err)
			}
		})
	}
}

// changeIndex writes the last fold as it would be with another block.
func (w *foldWorld) changeIndex(to func(*foldIndex, []foldedRecord) []foldedRecord) {
	w.t.Helper()
	s := w.store()
	must(w.t, s.withState(w.t.Context(), func() error { return nil }))
	index := s.state.folded
	records, err := s.readBlock(w.t.Context(), index.Blocks[0])
	must(w.t, err)
	content, err := encodeBlock(index.Blocks[0].ID, to(&index, records), true)
	must(w.t, err)
	w.blobs.blobs["folded/"+index.Blocks[0].fileName()] = content
	p, err := s.readSegment(w.t.Context(), s.state.last)
	must(w.t, err)
	p.Folded = &index
	file, err := p.encodeSegment(true)
	must(w.t, err)
	w.blobs.blobs[entryFile(p.Entry)] = file
}

// TestWriteOfAnOldState: a run that slept while others folded may have the number of an entry that is gone.
func TestWriteOfAnOldState(t *testing.T) {
	w := newFoldWorld(t, false)
	must(t, w.claim(w.store()))
	for range 3 {
		must(t, w.fold(w.store()))
	}
	if w.blobs.blobs[entryFile(w.open[0].state.last+1)] != nil {
		t.Error("the entry of the claim is still there")
	}
	wantErr(t, w.open[0].Put(t.Context(), 0, w.record("raced")), ErrConflict)
	w.check("after a sleep")
	must(t, w.moves()["a new purge"](w.open[1]))
	w.check("after another sleep")
}

// TestFoldByTwoClocks: a fold has the time of the later clock, and waits and folds by the earlier one.
func TestFoldByTwoClocks(t *testing.T) {
	_, s := bornLog(t)
	w := &foldWorld{t: t}
	skew := 30 * time.Hour
	at, n := testNow.Add(foldAge), 0
	fold := func(now, wall time.Time) (folded int) {
		var changes []RecordChange
		for range foldEvery {
			n++
			changes = append(changes, RecordChange{Rec: w.record(fmt.Sprint("p-", n))})
		}
		must(t, errors.Join(s.PutAll(t.Context(), changes)...))
		before := s.state.folded.Records
		l := &Ledger{store: s, cfg: Config{Now: func() time.Time { return wall }}}
		l.BeginRun(nil, ApplyHead{}, NewInstant(now, wall), nil)
		must1(l.FinishRun(t.Context(), View{}, ApplyEnd{}))(t)
		return s.state.folded.Records - before
	}
	if fold(at, at.Add(-skew)) != 0 || fold(at, at.Add(skew)) != 0 {
		t.Error("it folds what is young by the earlier clock")
	}
	at = at.Add(2 * skew)
	if fold(at, at.Add(-skew)) != 3*foldEvery || !s.state.folded.At.Equal(at) {
		t.Errorf("the fold is of %s, want %s", s.state.folded.At, at)
	}
	if fold(at.Add(time.Hour), at.Add(skew)) != 0 || fold(at.Add(skew), at.Add(skew)) != 2*foldEvery {
		t.Error("it does not wait by the earlier clock")
	}
}

// TestFoldOfWhatNeverFolds: purges that the platform rejected are no reason to fold.
func TestFoldOfWhatNeverFolds(t *testing.T) {
	_, s := bornLog(t)
	w := &foldWorld{t: t}
	var changes []RecordChange
	for n := range foldEvery {
		rec := w.record(fmt.Sprint("p-", n))
		rec.State, rec.AcceptedAt = Rejected, nil
		changes = append(changes, RecordChange{Rec: rec})
	}
	must(t, errors.Join(s.PutAll(t.Context(), changes)...))
	before, now := s.state.last, testNow.Add(3*foldAge)
	must(t, s.fold(t.Context(), now, now))
	if s.state.last != before {
		t.Error("it folds nothing")
	}
}

// TestLogOfFolded: the writes that the log still has are found, also those of purges that were folded.
func TestLogOfFolded(t *testing.T) {
	ctx := t.Context()
	for _, filter := range [][]string{nil, {"purge/*"}, {"cdn/*"}, {"cdn/*", "purge/*"}} {
		l := open(t, made(t))
		for range 2 {
			must(t, l.RecordPending(ctx, cdnKey, someSpec, &LiveBefore{Absent: true}))
			must(t, l.RecordApplied(ctx, cdnKey, AppliedSpec{Spec: someSpec, Converged: true}))
			_ = tryClaim(ctx, l, purgeKey)
			_ = l.RecordPosted(ctx, purgeKey, AcceptedAnswer{HTTP: 201})
		}
		wants := must1(kind.ParseFilter(filter...))(t)
		read := func() (found []string) {
			must1(l.ReadLog(ctx, wants, func(e LogEntry) bool {
				found = append(found, e.Title())
				return true
			}))(t)
			return found
		}
		before := read()
		must(t, FoldNow(ctx, l.store, testTime.Add(2*foldAge)))
		if after := read(); len(before) == 0 || !slices.Equal(after, before) {
			t.Errorf("%q: the log has %q, before the fold %q", filter, after, before)
		}
	}
}
