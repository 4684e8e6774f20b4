package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/blob"
	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
)

const testRef = "refs/trueup/ledger"

// gitCmd runs git as a person would, without the settings of this machine.

func openGit(t *testing.T, dir, where string) *logStore {
	t.Helper()
	ref, err := blob.OpenRef(where, dir, true)
	must(t, err)
	s := newLogStore(ref, nil, remoteDelay)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func TestLogOnRef(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, "file://"+filepath.ToSlash(bare), "--depth=1")
	var n atomic.Int64
	fresh := func() RecordStore { return openGit(t, dir, fmt.Sprintf("refs/trueup/ledger-%d", n.Add(1))) }
	if long.IsSet() {
		contract(t, fresh)
	} else {
		// The log is the same on blobs of any kind: the rest of the contract is tested in memory and in a folder.
		s := fresh()
		must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
		contractSwap(t, s)
		must(t, s.ProveConditions(t.Context()))
	}
	if left := gitremote.Cmd(t, bare, "for-each-ref", "refs/trueup/*-proof-*"); left != "" {
		t.Errorf("proofs left %s", left)
	}
}

// TestLogOnRefIsRead by a person: the log says who did what, and the newest commit has
// few files, each of which is text.
func TestLogOnRefIsRead(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	s := openGit(t, gitremote.Clone(t, bare), testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	for i := range 20 {
		mustPut(t, s, i, testRecord("a", i+1))
	}
	files := strings.Fields(gitremote.Cmd(t, bare, "ls-tree", "-r", "--name-only", testRef))
	if len(files) > maxSegments {
		t.Errorf("21 entries are %v", files)
	}
	if text := gitremote.Cmd(t, bare, "show", testRef); !strings.Contains(text, "posted Purge/a, seq 20, nonce nonce-a-20") || !strings.Contains(text, `+{"schema":"trueup.ledger/v3","workspace":`) {
		t.Errorf("git show prints %s", text)
	}
	if log := gitremote.Cmd(t, bare, "log", "--format=%s", testRef); strings.Count(log, "posted Purge/a, seq") != 20 || !strings.Contains(log, "genesis of ledger ledger-1") {
		t.Errorf("the log is %s", log)
	}
}

// TestLostRef shows that a remote that lost the ref is no empty ledger.
func TestLostRef(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	cfg := testConfig(gitremote.Clone(t, bare, "--no-local", "--depth=1"))
	cfg.Store, cfg.LosesDisk = "git:"+testRef, true
	cfg = madeIn(t, cfg)
	l := open(t, cfg)
	defer func() { must(t, l.Close()) }()
	must(t, tryClaim(t.Context(), l, purgeKey))
	if rec := view(t, l, purgeKey); rec.State != Claimed {
		t.Errorf("record is %+v", rec)
	}
	other := open(t, cfg)
	defer func() { must(t, other.Close()) }()
	wantErr(t, tryClaim(t.Context(), other, purgeKey), ErrTaken)
	must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{HTTP: 201}))
	if rec := view(t, other, purgeKey); rec.State != Posted {
		t.Errorf("view is not fresh: %+v", rec)
	}
	gitremote.Cmd(t, bare, "update-ref", "-d", testRef)
	if err := tryClaim(t.Context(), l, diskKey); !errors.Is(err, ErrNoGenesis) {
		t.Errorf("claimed in a ledger that is gone: %v", err)
	}
	v, err := l.ReadView(t.Context(), nil)
	if err != nil || !strings.Contains(v.Problem, "is missing at git:") {
		t.Errorf("view %+v, %v", v, err)
	}
	if _, err := CreateLedger(t.Context(), cfg); err == nil {
		t.Error("made again")
	}
}

// TestGitDamage reads what a person, or another tool, has broken.
func TestGitDamage(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, bare)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, testRecord("a", 1))
	commitFile(t, bare, testRef, entryFile(2), "{")
	_, err := s.another().Read(t.Context(), []kind.Key{testRecord("a", 1).Key})
	wantErr(t, err, ErrDamaged)
	// Nor is it so for who writes onto it.
	_ = s.Put(t.Context(), 0, testRecord("b", 1))
	_, err = s.another().ReadGenesis(t.Context())
	wantErr(t, err, ErrDamaged)
}

// commitFile adds a file to a ref of a repository, as a person would.
func commitFile(t *testing.T, bare, ref, file, content string) {
	t.Helper()
	blob := filepath.Join(t.TempDir(), "blob")
	must(t, os.WriteFile(blob, []byte(content), 0o600))
	index := "GIT_INDEX_FILE=" + blob + ".index git "
	script := index + "read-tree $1 && " + index + "update-index --add --cacheinfo 100644,$(git hash-object -w " + blob + "),$2 && " +
		"git update-ref $1 $(git commit-tree -p $1 -m tamper $(" + index + "write-tree))"
	gitremote.Cmd(t, bare, "-c", "alias.tamper=!f() { "+script+"; }; f", "tamper", ref, file)
}

// TestGitWithoutItsFolder: a temporary repository that was removed is no missing ledger.
func TestGitWithoutItsFolder(t *testing.T) {
	dir, temp := gitremote.Clone(t, gitremote.Bare(t)), t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mirrors, err := filepath.Glob(filepath.Join(temp, "trueup-git-*"))
	must(t, err)
	for _, m := range mirrors {
		must(t, os.RemoveAll(m))
	}
	if err := s.Put(t.Context(), 0, testRecord("a", 1)); err == nil || errors.Is(err, ErrNoGenesis) {
		t.Errorf("%d mirrors, error %v", len(mirrors), err)
	}
}
