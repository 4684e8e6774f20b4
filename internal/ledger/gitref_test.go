package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const testRef = "refs/trueup/ledger"

// gitCmd runs git as a person would, without the settings of this machine.
func gitCmd(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// bareRemote makes a bare repository with one commit and returns its path.
func bareRemote(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	bare := filepath.Join(t.TempDir(), "remote.git")
	gitCmd(t, ".", "init", "-q", "--bare", "-b", "main", bare)
	gitCmd(t, bare, "config", "http.receivepack", "true")
	gitCmd(t, bare, "config", "daemon.receivepack", "true")
	tree := gitCmd(t, bare, "mktree")
	for i := range 2 {
		gitCmd(t, bare, "update-ref", fmt.Sprintf("refs/heads/main%d", i), gitCmd(t, bare, "commit-tree", "-m", "start", tree))
	}
	gitCmd(t, bare, "update-ref", "refs/heads/main", gitCmd(t, bare, "commit-tree", "-p", "main0", "-m", "code", tree))
	return bare
}

// clone clones a remote; args are those of git clone.
func clone(t *testing.T, url string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	gitCmd(t, ".", append(append([]string{"clone", "-q"}, args...), url, dir)...)
	return dir
}

func openGit(t *testing.T, dir, where string) *gitStore {
	t.Helper()
	s, err := newGitStore(where, dir)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// gitTransports are the ways to a bare repository.
var gitTransports = map[string]func(t testing.TB, bare string) string{
	"file": func(_ testing.TB, bare string) string { return "file://" + filepath.ToSlash(bare) },
	"git":  daemonURL,
	"http": backendURL,
}

func daemonURL(t testing.TB, bare string) string {
	t.Helper()
	core := gitCmd(t, ".", "--exec-path")
	daemon := filepath.Join(core, "git-daemon")
	if _, err := os.Stat(daemon); err != nil {
		t.Skip("git daemon is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		served.Wait()
	})
	ctx, dir := t.Context(), filepath.Dir(bare)
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer func() { _ = conn.Close() }()
				stream, err := conn.(*net.TCPConn).File()
				if err != nil {
					return
				}
				defer func() { _ = stream.Close() }()
				cmd := exec.CommandContext(ctx, daemon, "--inetd", "--log-destination=none", "--export-all", "--base-path="+dir, dir)
				cmd.Stdin, cmd.Stdout = stream, stream
				_ = cmd.Run()
			})
		}
	})
	return "git://" + l.Addr().String() + "/" + filepath.Base(bare)
}

func backendURL(t testing.TB, bare string) string {
	t.Helper()
	backend := filepath.Join(gitCmd(t, ".", "--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git http-backend is not installed")
	}
	srv := httptest.NewServer(&cgi.Handler{
		Path: backend, Dir: filepath.Dir(bare), Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"PATH"}, Stderr: &bytes.Buffer{},
	})
	t.Cleanup(srv.Close)
	return srv.URL + "/" + filepath.Base(bare)
}

func TestGitStoreContract(t *testing.T) {
	for name, url := range gitTransports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare := bareRemote(t)
			dir := clone(t, url(t, bare), "--depth=1")
			var n atomic.Int64
			contract(t, func() Store { return openGit(t, dir, fmt.Sprintf("refs/trueup/ledger-%d", n.Add(1))) })
			if left := gitCmd(t, bare, "for-each-ref", "refs/trueup/*-proof-*"); left != "" {
				t.Errorf("proofs left %s", left)
			}
		})
	}
}

