package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/blob"
	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/servers"
	"trueup/internal/kind"
)

var errUnsafe = errors.New("it took a second creation")

func TestLogStore(t *testing.T) {
	contract(t, func() RecordStore { return newLogStore(newMemoryBlobs(), nil, 0) })
}

// TestLogOnServer runs the contract, and races, on each real server.
func TestLogOnServer(t *testing.T) {
	for _, scheme := range servers.Schemes() {
		t.Run(scheme, func(t *testing.T) {
			servers.Store(t, scheme) // it skips before there are tests below this one
			fresh := func() *logStore {
				s := onServer(t, servers.Store(t, scheme))
				t.Cleanup(func() { must(t, s.Close()) })
				return s
			}
			contract(t, func() RecordStore { return fresh() })
			s := fresh()
			must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
			for round := range 10 {
				oneWinner(t, s, round)
			}
		})
	}
}

// another is the store of another run.
func (s *logStore) another() *logStore { return newLogStore(s.blobs, s.held, s.batchDelay) }

// oneWinner lets 24 writers, each with a store of its own, create one record.
func oneWinner(t *testing.T, s *logStore, round int) {
	t.Helper()
	var wg sync.WaitGroup
	var wins atomic.Int32
	var winner atomic.Value
	for i := range 24 {
		one := s.another()
		wg.Go(func() {
			rec := testRecord(fmt.Sprint("race-", round), 1)
			rec.Nonce = fmt.Sprint(i)
			err := one.Put(t.Context(), 0, rec)
			if err == nil {
				wins.Add(1)
				winner.Store(rec.Nonce)
			} else if !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	key := testRecord(fmt.Sprint("race-", round), 1).Key
	s.Invalidate()
	got, err := s.Read(t.Context(), []kind.Key{key})
	if err != nil || wins.Load() != 1 || got[key].Nonce != winner.Load() {
		t.Fatalf("%d winners, last %v; there is %q, %v", wins.Load(), winner.Load(), got[key].Nonce, err)
	}
}

// bornLog is a log in memory with a genesis.
func bornLog(t testing.TB) (memoryBlobs, *logStore) {
	t.Helper()
	blobs := newMemoryBlobs()
	s := newLogStore(blobs, nil, 0)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	return blobs, s
}

func TestLogRace(t *testing.T) {
	_, s := bornLog(t)
	for round := range 3 {
		oneWinner(t, s, round)
	}
}

// TestLogIsReadInFewSegments whatever was written and by whom: a reader finds what was
// written last of each record, and each file of the log says the same as the entries.
func TestLogIsReadInFewSegments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		blobs, s := bornLog(t)
		blobs.drops = rapid.Bool().Draw(rt, "drops")
		stores := []*logStore{s, s.another()}
		seqs := map[string]int{}
		for range rapid.IntRange(0, 90).Draw(rt, "writes") {
			writer := stores[rapid.IntRange(0, 1).Draw(rt, "writer")]
			var changes []RecordChange
			for name := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 3, rapid.ID).Draw(rt, "names") {
				key := fmt.Sprint(name)
				changes = append(changes, RecordChange{ExpectSeq: seqs[key], Rec: testRecord(key, seqs[key]+1)})
				seqs[key]++
			}
			if err := errors.Join(writer.PutAll(t.Context(), changes)...); err != nil {
				rt.Fatal(err)
			}
		}
		blobs.calls = nil
		reader := s.another()
		if g, err := reader.ReadGenesis(t.Context()); err != nil || g.LedgerID != "ledger-1" {
			rt.Fatalf("%+v, %v", g, err)
		}
		if len(blobs.calls) > 1+maxSegments {
			rt.Errorf("%d calls for %d entries: %v", len(blobs.calls), reader.state.last, blobs.calls)
		}
		all := readAll(t, reader)
		for key, seq := range seqs {
			if all["Purge/"+key].Seq != seq || all["Purge/"+key].Nonce != testRecord(key, seq).Nonce {
				rt.Errorf("%s is at %d, and was written up to %d", key, all["Purge/"+key].Seq, seq)
			}
		}
		if wrong, err := reader.inspectSegments(t.Context()); err != nil || len(wrong) > 0 {
			rt.Errorf("inspected: %v, %v", wrong, err)
		}
	})
}

