package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"trueup/internal/blob"
	"trueup/internal/canon"
	"trueup/internal/kind"
)

const testWorkspace = "5a1d0000-0000-4000-8000-000000000001"

func testGenesis() Genesis {
	return Genesis{Schema: Schema, Seq: 1, LedgerID: "ledger-1", Workspace: testWorkspace}
}

func testRecord(name string, seq int) Record {
	digest := canon.Digest([]byte(name))
	return Record{
		Schema: Schema, Workspace: testWorkspace, Key: kind.Key{Kind: "Purge", Name: name},
		Seq: seq, Nonce: fmt.Sprintf("nonce-%s-%d", name, seq),
		State: Posted, SpecDigest: &digest, Spec: CanonicalJSON(`{"hostname":"a.example"}`),
	}
}

func mustPut(t *testing.T, s RecordStore, seq int, rec Record) {
	t.Helper()
	if err := putOne(t.Context(), s, seq, rec); err != nil {
		t.Fatalf("Put %s over seq %d: %v", rec.Key, seq, err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// contract is what every store must hold. newStore returns a store in which
// there is nothing, each time another.
func contract(t *testing.T, newStore func() RecordStore) {
	born := func(t *testing.T) RecordStore {
		s := newStore()
		if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("no genesis is no empty ledger", func(t *testing.T) {
		s := newStore()
		_, err := s.ReadGenesis(t.Context())
		wantErr(t, err, ErrNoGenesis)
		_, err = s.Read(t.Context(), []kind.Key{testRecord("a", 1).Key})
		wantErr(t, err, ErrNoGenesis)
		wantErr(t, putOne(t.Context(), s, 0, testRecord("a", 1)), ErrNoGenesis)
		wantErr(t, s.EachRecord(t.Context(), func(Record, error) error { return nil }), ErrNoGenesis)
		_, err = s.RecentKeys(t.Context(), testLately)
		wantErr(t, err, ErrNoGenesis)
	})
	t.Run("genesis", func(t *testing.T) {
		s := born(t)
		wantErr(t, s.WriteGenesis(t.Context(), 0, testGenesis()), ErrConflict)
		g := testGenesis()
		g.Seq, g.Origins = 2, map[kind.Area]string{kind.Delivery: "https://a.example"}
		if err := s.WriteGenesis(t.Context(), 1, g); err != nil {
			t.Fatal(err)
		}
		wantErr(t, s.WriteGenesis(t.Context(), 1, g), ErrConflict)
		got, err := s.ReadGenesis(t.Context())
		if err != nil || got.Seq != 2 || got.Origins[kind.Delivery] != "https://a.example" {
			t.Fatalf("genesis is %+v, %v", got, err)
		}
	})
	t.Run("compare and swap", func(t *testing.T) { contractSwap(t, born(t)) })
	t.Run("records are apart", func(t *testing.T) { contractKeys(t, born(t)) })
	t.Run("many at once", func(t *testing.T) { contractMany(t, born(t)) })
	t.Run("one winner of a race", func(t *testing.T) { contractRace(t, born(t)) })
	t.Run("refuses what it could not read", func(t *testing.T) {
		s := born(t)
		bad := testRecord("a", 1)
		bad.Nonce = ""
		for _, rec := range []Record{bad, testRecord("a", 0), {}} {
			if err := putOne(t.Context(), s, 0, rec); err == nil || errors.Is(err, ErrConflict) {
				t.Errorf("Put(%+v) gave %v", rec, err)
			}
		}
		g := testGenesis()
		g.Seq = 0
		for _, g := range []Genesis{{}, g} {
			if err := s.WriteGenesis(t.Context(), 0, g); err == nil || errors.Is(err, ErrConflict) {
				t.Errorf("WriteGenesis(%+v) gave %v", g, err)
			}
		}
	})
	t.Run("recent", func(t *testing.T) { contractRecent(t, born(t)) })
	t.Run("a proof leaves nothing", func(t *testing.T) {
		s := born(t)
		if err := s.ProveConditions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := readAll(t, s); len(all) != 0 {
			t.Fatalf("the proof left %v", all)
		}
	})
	t.Run("a cancelled context writes nothing", func(t *testing.T) {
		s := born(t)
		mustPut(t, s, 0, testRecord("a", 1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := putOne(ctx, s, 1, testRecord("a", 2)); err == nil {
			t.Error("Put went on")
		}
		if _, err := s.Read(ctx, []kind.Key{testRecord("a", 1).Key}); err == nil {
			t.Error("Read went on")
		}
		if err := s.EachRecord(ctx, func(Record, error) error { return nil }); err == nil {
			t.Error("All went on")
		}
		if all := readAll(t, s); all["Purge/a"].Seq != 1 {
			t.Errorf("records are %v", all)
		}
	})
}

func contractSwap(t *testing.T, s RecordStore) {
	wantErr(t, putOne(t.Context(), s, 1, testRecord("a", 2)), ErrConflict)
	mustPut(t, s, 0, testRecord("a", 1))
	wantErr(t, putOne(t.Context(), s, 0, testRecord("a", 1)), ErrConflict)
	mustPut(t, s, 1, testRecord("a", 2))
	wantErr(t, putOne(t.Context(), s, 1, testRecord("a", 2)), ErrConflict)
	wantErr(t, putOne(t.Context(), s, 0, testRecord("a", 1)), ErrConflict)
	wantErr(t, putOne(t.Context(), s, 2, testRecord("b", 3)), ErrConflict)
	key := testRecord("a", 2).Key
	got, err := s.Read(t.Context(), []kind.Key{key})
	want := testRecord("a", 2)
	if err != nil || got[key].Nonce != want.Nonce || string(got[key].Spec) != string(want.Spec) || *got[key].SpecDigest != *want.SpecDigest {
		t.Fatalf("read %+v, %v", got[key], err)
	}
}

func contractKeys(t *testing.T, s RecordStore) {
	same := testRecord("a", 1)
	other := testRecord("a", 1)
	other.Kind = "VolumeSnapshot"
	odd := testRecord("../../é a\n'\"%00.json", 1)
	for _, rec := range []Record{same, other, odd} {
		mustPut(t, s, 0, rec)
	}
	absent := testRecord("b", 1)
	got, err := s.Read(t.Context(), []kind.Key{same.Key, other.Key, odd.Key, absent.Key})
	if err != nil || len(got) != 3 {
		t.Fatalf("read %d records, %v", len(got), err)
	}
	for key, rec := range got {
		if rec.Key != key {
			t.Errorf("%v holds the record of %v", key, rec.Key)
		}
	}
	var n int
	if err := s.EachRecord(t.Context(), func(Record, error) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("All gave %d records, %v", n, err)
	}
	stop := errors.New("stop")
	wantErr(t, s.EachRecord(t.Context(), func(Record, error) error { return stop }), stop)
}

func contractRace(t *testing.T, s RecordStore) {
	const writers, keys = 8, 5
	for seq := range 2 {
		var wins [keys]atomic.Int32
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for k := range keys {
					err := putOne(t.Context(), s, seq, testRecord(fmt.Sprint(k), seq+1))
					if err == nil {
						wins[k].Add(1)
					} else if !errors.Is(err, ErrConflict) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for k := range keys {
			if n := wins[k].Load(); n != 1 {
				t.Errorf("record %d of seq %d was written %d times", k, seq+1, n)
			}
		}
	}
}

func readAll(t *testing.T, s RecordStore) map[string]Record {
	t.Helper()
	all := map[string]Record{}
	err := s.EachRecord(t.Context(), func(rec Record, err error) error {
		all[rec.String()] = rec
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// testIDs counts, so that a failure can be repeated.
func testIDs() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("id-%d", n.Add(1)) }
}

// laxBlobs are blobs whose proof of each run shows nothing.
type laxBlobs struct{ memoryBlobs }

func (laxBlobs) CheckRefusesCreation(context.Context, string) error { return nil }

func (s laxBlobs) SubStore(folder string) blob.Store {
	return laxBlobs{s.memoryBlobs.SubStore(folder).(memoryBlobs)}
}

// staleBlobs show the first content that a name had, to those who look again.
type staleBlobs struct{ laxBlobs }

func (s staleBlobs) List(ctx context.Context, under string, _ int) ([]string, error) {
	names, err := s.laxBlobs.List(ctx, under, 0)
	if len(names) > 1 {
		names = names[len(names)-1:]
	}
	return names, err
}

func (s staleBlobs) SubStore(folder string) blob.Store {
	return staleBlobs{s.laxBlobs.SubStore(folder).(laxBlobs)}
}

func TestProveCatchesBrokenBlobs(t *testing.T) {
	blobs := newMemoryBlobs()
	must(t, newLogStore(laxBlobs{blobs}, nil, 0).ProveConditions(t.Context()))
	if left := slices.Collect(maps.Keys(blobs.blobs)); left != nil {
		t.Errorf("the proof left %v", left)
	}
	for name, harm := range map[string]func(call, at string) (done bool, err error){
		"second creation": func(string, string) (bool, error) { blobs.ignores = true; return false, nil },
		"second creation of a later entry": func(call, at string) (bool, error) {
			blobs.ignores = call == "create" && strings.HasSuffix(at, "-2.jsonl")
			return false, nil
		},
		"nothing is kept": func(call, at string) (bool, error) {
			if call == "create" {
				delete(blobs.blobs, at)
			}
			if call == "get" {
				return false, blob.ErrAbsent
			}
			return false, nil
		},
		"an entry can't be read": func(call, _ string) (bool, error) {
			if call == "get" {
				return false, errUnsafe
			}
			return false, nil
		},
	} {
		blobs.ignores, blobs.fault = false, harm
		if err := newLogStore(laxBlobs{blobs}, nil, 0).ProveConditions(t.Context()); err == nil {
			t.Errorf("%s: proved", name)
		}
	}
	blobs.ignores, blobs.fault = false, nil
	if err := newLogStore(staleBlobs{laxBlobs{blobs}}, nil, 0).ProveConditions(t.Context()); err == nil {
		t.Error("a store that does not list what was written last is proved")
	}
}