// TestGitStoreRace lets clones race for the same records, written alike.
func TestGitStoreRace(t *testing.T) {
	t.Parallel()
	const clones, keys = 5, 2
	bare := bareRemote(t)
	url := "file://" + filepath.ToSlash(bare)
	var wins [keys]atomic.Int32
	var born atomic.Int32
	var wg sync.WaitGroup
	stores := make([]*gitStore, clones)
	for i := range stores {
		stores[i] = openGit(t, clone(t, url, "--depth=1"), testRef)
	}
	for i, s := range stores {
		wg.Go(func() {
			if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err == nil {
				born.Add(1)
			} else if !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
			mustPut(t, s, 0, testRecord(fmt.Sprint("own-", i), 1))
			for k := range keys {
				if err := s.Put(t.Context(), 0, testRecord(fmt.Sprint(k), 1)); err == nil {
					wins[k].Add(1)
				} else if !errors.Is(err, ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := born.Load(); n != 1 {
		t.Errorf("%d writers made the genesis", n)
	}
	for k := range keys {
		if n := wins[k].Load(); n != 1 {
			t.Errorf("record %d was written %d times", k, n)
		}
	}
	s := openGit(t, clone(t, url), testRef)
	if all := readAll(t, s); len(all) != clones+keys {
		t.Errorf("there are %d records", len(all))
	}
	if merges := gitCmd(t, bare, "rev-list", "--min-parents=2", "--count", testRef); merges != "0" {
		t.Errorf("%s merges", merges)
	}
}

// TestGitStoreGroupsCommits counts the pushes of many puts at once.
func TestGitStoreGroupsCommits(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	s := openGit(t, clone(t, bare), testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, testRecord("taken", 1))
	s.net <- struct{}{}
	errs := make([]error, 21)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			name := fmt.Sprint("n-", i)
			if i == 20 {
				name = "taken"
			}
			errs[i] = s.Put(t.Context(), 0, testRecord(name, 1))
		})
	}
	for waits := 0; waits < len(errs); {
		s.mu.Lock()
		waits = len(s.queue)
		s.mu.Unlock()
	}
	<-s.net
	wg.Wait()
	for i, err := range errs {
		if i == 20 {
			wantErr(t, err, ErrConflict)
		} else if err != nil {
			t.Error(err)
		}
	}
	if n := gitCmd(t, bare, "rev-list", "--count", testRef); n != "3" {
		t.Errorf("there are %s commits", n)
	}
	if message := gitCmd(t, bare, "log", "--format=%an <%ae> %cn %B", testRef); strings.Count(message, "nonce nonce-n-") < 20 ||
		!strings.Contains(message, "trueup <trueup@localhost> trueup") || strings.Count(message, "\npush ") != 3 {
		t.Errorf("messages are %s", message)
	}
}

// folder is everything in a folder, by name.
func folder(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&b, p)
			return err
		}
		content, err := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %x\n", p, content)
		return err
	}))
	return b.String()
}