// TestLogDamage is what is there and can't be, or is not there and must be: it is an
// error that names the place, never an absent record.
func TestLogDamage(t *testing.T) {
	rec, other := testRecord("a", 1), testRecord("b", 1)
	entry := entryFile(2)
	for name, harm := range map[string]func(blobs map[string][]byte){
		"gone":      func(b map[string][]byte) { delete(b, entry) },
		"empty":     func(b map[string][]byte) { b[entry] = nil },
		"cut short": func(b map[string][]byte) { b[entry] = b[entry][:len(b[entry])/2] },
		"cut at a line": func(b map[string][]byte) {
			b[entry] = b[entry][:bytes.LastIndexByte(b[entry][:len(b[entry])-1], '\n')+1]
		},
		"another's": func(b map[string][]byte) { b[entry] = b[entryFile(3)] },
		"of another": func(b map[string][]byte) {
			b[entry] = resealed(bytes.Replace(b[entry], []byte(`"name":"a","seq"`), []byte(`"name":"b","seq"`), 1))
		},
		"another seq": func(b map[string][]byte) {
			b[entry] = resealed(bytes.Replace(b[entry], []byte(`"at":2,"seq":1`), []byte(`"at":2,"seq":7`), 1))
		},
		"not utf-8": func(b map[string][]byte) {
			b[entry] = resealed(bytes.Replace(b[entry], []byte("hostname"), []byte("\xff"), 1))
		},
		"a later field": func(b map[string][]byte) {
			b[entry] = resealed(bytes.Replace(b[entry], []byte(`"state"`), []byte(`"later":1,"state"`), 1))
		},
		"newer": func(b map[string][]byte) {
			b[entry] = resealed(bytes.Replace(b[entry], []byte(Schema), []byte("trueup.ledger/v9"), 1))
		},
		"spliced": func(b map[string][]byte) {
			b[entry] = resealed(bytes.Replace(b[entry], []byte(`"after":"`), []byte(`"after":"x`), 1))
		},
		"a flipped bit": func(b map[string][]byte) {
			b[entry] = bytes.Replace(b[entry], []byte("hostname"), []byte("hostnamd"), 1)
		},
		"not ours": func(b map[string][]byte) { b["log/0000000/note.txt"] = []byte("mine") },
	} {
		t.Run(name, func(t *testing.T) {
			blobs, s := bornLog(t)
			mustPut(t, s, 0, rec)
			mustPut(t, s, 0, other)
			for name, content := range blobs.blobs {
				blobs.blobs[name] = unpacked(t, content)
			}
			harm(blobs.blobs)
			run := s.another()
			_, err := run.Read(t.Context(), []kind.Key{rec.Key})
			want := ErrDamaged
			if name == "newer" {
				want = ErrNewer
			}
			wantErr(t, err, want)
			if text := err.Error(); !strings.Contains(text, "log") {
				t.Errorf("the error names no place: %v", err)
			}
			if err := run.EachRecord(t.Context(), func(_ Record, err error) error { return err }); err == nil {
				t.Error("All passed over it")
			}
			if wrong, err := run.inspectSegments(t.Context()); err != nil || len(wrong) != 1 && name != "spliced" {
				t.Errorf("inspected: %v, %v", wrong, err)
			}
		})
	}
}

// TestLogProvesAnEntry: a run makes a small entry again.
func TestLogProvesAnEntry(t *testing.T) {
	blobs, s := bornLog(t)
	for i := range maxSegments - 1 {
		mustPut(t, s, 0, testRecord(fmt.Sprint(i), 1))
	}
	blobs.calls = nil
	mustPut(t, s.another(), 0, testRecord("a", 1))
	if !slices.Contains(blobs.calls, "prove "+entryFile(1)) {
		t.Errorf("calls: %q", blobs.calls)
	}
}

