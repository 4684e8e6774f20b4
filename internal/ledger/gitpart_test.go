package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// strict makes a bare repository answer as the hosts do that refuse all but the
// cheapest filters.
func strict(t *testing.T, bare string) {
	t.Helper()
	for key, value := range map[string]string{
		"uploadpack.allowFilter": "true", "uploadpackfilter.allow": "false",
		"uploadpackfilter.blob:none.allow": "true", "uploadpackfilter.tree.allow": "true", "uploadpackfilter.tree.maxDepth": "0",
	} {
		gitCmd(t, bare, "config", key, value)
	}
}

// objects is how many are in the only mirror.
func objects(t *testing.T) int {
	t.Helper()
	temp, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "trueup-git-*"))
	if err != nil || len(temp) != 1 {
		t.Fatalf("mirrors are %v, %v", temp, err)
	}
	config, err := os.ReadFile(filepath.Join(temp[0], "config"))
	if err != nil || strings.Contains(string(config), "promisor") {
		t.Errorf("git may fetch by itself: %s, %v", config, err)
	}
	return strings.Count(gitCmd(t, temp[0], "cat-file", "--batch-all-objects", "--batch-check"), "\n") + 1
}

// TestGitStoreBringsWhatIsRead counts conversations and objects.
func TestGitStoreBringsWhatIsRead(t *testing.T) {
	const old = 2 * gitFew
	for _, c := range []struct {
		name        string
		purges, old int
		filter      bool
		calls       int64
		most        int
	}{
		{"few", 2, 50, true, 2, 160},
		{"many", 2, old, true, 4, 100},
		{"no filter", 2, old, false, 1, 3 * old},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			bare := bareRemote(t)
			if c.filter {
				strict(t, bare)
			}
			keys := oldLedger(t, bare, c.purges, c.old)
			var tolls toll
			s := openGit(t, tolls.clone(t, bare), testRef)
			if _, err := s.ReadGenesis(t.Context()); err != nil {
				t.Fatal(err)
			}
			if recent, err := s.Recent(t.Context(), testWorkspace, time.Unix(0, 0)); err != nil || len(recent) != 0 {
				t.Fatalf("recent are %v, %v", recent, err)
			}
			absent := testRecord("absent", 1).key()
			if got, err := s.Read(t.Context(), append(keys, absent)); err != nil || len(got) != len(keys) {
				t.Fatalf("read %d records, %v", len(got), err)
			}
			if n := tolls.calls.Load(); n != c.calls {
				t.Errorf("%d conversations, want %d", n, c.calls)
			}
			if n := objects(t); n > c.most {
				t.Errorf("%d objects are here", n)
			}
			if n := len(readAll(t, s)); n != 11*c.purges+c.old {
				t.Errorf("there are %d records", n)
			}
		})
	}
}

// TestGitStoreWritesInPart writes where most of the ledger is not here, against
// others that do so too.
func TestGitStoreWritesInPart(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	strict(t, bare)
	keys := oldLedger(t, bare, 1, 2*gitFew)
	dir := clone(t, "file://"+filepath.ToSlash(bare), "--depth=1")
	s, other := openGit(t, dir, testRef), openGit(t, dir, testRef)
	for _, store := range []*gitStore{s, other} {
		if _, err := store.ReadGenesis(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mustPut(t, s, 0, testRecord("new", 1))
	wantErr(t, other.Put(t.Context(), 0, testRecord("new", 1)), ErrConflict)
	mustPut(t, other, 1, testRecord("new", 2))
	mustPut(t, s, 0, testRecord("newer", 1))
	g := testGenesis()
	g.Seq = 2
	must(t, other.WriteGenesis(t.Context(), 1, g))
	if got, err := s.Read(t.Context(), keys); err != nil || len(got) != len(keys) {
		t.Errorf("read %d records, %v", len(got), err)
	}
	s.forget()
	if all := readAll(t, s); len(all) != 2*gitFew+13 || all["Purge/new"].Seq != 2 {
		t.Errorf("%d records", len(all))
	}
	if hints := gitCmd(t, bare, "log", "-1", "--format=%B", testRef); !strings.HasSuffix(hints, fmt.Sprintf("\nrecords %d", 2*gitFew+13)) {
		t.Errorf("the last message is %q", hints)
	}
	gitCmd(t, bare, "fsck", "--full", "--strict")
}

// TestGitStoreHintsDecideNothing reads commits of a person: without hints, with
// those of another commit, and with such as nobody has.
func TestGitStoreHintsDecideNothing(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	strict(t, bare)
	dir := clone(t, bare)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	stale := "x\n\n" + gitHints{genesis: gitCmd(t, bare, "rev-parse", testRef+":"+gitGenesis), recent: gitCmd(t, bare, "rev-parse", testRef+":"+gitRecents)}.String()
	rec := testRecord("a", 1)
	at := time.Unix(1e9, 0).UTC()
	rec.State, rec.FirstClaimAt, rec.ClaimedAt = Claimed, &at, &at
	mustPut(t, s, 0, rec)
	for i, message := range []string{
		"x", "x\n\n" + gitHints{genesis: strings.Repeat("0", 40), recent: strings.Repeat("1", 40), records: 99999}.String(), stale,
	} {
		gitCmd(t, bare, "update-ref", testRef, gitCmd(t, bare, "commit-tree", "-p", testRef, "-m", message, testRef+"^{tree}"))
		s.forget()
		if recent, err := s.Recent(t.Context(), testWorkspace, time.Unix(2e9, 0)); err != nil || len(recent) != 1 {
			t.Errorf("recent are %v, %v", recent, err)
		}
		mustPut(t, s, 0, testRecord(fmt.Sprint(i), 1))
	}
	if all := readAll(t, s); len(all) != 4 {
		t.Errorf("%d records", len(all))
	}
}

func TestGitIndex(t *testing.T) {
	at := func(hour int) *time.Time {
		at := time.Unix(0, 0).UTC().Add(time.Duration(hour) * time.Hour)
		return &at
	}
	put := func(x gitIndex, name string, s State, claimed, accepted *time.Time) gitIndex {
		rec := testRecord(name, 1)
		rec.State, rec.ClaimedAt, rec.AcceptedAt = s, claimed, accepted
		return x.with(rec)
	}
	var x gitIndex
	x = put(x, "open", Claimed, at(0), nil)
	x = put(x, "rejected", Rejected, at(1), nil)
	x = put(x, "late", Posted, at(1), at(200))
	x = put(x, "adopted", Adopted, nil, nil)
	x = put(x, "released", Unknown, at(1), nil)
	x = put(x, "released", "", nil, nil)
	for hour := range 200 {
		x = put(x, fmt.Sprint(hour), Posted, at(hour), at(hour)).trimmed()
	}
	if len(x) != gitRecentHours+1 {
		t.Errorf("%d entries are left", len(x))
	}
	b, err := x.encode()
	must(t, err)
	again, err := decodeIndex(b)
	must(t, err)
	var names []string
	for _, key := range again.since(testWorkspace, *at(198)) {
		names = append(names, key.Name)
	}
	if got := strings.Join(names, " "); got != "198 199 late open" {
		t.Errorf("recent are %s", got)
	}
	if _, err := decodeIndex(b[:len(b)-5]); !errors.Is(err, ErrDamaged) {
		t.Errorf("an index that is cut short gave %v", err)
	}
}