func TestGitStoreLeavesTheCloneAlone(t *testing.T) {
	bare := bareRemote(t)
	dir := clone(t, bare)
	must(t, os.WriteFile(filepath.Join(dir, "staged"), []byte("x"), 0o600))
	gitCmd(t, dir, "add", "staged")
	must(t, os.WriteFile(filepath.Join(dir, "loose"), []byte("y"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", "pre-push"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	gitCmd(t, dir, "config", "push.followTags", "true")
	gitCmd(t, dir, "config", "remote.origin.mirror", "true")
	before, heads := folder(t, dir), gitCmd(t, bare, "for-each-ref", "refs/heads")
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, ".git", "index"))
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	sub := filepath.Join(dir, "sub")
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, testRecord("a", 1))
	if all := readAll(t, s); len(all) != 1 {
		t.Errorf("records are %v", all)
	}
	must(t, s.Close())
	if after := folder(t, dir); after != before {
		t.Errorf("the clone is\n%s\nand was\n%s", after, before)
	}
	if after := gitCmd(t, bare, "for-each-ref", "refs/heads"); after != heads {
		t.Errorf("branches are %s, were %s", after, heads)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	must(t, os.Mkdir(sub, 0o700))
	if g, err := openGit(t, sub, testRef+"@origin").ReadGenesis(t.Context()); err != nil || g.LedgerID != "ledger-1" {
		t.Errorf("from a folder below: %+v, %v", g, err)
	}
}

func TestGitStoreErrorsSayWhatToDo(t *testing.T) {
	bare := bareRemote(t)
	dir := clone(t, bare)
	must(t, openGit(t, dir, testRef).WriteGenesis(t.Context(), 0, testGenesis()))
	read := func(dir, where string) error {
		_, err := openGit(t, dir, where).ReadGenesis(t.Context())
		return err
	}
	said := func(err error, words ...string) {
		t.Helper()
		for _, w := range words {
			if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrNoGenesis) || !strings.Contains(err.Error(), w) {
				t.Errorf("error is %v, want %q in it", err, w)
			}
		}
	}
	said(read(t.TempDir(), testRef), "not a git repository", "in a clone of it")
	said(read(dir, testRef+"@upstream"), `"upstream": no such remote`, "@REMOTE")
	said(read(dir, "refs/heads/main0"), "refs/heads/main0 of remote origin has no ledger/genesis.json")
	said(openGit(t, dir, "refs/heads/main0").WriteGenesis(t.Context(), 0, testGenesis()), "no ledger/genesis.json")
	said(openGit(t, dir, "refs/heads/main0").All(t.Context(), func(Record) error { return nil }), "no ledger/genesis.json")
	gitCmd(t, bare, "config", "receive.hideRefs", "refs/trueup")
	s := openGit(t, dir, testRef)
	said(s.Put(t.Context(), 0, testRecord("a", 1)), "remote origin", "contents: write", "git:refs/heads/")
	gitCmd(t, bare, "config", "--unset", "receive.hideRefs")
	mustPut(t, s, 0, testRecord("a", 1))
	gitCmd(t, dir, "remote", "set-url", "origin", "https://user:secret@127.0.0.1:1/x.git")
	err := read(dir, testRef)
	said(err, "can be reached")
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("it tells a password: %v", err)
	}
	gitCmd(t, dir, "remote", "set-url", "origin", filepath.Join(t.TempDir(), "gone"))
	said(read(dir, testRef), "remote origin", "can be reached")
	t.Setenv("PATH", t.TempDir())
	said(read(dir, testRef), "git is not installed")
}

// TestGitStoreLost shows that a remote that lost the ref is no empty ledger.
func TestGitStoreLost(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	cfg := testConfig(clone(t, bare, "--no-local", "--depth=1"))
	cfg.Store, cfg.InCI = "git:"+testRef, true
	g, err := Init(t.Context(), cfg)
	must(t, err)
	cfg.ID = g.LedgerID
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

// TestGitStoreDamage reads what a person, or another tool, has broken.
func TestGitStoreDamage(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	dir := clone(t, bare)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, testRecord("a", 1))
	tamper := func(file, content string) {
		t.Helper()
		commitFile(t, bare, testRef, file, content)
		s.forget()
	}
	tamper(path.Dir(gitRecordPath(testRecord("a", 1).key()))+"/note", "mine")
	if all := readAll(t, s); len(all) != 1 {
		t.Errorf("records are %v", all)
	}
	key := testRecord("a", 1).key()
	copied, err := encode(testRecord("b", 1))
	must(t, err)
	tamper(gitRecordPath(key), string(copied))
	_, err = s.Read(t.Context(), []Key{key})
	if err == nil || !strings.Contains(err.Error(), "belongs elsewhere") {
		t.Errorf("read gave %v", err)
	}
	if err := s.Put(t.Context(), 1, testRecord("a", 2)); err == nil || errors.Is(err, ErrConflict) {
		t.Errorf("put gave %v", err)
	}
	if err := s.All(t.Context(), func(Record) error { return nil }); err == nil {
		t.Error("all gave nothing")
	}
	tamper(gitGenesis, "{")
	if _, err := s.ReadGenesis(t.Context()); err == nil || errors.Is(err, ErrNoGenesis) {
		t.Errorf("genesis gave %v", err)
	}
}