// TestLogFaults is what a creation that goes wrong comes to.
func TestLogFaults(t *testing.T) {
	lost := errors.New("no answer")
	for _, done := range []bool{false, true} {
		blobs, s := bornLog(t)
		blobs.fault = func(call, _ string) (bool, error) {
			if call == "create" {
				return done, lost
			}
			return false, nil
		}
		wantErr(t, s.Put(t.Context(), 0, testRecord("a", 1)), lost)
		blobs.fault = nil
		key := testRecord("a", 1).Key
		if got, err := s.Read(t.Context(), []kind.Key{key}); err != nil || (len(got) == 1) != done {
			t.Errorf("done %t: %v, %v", done, got, err)
		}
		mustPut(t, s, 0, testRecord("b", 1))
	}
	blobs, s := bornLog(t)
	blobs.ignores = true
	wantErr(t, s.another().Put(t.Context(), 0, testRecord("a", 1)), errUnsafe)
	blobs.ignores = false
	// An entry that is there and that no listing shows.
	s = s.another()
	blobs.fault = func(call, name string) (bool, error) {
		if call == "create" && strings.Contains(name, "-2.") {
			return false, blob.ErrExists
		}
		return false, nil
	}
	if err := s.Put(t.Context(), 0, testRecord("a", 1)); err == nil || !strings.Contains(err.Error(), "shows it: the store is not safe") {
		t.Errorf("Put gave %v", err)
	}
}

// TestLogTurnedBack: who has read more than is there reads again.
func TestLogTurnedBack(t *testing.T) {
	blobs, s := bornLog(t)
	mustPut(t, s, 0, testRecord("a", 1))
	before := maps.Clone(blobs.blobs)
	mustPut(t, s, 1, testRecord("a", 2))
	mustPut(t, s, 0, testRecord("b", 1))
	maps.DeleteFunc(blobs.blobs, func(name string, _ []byte) bool { return before[name] == nil })
	s.Invalidate()
	if all := readAll(t, s); len(all) != 1 || all["Purge/a"].Seq != 1 {
		t.Errorf("records are %v", all)
	}
	// Who did not look goes on where the others are not: that is no log.
	late := s.another()
	mustPut(t, late, 0, testRecord("c", 1))
	mustPut(t, late, 0, testRecord("d", 1))
	maps.DeleteFunc(blobs.blobs, func(name string, _ []byte) bool { return before[name] == nil })
	s.Invalidate()
	for _, name := range []string{"e", "f"} {
		mustPut(t, s, 0, testRecord(name, 1))
	}
	mustPut(t, late, 0, testRecord("g", 1))
	_, err := s.another().ReadGenesis(t.Context())
	wantErr(t, err, ErrDamaged)
	if wrong, err := s.inspectSegments(t.Context()); err != nil || len(wrong) == 0 {
		t.Errorf("inspected: %v, %v", wrong, err)
	}
}

