package ledger

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"trueup/internal/blob"
	"trueup/internal/kind"
)

const testRef = "refs/trueup/ledger"

// gitCmd runs git as a person would, without the settings of this machine.
func gitCmd(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gitNames...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// bareTemplate is the repository that bareRemote copies, which is faster than ten calls of git.
var bareTemplate struct {
	once sync.Once
	dir  string
}

// bareRemote makes a bare repository with one commit and returns its path.
func bareRemote(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	bareTemplate.once.Do(func() {
		dir, err := os.MkdirTemp("", "trueup-test-")
		must(t, err)
		bareTemplate.dir = dir
		gitCmd(t, dir, "init", "-q", "--bare", "-b", "main")
		gitCmd(t, dir, "config", "http.receivepack", "true")
		gitCmd(t, dir, "config", "daemon.receivepack", "true")
		tree := gitCmd(t, dir, "mktree")
		for i := range 2 {
			gitCmd(t, dir, "update-ref", fmt.Sprintf("refs/heads/main%d", i), gitCmd(t, dir, "commit-tree", "-m", "start", tree))
		}
		gitCmd(t, dir, "update-ref", "refs/heads/main", gitCmd(t, dir, "commit-tree", "-p", "main0", "-m", "code", tree))
	})
	bare := filepath.Join(t.TempDir(), "remote.git")
	must(t, os.CopyFS(bare, os.DirFS(bareTemplate.dir)))
	return bare
}

var gitNames = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}

// clone clones a remote; args are those of git clone.
func clone(t *testing.T, url string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	gitCmd(t, ".", append(append([]string{"clone", "-q"}, args...), url, dir)...)
	return dir
}

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
	bare := bareRemote(t)
	dir := clone(t, "file://"+filepath.ToSlash(bare), "--depth=1")
	var n atomic.Int64
	fresh := func() Store { return openGit(t, dir, fmt.Sprintf("refs/trueup/ledger-%d", n.Add(1))) }
	if os.Getenv("TRUEUP_HISTORIES") != "" {
		contract(t, fresh)
	} else {
		// The log is the same on blobs of any kind: the rest of the contract is tested in memory and in a folder.
		s := fresh()
		must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
		contractSwap(t, s)
		must(t, s.Prove(t.Context()))
	}
	if left := gitCmd(t, bare, "for-each-ref", "refs/trueup/*-proof-*"); left != "" {
		t.Errorf("proofs left %s", left)
	}
}

// TestLogOnRefIsRead by a person: the log says who did what, and the newest commit has
// few files, each of which is text.
func TestLogOnRefIsRead(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	s := openGit(t, clone(t, bare), testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	for i := range 20 {
		mustPut(t, s, i, testRecord("a", i+1))
	}
	files := strings.Fields(gitCmd(t, bare, "ls-tree", "-r", "--name-only", testRef))
	if len(files) != 3 {
		t.Errorf("21 entries are %v", files)
	}
	if text := gitCmd(t, bare, "show", testRef); !strings.Contains(text, "posted Purge/a, seq 20, nonce nonce-a-20") || !strings.Contains(text, `+{"schema":"trueup.ledger/v1","workspace":`) {
		t.Errorf("git show prints %s", text)
	}
	if log := gitCmd(t, bare, "log", "--format=%s", testRef); strings.Count(log, "posted Purge/a, seq") != 20 || !strings.Contains(log, "genesis of ledger ledger-1") {
		t.Errorf("the log is %s", log)
	}
}

// TestLostRef shows that a remote that lost the ref is no empty ledger.
func TestLostRef(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	cfg := testConfig(clone(t, bare, "--no-local", "--depth=1"))
	cfg.Store, cfg.InCI = "git:"+testRef, true
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
	must(t, l.Posted(t.Context(), purgeKey, Made{HTTP: 201}))
	if rec := view(t, other, purgeKey); rec.State != Posted {
		t.Errorf("view is not fresh: %+v", rec)
	}
	gitCmd(t, bare, "update-ref", "-d", testRef)
	if err := tryClaim(t.Context(), l, diskKey); !errors.Is(err, ErrNoGenesis) {
		t.Errorf("claimed in a ledger that is gone: %v", err)
	}
	v, err := l.View(t.Context(), nil)
	if err != nil || !strings.Contains(v.Problem, "is missing at git:") {
		t.Errorf("view %+v, %v", v, err)
	}
	if _, err := Init(t.Context(), cfg); err == nil {
		t.Error("made again")
	}
}

// TestGitDamage reads what a person, or another tool, has broken.
func TestGitDamage(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	dir := clone(t, bare)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, testRecord("a", 1))
	commitFile(t, bare, testRef, span{2, 1}.name(false), "{")
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
	gitCmd(t, bare, "-c", "alias.tamper=!f() { "+script+"; }; f", "tamper", ref, file)
}

// TestGitWithoutItsFolder: a temporary repository that was removed is no missing ledger.
func TestGitWithoutItsFolder(t *testing.T) {
	dir, temp := clone(t, bareRemote(t)), t.TempDir()
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
