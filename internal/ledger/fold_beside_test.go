package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/blob"
	"trueup/internal/canon"
	"trueup/internal/e2e/gitremote"
	"trueup/internal/kind"
)

// TestFoldBesideARunInGit: a run goes on after another one has folded, although it fetched the blocks before.
func TestFoldBesideARunInGit(t *testing.T) {
	t.Parallel()
	dir := gitremote.Clone(t, "file://"+filepath.ToSlash(gitremote.Bare(t)), "--depth=1")
	w := &foldWorld{t: t}
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, w.record("a"))
	must(t, FoldNow(t.Context(), s, testNow.Add(2*foldAge)))
	long := openGit(t, dir, testRef)
	readAll(t, long)
	late := testNow.Add(4 * foldAge)
	claimed := w.record("z")
	claimed.State, claimed.FirstClaimAt, claimed.ClaimedAt, claimed.AcceptedAt, claimed.Claim = Claimed, &late, &late, nil, &Claim{}
	mustPut(t, long, 0, claimed)
	other := openGit(t, dir, testRef)
	mustPut(t, other, 0, w.record("n"))
	must(t, FoldNow(t.Context(), other, late))
	posted := w.record("z")
	posted.Seq, posted.Nonce, posted.History = 2, "posted-z", append(posted.History, LogStep{Seq: 2, Nonce: "posted-z", At: late, Event: string(evPost)})
	must(t, errors.Join(long.PutAll(t.Context(), []RecordChange{{Rec: posted, ExpectSeq: 1}, {Rec: w.record("y")}})...))
	for _, name := range []string{"a", "n", "y", "z"} {
		wantErr(t, long.Put(t.Context(), 0, w.record(name)), ErrConflict)
	}
	if all := readAll(t, long); len(all) != 4 {
		t.Errorf("it has %v", all)
	}
	// A fold after the listing of a verification removes entries that it lists.
	verifier := openGit(t, dir, testRef)
	verifier.blobs = foldBeforeGet{verifier.blobs, sync.OnceFunc(func() { must(t, FoldNow(t.Context(), other, late.Add(2*foldAge))) })}
	if wrong, err := verifier.inspectSegments(t.Context()); err != nil || len(wrong) > 0 {
		t.Errorf("verified: %v, %v", wrong, err)
	}
}

// foldBeforeGet folds before the first blob is read.
type foldBeforeGet struct {
	blob.Store
	fold func()
}

func (s foldBeforeGet) Get(ctx context.Context, name string) ([]byte, error) {
	s.fold()
	return s.Store.Get(ctx, name)
}

// TestWriteWithoutABlock: only the changes fail whose record may be in a block that can't be read.
func TestWriteWithoutABlock(t *testing.T) {
	w := newFoldWorld(t, false)
	must(t, w.fold(w.store()))
	s := w.store()
	w.blobs.fault = func(call, name string) (bool, error) {
		if call == "get" && strings.HasPrefix(name, foldedDir) {
			return false, errors.New("the block can't be read")
		}
		return false, nil
	}
	settled, cdn := w.record("unknown"), w.record("shop")
	settled.Seq, settled.Nonce = 2, "settled"
	cdn.Kind, cdn.State, cdn.Seq, cdn.Nonce = "CDN", "", 2, "applied"
	errs := s.PutAll(t.Context(), []RecordChange{{Rec: w.record("y")}, {Rec: settled, ExpectSeq: 1}, {Rec: cdn, ExpectSeq: 1}})
	if errs[0] == nil || errors.Is(errs[0], ErrConflict) || errs[1] != nil || errs[2] != nil {
		t.Errorf("%v", errs)
	}
	w.blobs.fault = nil
	if all := readAll(t, w.store()); all["Purge/unknown"].Seq != 2 || all["CDN/shop"].Seq != 2 || all["Purge/y"].Seq != 0 {
		t.Errorf("it has %v", all)
	}
}

// TestVerifyBesideFolds: whatever a fold removes while a ledger is verified is no damage.
func TestVerifyBesideFolds(t *testing.T) {
	for _, git := range []bool{false, true} {
		for from := range 3 {
			for at, last := 0, 1; at < last && !git; at++ {
				w := newFoldWorld(t, git)
				for range from {
					must(t, w.fold(w.store()))
				}
				var wrong []error
				verifier := w.store()
				calls, err := w.play(func() (err error) {
					wrong, err = verifier.inspectSegments(t.Context())
					return err
				}, map[int]func() error{at: func() error { return w.fold(w.store()) }})
				if last = max(last, calls); err != nil || len(wrong) > 0 {
					t.Fatalf("after %d folds, a fold before call %d of %d: %v, %v", from, at, calls, wrong, err)
				}
			}
			for at, last := 0, 1; at < last; at++ {
				w := newFoldWorld(t, git)
				for range from {
					must(t, w.fold(w.store()))
				}
				folder := w.store()
				calls, err := w.play(func() error { return w.fold(folder) }, map[int]func() error{at: func() error {
					wrong, err := w.store().inspectSegments(t.Context())
					return errors.Join(append(wrong, err)...)
				}})
				must(t, err)
				last = max(last, calls)
			}
		}
	}
}