// TestGitStoreUnclearPush ends a push, or its answer, at the worst moment.
func TestGitStoreUnclearPush(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	strict(t, bare)
	oldLedger(t, bare, 1, gitFew)
	dir := clone(t, "file://"+filepath.ToSlash(bare), "--depth=1")
	wrapper := filepath.Join(t.TempDir(), "receive")
	gitCmd(t, dir, "config", "remote.origin.receivepack", wrapper)
	later := testRecord("others came after", 2)
	content, err := encode(later)
	must(t, err)
	must(t, os.WriteFile(wrapper+".json", content, 0o600))
	blob := gitCmd(t, bare, "hash-object", "-w", wrapper+".json")
	once := "[ -e " + wrapper + ".once ] && exec git-receive-pack \"$1\"; touch " + wrapper + ".once; "
	env := "export GIT_INDEX_FILE=" + wrapper + ".index GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; "
	for _, c := range []struct{ name, receive, after string }{
		{"answer lost", "", "kill -9 $PPID"},
		{"pusher killed", "echo $PPID >" + wrapper + ".pid; ", "kill -9 $(cat " + wrapper + ".pid)"},
		{"first try lost", once + "exit 1; ", ""},
		{
			"others came after", "", env + "git read-tree " + testRef + " && git update-index --add --cacheinfo 100644," + blob + "," + gitRecordPath(later.key()) +
				" && git update-ref " + testRef + " $(git commit-tree -p " + testRef + " -m x $(git write-tree)); kill -9 $PPID",
		},
	} {
		must(t, os.WriteFile(wrapper, []byte("#!/bin/sh\n"+c.receive+"exec git-receive-pack \"$1\"\n"), 0o700))
		must(t, os.WriteFile(filepath.Join(bare, "hooks", "post-receive"), []byte("#!/bin/sh\n"+c.after+"\n"), 0o700))
		s := openGit(t, dir, testRef)
		if err := s.Put(t.Context(), 0, testRecord(c.name, 1)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		s.forget()
		key := testRecord(c.name, 1).key()
		if got, err := s.Read(t.Context(), []Key{key}); err != nil || got[key].Seq < 1 || got[key].Seq != 1 && c.name != later.Name {
			t.Errorf("%s: read %v, %v", c.name, got, err)
		}
	}
	if n := gitCmd(t, bare, "rev-list", "--count", testRef); n != "6" {
		t.Errorf("there are %s commits", n)
	}
}

// TestGitStoreCancelled gives up while a push is under way, and before.
func TestGitStoreCancelled(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	dir := clone(t, bare)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	must(t, s.Close())
	hook := filepath.Join(t.TempDir(), "receive")
	gitCmd(t, dir, "config", "remote.origin.receivepack", hook)
	script := fmt.Sprintf("#!/bin/sh\ntouch %[1]s.in; while [ ! -e %[1]s.go ]; do sleep 0.01; done; exec git-receive-pack \"$1\"\n", hook)
	must(t, os.WriteFile(hook, []byte(script), 0o700))
	s = openGit(t, dir, testRef)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { errs <- s.Put(ctx, 0, testRecord("under way", 1)) }()
	for there := false; !there; {
		_, err := os.Stat(hook + ".in")
		there = err == nil
	}
	go func() { errs <- s.Put(ctx, 0, testRecord("waiting", 1)) }()
	for waits := 0; waits == 0; {
		s.mu.Lock()
		waits = len(s.queue)
		s.mu.Unlock()
	}
	cancel()
	for range 2 {
		wantErr(t, <-errs, context.Canceled)
	}
	s.forget()
	_, err := s.ReadGenesis(ctx)
	wantErr(t, err, context.Canceled)
	must(t, os.WriteFile(hook+".go", nil, 0o600))
	mustPut(t, s, 0, testRecord("next", 1))
	all := readAll(t, s)
	if _, ok := all["Purge/waiting"]; ok || len(all) != 2 {
		t.Errorf("records are %v", all)
	}
}