// TestLogRegrown: after a rollback another run has written as many entries as this run
// has read. This run sees them when it looks again, and before it absorbs entries.
func TestLogRegrown(t *testing.T) {
	t.Parallel()
	dir, bare, memory := filepath.Join(t.TempDir(), "ledger"), gitremote.Bare(t), newMemoryBlobs()
	clones := gitremote.Clone(t, bare)
	last := entryFile(maxSegments)
	for name, store := range map[string]struct {
		open     func() *logStore
		rollBack func()
	}{
		"memory": {func() *logStore { return newLogStore(memory, nil, 0) }, func() { delete(memory.blobs, last) }},
		"folder": {func() *logStore { return inFolder(dir) }, func() { must(t, os.Remove(filepath.Join(dir, last))) }},
		"git":    {func() *logStore { return openGit(t, clones, testRef) }, func() { gitremote.Cmd(t, bare, "update-ref", testRef, testRef+"~1") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := store.open()
			must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
			for n := range maxSegments - 1 {
				mustPut(t, s, 0, testRecord(fmt.Sprint(n), 1))
			}
			unaware := s.another()
			_ = readAll(t, unaware)
			store.rollBack()
			other := testRecord("p", 1)
			other.Nonce = "of the other run"
			mustPut(t, store.open(), 0, other)
			s.Invalidate()
			wantErr(t, s.Put(t.Context(), 0, testRecord("p", 1)), ErrConflict)
			wantErr(t, unaware.Put(t.Context(), 0, testRecord("p", 1)), ErrConflict)
			mustPut(t, unaware, 0, testRecord("c", 1))
			all := readAll(t, store.open())
			if len(all) != maxSegments || all["Purge/p"].Nonce != other.Nonce {
				t.Errorf("records are %v", all)
			}
		})
	}
}

// TestLogCrash ends a run at each call of each step of a record's life: whatever is open
// then is found, and another run goes on.
func TestLogCrash(t *testing.T) {
	blobs, s := bornLog(t)
	points := 0
	for i, to := range longLife() {
		before := maps.Clone(blobs.blobs)
		for n, dead := 0, true; dead; n, points = n+1, points+1 {
			for _, done := range []bool{false, true} {
				maps.DeleteFunc(blobs.blobs, func(string, []byte) bool { return true })
				maps.Copy(blobs.blobs, before)
				left := n
				dead = false
				blobs.fault = func(string, string) (bool, error) {
					if left--; left < 0 {
						dead = true
						return done && left == -1, errors.New("the run was stopped here")
					}
					return false, nil
				}
				err := s.another().Put(t.Context(), i, testRecord("a", i+1).after(to))
				blobs.fault = nil
				if err != nil && !dead {
					t.Fatal(err)
				}
				checkFound(t, s.another(), fmt.Sprintf("step %d, call %d", i+1, n))
			}
		}
	}
	t.Logf("%d points", points)
}

// TestLogCost is how many calls a request that is sent once costs, from a run's look to
// its outcome, and how many a look at a long log.
func TestLogCost(t *testing.T) {
	blobs, s := bornLog(t)
	calls := func(do func()) string {
		blobs.calls = nil
		do()
		for i, call := range blobs.calls {
			blobs.calls[i], _, _ = strings.Cut(call, " ")
		}
		return strings.Join(blobs.calls, " ")
	}
	key := testRecord("a", 1).Key
	read := func() {
		_, err := s.Read(t.Context(), []kind.Key{key})
		must(t, err)
	}
	s = s.another()
	if got := calls(read); got != "list get" {
		t.Errorf("a look takes %s", got)
	}
	if got := calls(func() { read(); mustPut(t, s, 0, testRecord("a", 1)) }); got != "prove create list" {
		t.Errorf("the first claim of a run takes %s", got)
	}
	if got := calls(func() { read(); mustPut(t, s, 1, testRecord("a", 2)) }); got != "create list" {
		t.Errorf("an outcome takes %s", got)
	}
}

// TestLogOrder is a listing that does not begin with what is newest.
func TestLogOrder(t *testing.T) {
	blobs := newMemoryBlobs()
	if err := newLogStore(unordered{blobs}, nil, 0).ProveConditions(t.Context()); err == nil {
		t.Error("proved")
	}
}

type unordered struct{ memoryBlobs }

func (u unordered) List(ctx context.Context, under string, most int) ([]string, error) {
	names, err := u.memoryBlobs.List(ctx, under, 0)
	slices.Reverse(names)
	if most > 0 && len(names) > most {
		names = names[:most]
	}
	return names, err
}

func (u unordered) SubStore(folder string) blob.Store {
	return unordered{u.memoryBlobs.SubStore(folder).(memoryBlobs)}
}