// TestVerifyOfALongListing: a fold between two pages of a listing leaves the newest and the oldest entries of it.
func TestVerifyOfALongListing(t *testing.T) {
	w := newFoldWorld(t, false)
	listed := must1(w.blobs.List(t.Context(), logDir, 0))(t)
	must(t, w.fold(w.store()))
	gone := func(name string) bool { return w.blobs.blobs[name] == nil }
	oldest := slices.IndexFunc(listed, gone)
	if oldest < 0 {
		t.Fatal("the fold removed nothing")
	}
	paged := pagedBlobs{w.blobs, slices.DeleteFunc(slices.Clone(listed), func(name string) bool { return gone(name) && name != listed[len(listed)-1] })}
	s := newLogStore(paged, nil, 0)
	if wrong, err := s.inspectSegments(t.Context()); err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}

// pagedBlobs is a store whose listing of everything began before a fold.
type pagedBlobs struct {
	memoryBlobs
	names []string
}

func (p pagedBlobs) List(ctx context.Context, under string, most int) ([]string, error) {
	if most == 0 {
		return p.names, nil
	}
	return p.memoryBlobs.List(ctx, under, most)
}

// TestTreeStaysAfterFolds: a fold records nothing, so that apply --skip-applied still knows what was applied.
func TestTreeStaysAfterFolds(t *testing.T) {
	blobs, s := bornLog(t)
	w := &foldWorld{t: t}
	var changes []RecordChange
	for n := range 3 {
		changes = append(changes, RecordChange{Rec: w.record(fmt.Sprint("p-", n))})
	}
	must(t, errors.Join(s.PutAll(t.Context(), changes)...))
	g, tree := testGenesis(), canon.Digest([]byte("tree"))
	g.Seq, g.Head = 2, &ApplyHead{Tree: &tree}
	g.Holds = []Hold{{Seq: 2, At: testNow}}
	must(t, s.WriteGenesis(t.Context(), 1, g))
	for n := range 3 {
		must(t, FoldNow(t.Context(), s, testNow.AddDate(0, n+1, 0)))
		if g := must1(newLogStore(blobs, nil, 0).ReadGenesis(t.Context()))(t); g.Head.treeDigest() != tree {
			t.Errorf("after fold %d the tree is lost", n+1)
		}
	}
	var holds []int
	l := must1(Open(t.Context(), Config{Backend: s}))(t)
	l.cfg.ID, l.cfg.Workspace = g.LedgerID, kind.Workspace{UUID: g.Workspace}
	must1(l.ReadLog(t.Context(), nil, func(e LogEntry) bool { holds = append(holds, e.Entry); return true }))(t)
	if len(holds) > 1 {
		t.Errorf("the log has the hold in entries %v", holds)
	}
	mustPut(t, s, 0, w.record("p-9"))
	if g := must1(s.ReadGenesis(t.Context()))(t); g.Head.Tree != nil {
		t.Error("the tree stays after a record")
	}
}

// TestOlderProgramsRefuseFolds: they read the schemas v1 and v2, and nothing of a folded ledger has those.
func TestOlderProgramsRefuseFolds(t *testing.T) {
	w := newFoldWorld(t, false)
	must(t, w.fold(w.store()))
	for name, content := range w.blobs.blobs {
		head, _, _ := bytes.Cut(unpacked(t, content), []byte("\n"))
		if version := bytes.TrimPrefix(head, []byte(`{"schema":"trueup.ledger/v`)); bytes.Compare(version, []byte("3")) < 0 || len(version) == len(head) {
			t.Errorf("%s begins with %s", name, head)
		}
	}
}

// TestVerifyAfterAKilledRemoval: a fold that was killed while it removed entries leaves numbers that runs which slept may
// take, whatever becomes of these runs.
func TestVerifyAfterAKilledRemoval(t *testing.T) {
	for removed := range 20 {
		for _, killed := range []bool{false, true} {
			w := newFoldWorld(t, false)
			must(t, w.fold(w.store()))
			slept := w.store()
			must(t, slept.withState(t.Context(), func() error { return slept.proveOnce(t.Context()) }))
			must(t, errors.Join(w.moves()["two new purges"](w.store()), w.fold(w.store())))
			n := 0
			w.blobs.fault = func(call, _ string) (bool, error) {
				if call == "remove" {
					if n++; n > removed {
						return false, errors.New("the fold was killed")
					}
				}
				return false, nil
			}
			_ = w.fold(w.store())
			w.blobs.fault = nil
			if killed {
				created := false
				w.blobs.fault = func(call, _ string) (bool, error) {
					if created {
						return false, errors.New("the run was killed")
					}
					created = call == "create"
					return false, nil
				}
			}
			err := slept.Put(t.Context(), 0, w.record("late"))
			w.blobs.fault = nil
			w.want["Purge/late"], w.maybe["Purge/late"] = 1, err != nil
			w.check(fmt.Sprintf("%d removed, killed %t (%v)", removed, killed, err))
		}
	}
}

