package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/e2e/gitremote"
	"trueup/internal/kind"
)

// contractMany: of records that are put together each ends as if alone.
func contractMany(t *testing.T, s RecordStore) {
	mustPut(t, s, 0, testRecord("old", 1))
	bad := testRecord("bad", 1)
	bad.Nonce = ""
	rival := testRecord("new", 1)
	rival.Nonce = "rival"
	changes := []RecordChange{
		{ExpectSeq: 1, Rec: testRecord("old", 2)},
		{ExpectSeq: 0, Rec: testRecord("new", 1)},
		{ExpectSeq: 0, Rec: bad},
		{ExpectSeq: 1, Rec: testRecord("stale", 2)},
		{ExpectSeq: 0, Rec: rival},
	}
	for i := range batchMost + 20 {
		changes = append(changes, RecordChange{Rec: testRecord(fmt.Sprint("n", i), 1)})
	}
	errs := s.PutAll(t.Context(), changes)
	if len(errs) != len(changes) || errs[0] != nil || errs[2] == nil || errors.Is(errs[2], ErrConflict) {
		t.Fatalf("errors are %v", errs)
	}
	wantErr(t, errs[3], ErrConflict)
	if (errs[1] == nil) == (errs[4] == nil) {
		t.Errorf("two creations of one record gave %v and %v", errs[1], errs[4])
	}
	wantErr(t, errors.Join(errs[1], errs[4]), ErrConflict)
	wantErr(t, errors.Join(errs[5:]...), nil)
	all := readAll(t, s)
	winner := changes[1].Rec.Nonce
	if errs[1] != nil {
		winner = rival.Nonce
	}
	if len(all) != batchMost+22 || all["Purge/old"].Seq != 2 || all["Purge/new"].Nonce != winner {
		t.Errorf("%d records are there, %+v", len(all), all["Purge/new"])
	}
	// Two changes of what is there: the second is too late.
	second := testRecord("old", 3)
	second.Nonce = "second"
	errs = s.PutAll(t.Context(), []RecordChange{{ExpectSeq: 2, Rec: testRecord("old", 3)}, {ExpectSeq: 2, Rec: second}})
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("two changes of one record gave %v", errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.PutAll(ctx, []RecordChange{{ExpectSeq: 0, Rec: testRecord("x", 1)}, {ExpectSeq: 0, Rec: testRecord("y", 1)}}) {
		if err == nil {
			t.Error("a cancelled context wrote")
		}
	}
}

// specsOf are n objects in sync.
func specsOf(n, length int) []AppliedObject {
	all := make([]AppliedObject, n)
	for i := range all {
		all[i].Key = kind.Key{Kind: "CDN", Name: fmt.Sprint("c", i)}
		all[i].Spec = fmt.Appendf(nil, `{"hostname":"c%d.example.com","text":%q}`, i, strings.Repeat("x", length))
		all[i].Converged, all[i].UID = i%2 == 0, fmt.Sprint("uid-", i)
	}
	return all
}

// TestManyAreRecordedAsOneByOne: the same records, but for their number, and the same
// errors.
func TestManyAreRecordedAsOneByOne(t *testing.T) {
	record := func(together bool) ([]Record, []string) {
		dir := t.TempDir()
		cfg := testConfig(dir)
		cfg.SeenCache = filepath.Join(dir, "witness")
		g, err := CreateLedger(t.Context(), cfg)
		must(t, err)
		cfg.ID = g.LedgerID
		all := specsOf(30, 10)
		all = append(all, AppliedObject{Key: diskKey, AppliedSpec: AppliedSpec{Spec: someSpec}}, AppliedObject{Key: kind.Key{Kind: "CDN", Name: "bad"}, AppliedSpec: AppliedSpec{Spec: []byte("{")}})
		l, other := open(t, cfg), open(t, cfg)
		_, err = l.ReadView(t.Context(), []kind.Key{all[0].Key, all[1].Key})
		must(t, err)
		// One that changes after it was looked at, and one that was begun before.
		must(t, other.RecordApplied(t.Context(), all[1].Key, all[2].AppliedSpec))
		must(t, l.RecordPending(t.Context(), all[3].Key, all[2].Spec, nil))
		var said []string
		if together {
			for _, err := range l.RecordAllApplied(t.Context(), all) {
				said = append(said, fmt.Sprint(err))
			}
		} else {
			for _, c := range all {
				said = append(said, fmt.Sprint(l.RecordApplied(t.Context(), c.Key, c.AppliedSpec)))
			}
		}
		// What follows is up to what is remembered.
		said = append(said, fmt.Sprint(l.DropPending(t.Context(), all[3].Key)), fmt.Sprint(l.RecordApplied(t.Context(), all[0].Key, all[5].AppliedSpec)))
		return listed(t, open(t, cfg)), said
	}
	want, wantSaid := record(false)
	got, gotSaid := record(true)
	for i := range wantSaid {
		if gotSaid[i] != wantSaid[i] {
			t.Errorf("%d: together %q, one by one %q", i, gotSaid[i], wantSaid[i])
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("together\n%+v\none by one\n%+v", got, want)
	}
}

// TestWhoWritesAtTheSameTime writes together, and each learns of its own end.
func TestWhoWritesAtTheSameTime(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	var wg sync.WaitGroup
	errs := make([]error, 40)
	for i := range errs {
		wg.Go(func() {
			key := kind.Key{Kind: "CDN", Name: fmt.Sprint("c", i%20)}
			errs[i] = l.RecordPending(t.Context(), key, fmt.Appendf(nil, `{"n":%d}`, i), nil)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrConflict) {
			t.Error(err)
		}
	}
	steps := 0
	records, err := open(t, cfg).ListRecords(t.Context())
	must(t, err)
	for _, rec := range records {
		steps += rec.Seq
		if len(rec.Pending) != rec.Seq {
			t.Errorf("%s is at %d with %d specs", rec.Key, rec.Seq, len(rec.Pending))
		}
	}
	if steps != won || len(records) != 20 {
		t.Errorf("%d writes succeeded, and %d records were moved %d times", won, len(records), steps)
	}
}

func TestAMistakeWhileMuchIsWritten(t *testing.T) {
	blobs, s := bornLog(t)
	blobs.fault = func(string, string) (bool, error) { panic("odd") }
	for range 2 {
		if err := s.Put(t.Context(), 0, testRecord("a", 1)); err == nil || !strings.Contains(err.Error(), "odd") {
			t.Errorf("it gave %v", err)
		}
	}
	blobs.fault = nil
	mustPut(t, s, 0, testRecord("a", 1))
}

// TestRecordingTakesNoMoreThanItsRecords: a record is a few times its spec, and no
// compressor of its own.
func TestRecordingTakesNoMoreThanItsRecords(t *testing.T) {
	// It is a tenth of that; but the race detector lets go of some that are kept.
	const n, length, most = 100, 4000, 400_000
	l := open(t, made(t))
	all := specsOf(n, length)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantErr(t, errors.Join(l.RecordAllApplied(t.Context(), all)...), nil)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > most {
		t.Errorf("%d bytes were allocated for each record", each)
	}
}

// BenchmarkRecord is what the ledger costs a run that finds objects in sync,
// and one that writes each.
func BenchmarkRecord(b *testing.B) {
	for _, n := range []int{100, 1000} {
		all := specsOf(n, 4000)
		begin := func(b *testing.B) *Ledger {
			cfg := testConfig(b.TempDir())
			cfg.Now = time.Now
			g, err := CreateLedger(b.Context(), cfg)
			must(b, err)
			cfg.ID = g.LedgerID
			l, err := Open(b.Context(), cfg)
			must(b, err)
			return l
		}
		b.Run(fmt.Sprintf("together/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, errors.Join(begin(b).RecordAllApplied(b.Context(), all)...))
			}
		})
		b.Run(fmt.Sprintf("writes/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l := begin(b)
				var wg sync.WaitGroup
				for part := range 4 {
					wg.Go(func() {
						for i := part; i < n; i += 4 {
							must(b, l.RecordPending(b.Context(), all[i].Key, all[i].Spec, nil))
							must(b, l.RecordApplied(b.Context(), all[i].Key, all[i].AppliedSpec))
						}
					})
				}
				wg.Wait()
			}
		})
	}
}

// TestManyAreOneCommit of a git ledger: conversations with the remote are the time
// that it takes.
func TestManyAreOneCommit(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	cfg := testConfig(gitremote.Clone(t, "file://"+filepath.ToSlash(bare)))
	cfg.Store = "git:" + testRef
	cfg = madeIn(t, cfg)
	l := open(t, cfg)
	t.Cleanup(func() { must(t, l.Close()) })
	commits := func() int { return strings.Count(gitremote.Cmd(t, bare, "rev-list", testRef)+"\n", "\n") }
	before := commits()
	wantErr(t, errors.Join(l.RecordAllApplied(t.Context(), specsOf(200, 10))...), nil)
	if n := commits() - before; n != 1 {
		t.Errorf("200 records are %d commits", n)
	}
}

// TestWhoGivesUp does not wait for a write in progress, and a change that only waits is not written.
func TestWhoGivesUp(t *testing.T) {
	blobs, s := bornLog(t)
	entered, release := make(chan struct{}), make(chan struct{})
	blobs.fault = func(call, _ string) (bool, error) {
		if call == "create" {
			close(entered)
			<-release
		}
		return false, nil
	}
	ctx, giveUp := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- s.Put(ctx, 0, testRecord("a", 1)) }()
	<-entered
	go func() { second <- s.Put(ctx, 0, testRecord("b", 1)) }()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		waiting = len(s.waiting)
		s.mu.Unlock()
	}
	giveUp()
	for _, err := range []error{<-first, <-second} {
		wantErr(t, err, context.Canceled)
	}
	blobs.fault = nil
	close(release)
	if all := readAll(t, s); len(all) != 1 || all["Purge/a"].Seq != 1 {
		t.Errorf("records are %v", all)
	}
}
