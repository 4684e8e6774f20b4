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
	"time"

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
		State: Posted, SpecDigest: &digest, Spec: GzipJSON(`{"hostname":"a.example"}`),
	}
}

func mustPut(t *testing.T, s Store, seq int, rec Record) {
	t.Helper()
	if err := s.Put(t.Context(), seq, rec); err != nil {
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
func contract(t *testing.T, newStore func() Store) {
	born := func(t *testing.T) Store {
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
		_, err = s.Read(t.Context(), []Key{testRecord("a", 1).key()})
		wantErr(t, err, ErrNoGenesis)
		wantErr(t, s.Put(t.Context(), 0, testRecord("a", 1)), ErrNoGenesis)
		wantErr(t, s.All(t.Context(), func(Record) error { return nil }), ErrNoGenesis)
		if r, ok := s.(recenter); ok {
			_, err = r.Recent(t.Context(), testWorkspace, testLately)
			wantErr(t, err, ErrNoGenesis)
		}
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
	t.Run("one winner of a race", func(t *testing.T) { contractRace(t, born(t)) })
	t.Run("refuses what it could not read", func(t *testing.T) {
		s := born(t)
		bad := testRecord("a", 1)
		bad.Nonce = ""
		for _, rec := range []Record{bad, testRecord("a", 3), {}} {
			if err := s.Put(t.Context(), 0, rec); err == nil || errors.Is(err, ErrConflict) {
				t.Errorf("Put(%+v) gave %v", rec, err)
			}
		}
		g := testGenesis()
		g.Seq = 5
		for _, g := range []Genesis{{}, g} {
			if err := s.WriteGenesis(t.Context(), 0, g); err == nil || errors.Is(err, ErrConflict) {
				t.Errorf("WriteGenesis(%+v) gave %v", g, err)
			}
		}
	})
	t.Run("recent", func(t *testing.T) { contractRecent(t, born(t)) })
	t.Run("a proof leaves nothing", func(t *testing.T) {
		s := born(t)
		if err := prove(t.Context(), s, testIDs()); err != nil {
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
		if err := s.Put(ctx, 1, testRecord("a", 2)); err == nil {
			t.Error("Put went on")
		}
		if _, err := s.Read(ctx, []Key{testRecord("a", 1).key()}); err == nil {
			t.Error("Read went on")
		}
		if err := s.All(ctx, func(Record) error { return nil }); err == nil {
			t.Error("All went on")
		}
		if all := readAll(t, s); all["Purge/a"].Seq != 1 {
			t.Errorf("records are %v", all)
		}
	})
}

func contractSwap(t *testing.T, s Store) {
	wantErr(t, s.Put(t.Context(), 1, testRecord("a", 2)), ErrConflict)
	mustPut(t, s, 0, testRecord("a", 1))
	wantErr(t, s.Put(t.Context(), 0, testRecord("a", 1)), ErrConflict)
	mustPut(t, s, 1, testRecord("a", 2))
	wantErr(t, s.Put(t.Context(), 1, testRecord("a", 2)), ErrConflict)
	wantErr(t, s.Put(t.Context(), 0, testRecord("a", 1)), ErrConflict)
	wantErr(t, s.Put(t.Context(), 2, testRecord("b", 3)), ErrConflict)
	key := testRecord("a", 2).key()
	got, err := s.Read(t.Context(), []Key{key})
	want := testRecord("a", 2)
	if err != nil || got[key].Nonce != want.Nonce || string(got[key].Spec) != string(want.Spec) || *got[key].SpecDigest != *want.SpecDigest {
		t.Fatalf("read %+v, %v", got[key], err)
	}
}

func contractKeys(t *testing.T, s Store) {
	same := testRecord("a", 1)
	other := testRecord("a", 1)
	other.Kind = "VolumeSnapshot"
	elsewhere := testRecord("a", 1)
	elsewhere.Workspace = "other"
	odd := testRecord("../../é a\n'\"%00.json", 1)
	for _, rec := range []Record{same, other, elsewhere, odd} {
		mustPut(t, s, 0, rec)
	}
	absent := testRecord("b", 1)
	got, err := s.Read(t.Context(), []Key{same.key(), other.key(), elsewhere.key(), odd.key(), absent.key()})
	if err != nil || len(got) != 4 {
		t.Fatalf("read %d records, %v", len(got), err)
	}
	for key, rec := range got {
		if rec.key() != key {
			t.Errorf("%v holds the record of %v", key, rec.key())
		}
	}
	var n int
	if err := s.All(t.Context(), func(Record) error { n++; return nil }); err != nil || n != 4 {
		t.Errorf("All gave %d records, %v", n, err)
	}
	stop := errors.New("stop")
	wantErr(t, s.All(t.Context(), func(Record) error { return stop }), stop)
	if _, err := s.Read(t.Context(), []Key{{Workspace: "../x", Key: same.Key}}); err == nil {
		t.Error("read a workspace that is no part of a path")
	}
}

// recenter is a store that knows what is recent.
type recenter interface {
	Recent(ctx context.Context, workspace string, since time.Time) ([]Key, error)
}

// testNow is the present of tests that need one; lately is when its budget
// begins.
var (
	testNow    = time.Date(2026, 11, 21, 9, 40, 0, 0, time.UTC)
	testLately = ago(25 * time.Hour)
)

func ago(d time.Duration) time.Time { return testNow.Add(-d) }

// life is a step of a record: its state, and when it was claimed and accepted,
// before testNow; nothing means not at all.
type life struct {
	state    State
	claimed  time.Duration
	accepted time.Duration
}

const never = time.Duration(-1)

// live puts a record through its steps.
func live(ctx context.Context, s Store, rec Record, steps ...life) error {
	for i, to := range steps {
		rec.Seq, rec.Nonce = i+1, fmt.Sprintf("nonce-%d", i+1)
		if err := s.Put(ctx, i, rec.after(to)); err != nil {
			return err
		}
	}
	return nil
}

// after is the record in a step of its life.
func (r Record) after(to life) Record {
	r.State, r.ClaimedAt, r.AcceptedAt = to.state, nil, nil
	if to.claimed != never {
		at := ago(to.claimed)
		r.FirstClaimAt, r.ClaimedAt = &at, &at
	}
	if to.accepted != never {
		at := ago(to.accepted)
		r.AcceptedAt = &at
	}
	return r
}

// longLife has every way into what is open, and out of it.
func longLife() []life {
	const long = 100 * time.Hour
	return []life{
		{Claimed, long, never},
		{Claimed, long, never},
		{Unknown, long, never},
		{Posted, long, long},
		{Claimed, long, never},
		{"", never, never},
		{Claimed, long, never},
		{Rejected, long, never},
	}
}

// checkFound fails if the record a is open and not found.
func checkFound(t *testing.T, s Store, when string) {
	t.Helper()
	key := testRecord("a", 1).key()
	got, err := s.Read(t.Context(), []Key{key})
	must(t, err)
	keys, err := s.(recenter).Recent(t.Context(), testWorkspace, testLately)
	must(t, err)
	if rec := got[key]; rec.Open() && !slices.Contains(keys, key) {
		t.Errorf("%s: seq %d is %s and not found", when, rec.Seq, rec.State)
	}
}

// oldPurge is the life of a purge of long ago; each i is another.
func oldPurge(i int) []Record {
	rec := testRecord(fmt.Sprint("old-", i), 1)
	at := 48*time.Hour + time.Duration(i)*10*time.Minute
	done := rec.after(life{Posted, at, at})
	done.Seq = 2
	return []Record{rec.after(life{Claimed, at, never}), done}
}

// filesOf are the files, by their places, that the life of a record left in a
// store of files.
func filesOf(t testing.TB, place func(Record) string, steps ...Record) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, rec := range steps {
		b, err := encode(rec)
		must(t, err)
		files[place(rec)] = b
		for _, entry := range rec.entries() {
			files[entry] = []byte{}
		}
	}
	if last := steps[len(steps)-1]; !last.Open() {
		maps.DeleteFunc(files, func(name string, _ []byte) bool { return strings.HasPrefix(name, markersOf(last.key())) })
	}
	return files
}

func contractRecent(t *testing.T, s Store) {
	r, ok := s.(recenter)
	if !ok {
		t.Skip("this store has no Recent")
	}
	const long = 100 * time.Hour
	odd := strings.Repeat("../é A%\n", 30)
	wanted := map[string][]life{
		"claimed":                {{Claimed, 0, never}},
		"claimed at the start":   {{Claimed, 25 * time.Hour, never}},
		"claimed by a fast":      {{Claimed, -time.Hour, never}},
		"accepted late":          {{Claimed, 30 * time.Hour, never}, {Posted, 30 * time.Hour, 0}},
		"accepted at once":       {{Claimed, time.Hour, never}, {Posted, time.Hour, time.Hour}},
		"given up":               {{Claimed, time.Hour, never}, {Abandoned, time.Hour, never}},
		"imported":               {{Posted, long, time.Hour}},
		"forgotten":              {{Claimed, long, never}},
		"unknown for long":       {{Claimed, long, never}, {Unknown, long, never}},
		"imported as unknown":    {{Unknown, long, never}},
		"taken over":             {{Claimed, long, never}, {Claimed, 0, never}},
		"taken over long ago":    {{Claimed, long, never}, {Claimed, long, never}},
		"made again":             {{Claimed, long, never}, {Posted, long, long}, {Claimed, long, never}},
		"released and claimed":   {{Claimed, long, never}, {"", never, never}, {Claimed, long, never}},
		odd:                      {{Claimed, long, never}},
		strings.Repeat("x", 253): {{Claimed, 0, never}},
		strings.Repeat(".", 199): {{Claimed, 0, never}},
		"a":                      {{Claimed, long, never}},
		"A":                      {{Claimed, long, never}},
		"a-1":                    {{Claimed, long, never}, {Claimed, long, never}},
	}
	var wg sync.WaitGroup
	put := func(rec Record, steps ...life) {
		wg.Go(func() {
			if err := live(t.Context(), s, rec, steps...); err != nil {
				t.Error(err)
			}
		})
	}
	for name, steps := range wanted {
		put(testRecord(name, 1), steps...)
	}
	put(testRecord("a=1", 1), life{Claimed, long, never}, life{Posted, long, long})
	put(testRecord("released", 1), life{Claimed, 0, never}, life{"", never, never})
	other := testRecord("claimed", 1)
	other.Kind = "VolumeSnapshot"
	put(other, life{Claimed, 0, never})
	elsewhere := testRecord("elsewhere", 1)
	elsewhere.Workspace = "other"
	put(elsewhere, life{Claimed, 0, never})
	wg.Wait()

	keys, err := r.Recent(t.Context(), testWorkspace, testLately)
	must(t, err)
	found := map[Key]bool{}
	for _, key := range keys {
		if key.Workspace != testWorkspace || key.Name == "elsewhere" || found[key] {
			t.Errorf("found %+v, of another workspace or twice", key)
		}
		found[key] = true
	}
	for name := range wanted {
		if !found[testRecord(name, 1).key()] {
			t.Errorf("%q is not found", name)
		}
	}
	if !found[other.key()] {
		t.Error("the other kind is not found")
	}
	contractRecentOthers(t, r)
}

// contractRecentOthers is what Recent is for other workspaces.
func contractRecentOthers(t *testing.T, r recenter) {
	keys, err := r.Recent(t.Context(), "other", testLately)
	if err != nil || len(keys) != 1 || keys[0].Name != "elsewhere" {
		t.Errorf("the other workspace has %v, %v", keys, err)
	}
	if keys, err = r.Recent(t.Context(), "none", testLately); err != nil || len(keys) != 0 {
		t.Errorf("a workspace without records has %v, %v", keys, err)
	}
	if keys, err = r.Recent(t.Context(), "../other", testLately); err == nil && len(keys) != 0 {
		t.Errorf("a workspace that is no part of a path has %v", keys)
	}
}

func contractRace(t *testing.T, s Store) {
	const writers, keys = 8, 5
	for seq := range 2 {
		var wins [keys]atomic.Int32
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for k := range keys {
					err := s.Put(t.Context(), seq, testRecord(fmt.Sprint(k), seq+1))
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

func readAll(t *testing.T, s Store) map[string]Record {
	t.Helper()
	all := map[string]Record{}
	err := s.All(t.Context(), func(rec Record) error {
		all[rec.String()] = rec
		return nil
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

// brokenStore ignores what makes a store safe.
type brokenStore struct {
	Store
	ignoreCreate, ignoreStale, forget, failGenesis bool
}

func (b brokenStore) Scratch(ctx context.Context, name string) (Store, func() error, error) {
	s, remove, err := b.Store.Scratch(ctx, name)
	b.Store = s
	return b, remove, err
}

func (b brokenStore) WriteGenesis(ctx context.Context, seq int, g Genesis) error {
	err := b.Store.WriteGenesis(ctx, seq, g)
	if b.failGenesis && errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func (b brokenStore) Put(ctx context.Context, seq int, rec Record) error {
	err := b.Store.Put(ctx, seq, rec)
	if errors.Is(err, ErrConflict) && (seq == 0 && b.ignoreCreate || seq > 0 && b.ignoreStale) {
		return nil
	}
	return err
}

func (b brokenStore) Read(ctx context.Context, keys []Key) (map[Key]Record, error) {
	if b.forget {
		return nil, nil
	}
	return b.Store.Read(ctx, keys)
}

func TestProveCatchesBrokenStores(t *testing.T) {
	for name, broken := range map[string]brokenStore{
		"second creation of a record": {ignoreCreate: true},
		"stale update":                {ignoreStale: true},
		"nothing is kept":             {forget: true},
		"second genesis":              {failGenesis: true},
	} {
		broken.Store = fileStore{dir: t.TempDir()}
		if err := prove(t.Context(), broken, testIDs()); err == nil {
			t.Errorf("%s: proved", name)
		}
	}
}