// TestWriteAfterASleep: a run that read the ledger before two folds and wrote nothing yet, such as one that asks a person.
func TestWriteAfterASleep(t *testing.T) {
	w := newFoldWorld(t, false)
	must(t, w.fold(w.store()))
	s := w.store()
	must(t, s.withState(t.Context(), func() error { return nil }))
	for range 3 {
		must(t, w.fold(w.store()))
	}
	mustPut(t, s, 0, w.record("late"))
	w.want["Purge/late"] = 1
	w.check("after a sleep")
}

// TestFoldAfterAWrongClock: one fold by a clock that is far ahead does not end folding.
func TestFoldAfterAWrongClock(t *testing.T) {
	_, s := bornLog(t)
	w := &foldWorld{t: t}
	put := func(from int) {
		var changes []RecordChange
		for i := range foldEvery {
			changes = append(changes, RecordChange{Rec: w.record(fmt.Sprint("p-", from+i))})
		}
		must(t, errors.Join(s.PutAll(t.Context(), changes)...))
	}
	put(0)
	now := testNow.Add(2 * foldAge)
	must(t, s.fold(t.Context(), now, now.AddDate(10, 0, 0)))
	put(1000)
	now = now.Add(2 * foldAge)
	must(t, s.fold(t.Context(), now, now))
	if len(s.state.lines) > 0 {
		t.Errorf("%d purges are not folded", len(s.state.lines))
	}
}

// TestLogBesideAFold lets another run fold between each two calls of a read of the log.
func TestLogBesideAFold(t *testing.T) {
	for at, last := 0, 1; at < last && !t.Failed(); at++ {
		w := newFoldWorld(t, false)
		must(t, w.fold(w.store()))
		must(t, w.moves()["a new purge"](w.store()))
		l := must1(Open(t.Context(), Config{Backend: w.store()}))(t)
		g := testGenesis()
		l.cfg.ID, l.cfg.Workspace = g.LedgerID, kind.Workspace{UUID: g.Workspace}
		var found []string
		calls, err := w.play(func() error {
			_, err := l.ReadLog(t.Context(), nil, func(e LogEntry) bool { found = append(found, e.Title()); return true })
			return err
		}, map[int]func() error{at: func() error { return w.fold(w.store()) }})
		if last = max(last, calls); err != nil || !slices.Contains(found, "Purge/new posted") {
			t.Errorf("before call %d of %d: %v, %v", at, calls, found, err)
		}
	}
}

// TestClaimAfterAFoldInGit: a run that has folded goes on, after others wrote while it removed what is not needed.
func TestClaimAfterAFoldInGit(t *testing.T) {
	t.Parallel()
	dir := gitremote.Clone(t, "file://"+filepath.ToSlash(gitremote.Bare(t)), "--depth=1")
	w := &foldWorld{t: t}
	s, other := openGit(t, dir, testRef), openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	var many []RecordChange
	for n := range foldEvery {
		many = append(many, RecordChange{Rec: w.record(fmt.Sprint("a", n))})
	}
	must(t, errors.Join(s.PutAll(t.Context(), many)...))
	for n := range maxSegments {
		mustPut(t, s, 0, w.record(fmt.Sprint("b", n)))
	}
	claims := 0
	s.blobs = beforeRemove{s.blobs, func() {
		for n := range maxSegments - 2 {
			mustPut(t, other, 0, w.record(fmt.Sprint("c", n)))
		}
		if other.Put(t.Context(), 0, w.record("raced")) == nil {
			claims++
		}
		for n := range maxSegments {
			mustPut(t, other, 0, w.record(fmt.Sprint("d", n)))
		}
	}}
	now := testNow.Add(2 * foldAge)
	must(t, s.fold(t.Context(), now, now))
	if s.Put(t.Context(), 0, w.record("raced")) == nil {
		claims++
	}
	if claims != 1 {
		t.Errorf("%d runs claimed a purge", claims)
	}
}

type beforeRemove struct {
	blob.Store
	do func()
}

func (s beforeRemove) Remove(ctx context.Context, names ...string) error {
	s.do()
	return s.Store.Remove(ctx, names...)
}

// TestLedgerWithinAnother: the folds of one ledger would remove the entries of another.
func TestLedgerWithinAnother(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, store := range []string{"file:ledger/folded", "file:ledger/folded/.", "s3://b/x/folded?region=eu-west-1", "gs://b/folded", "azblob://logs/folded", "postgres:x/folded"} {
		_, err := OpenStore(t.Context(), Config{Store: store, Dir: t.TempDir(), Now: time.Now, Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), "may not end in folded") {
			t.Errorf("%s: %v", store, err)
		}
	}
}
