package blob

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"trueup/internal/e2e/gitremote"
)

const testRef = "refs/trueup/ledger"

// gitCmd runs git as a person would, without the settings of this machine.

func openRef(t testing.TB, dir, where string) *GitRefStore {
	t.Helper()
	s, err := OpenRef(where, dir, true)
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
	core := gitremote.Cmd(t, ".", "--exec-path")
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
	backend := filepath.Join(gitremote.Cmd(t, ".", "--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git http-backend is not installed")
	}
	srv := httptest.NewServer(&cgi.Handler{
		Path: backend, Dir: filepath.Dir(bare), Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"PATH"}, Stderr: io.Discard,
	})
	t.Cleanup(srv.Close)
	return srv.URL + "/" + filepath.Base(bare)
}

func TestRef(t *testing.T) {
	for name, url := range gitTransports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare := gitremote.Bare(t)
			dir := gitremote.Clone(t, url(t, bare), "--depth=1")
			contract(t, func() Store { return openRef(t, dir, testRef) })
			if left := gitremote.Cmd(t, bare, "for-each-ref", "refs/trueup/*-proof-*"); left != "" {
				t.Errorf("proofs left %s", left)
			}
			gitremote.Cmd(t, bare, "fsck", "--full", "--strict")
			if files := gitremote.Cmd(t, bare, "ls-tree", "-r", "--name-only", testRef); strings.Contains(files, "a-3.json") || !strings.Contains(files, "a-0.json") {
				t.Errorf("the newest commit has %s", files)
			}
			if log := gitremote.Cmd(t, bare, "log", "--format=%an <%ae> %B", testRef); !strings.Contains(log, "trueup <trueup@localhost> two\n\npush ") {
				t.Errorf("the log is %s", log)
			}
		})
	}
}

// TestRefRace lets clones race: of those that saw the same, one goes on.
func TestRefRace(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	var wg sync.WaitGroup
	var wins atomic.Int32
	stores := make([]*GitRefStore, 5)
	for i := range stores {
		stores[i] = openRef(t, gitremote.Clone(t, "file://"+filepath.ToSlash(bare), "--depth=1"), testRef)
		_, err := stores[i].List(t.Context(), "log", 1)
		must(t, err)
	}
	for i, s := range stores {
		wg.Go(func() {
			// Another name is no way past the one that came first.
			err := create(t.Context(), s, fmt.Sprint("log/", i%2), fmt.Append(nil, i))
			if err == nil {
				wins.Add(1)
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := wins.Load(); n != 1 {
		t.Errorf("%d writers won", n)
	}
	if n := gitremote.Cmd(t, bare, "rev-list", "--count", testRef); n != "1" {
		t.Errorf("there are %s commits", n)
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

func TestRefLeavesTheCloneAlone(t *testing.T) {
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, bare)
	must(t, os.WriteFile(filepath.Join(dir, "staged"), []byte("x"), 0o600))
	gitremote.Cmd(t, dir, "add", "staged")
	must(t, os.WriteFile(filepath.Join(dir, "loose"), []byte("y"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", "pre-push"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	gitremote.Cmd(t, dir, "config", "push.followTags", "true")
	gitremote.Cmd(t, dir, "config", "remote.origin.mirror", "true")
	before, heads := folder(t, dir), gitremote.Cmd(t, bare, "for-each-ref", "refs/heads")
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, ".git", "index"))
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	sub := filepath.Join(dir, "sub")
	s := openRef(t, dir, testRef)
	must(t, create(t.Context(), s, "log/1", nil))
	must(t, create(t.Context(), s, "log/2", nil))
	if names, err := s.List(t.Context(), "log", 0); err != nil || len(names) != 2 {
		t.Errorf("blobs are %v, %v", names, err)
	}
	must(t, s.Close())
	if after := folder(t, dir); after != before {
		t.Errorf("the clone is\n%s\nand was\n%s", after, before)
	}
	if after := gitremote.Cmd(t, bare, "for-each-ref", "refs/heads"); after != heads {
		t.Errorf("branches are %s, were %s", after, heads)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	must(t, os.Mkdir(sub, 0o700))
	if names, err := openRef(t, sub, testRef+"@origin").List(t.Context(), "log", 0); err != nil || len(names) != 2 {
		t.Errorf("from a folder below: %v, %v", names, err)
	}
}

func TestRefErrorsSayWhatToDo(t *testing.T) {
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, bare)
	must(t, create(t.Context(), openRef(t, dir, testRef), "log/1", nil))
	read := func(dir, where string) error {
		_, err := openRef(t, dir, where).List(t.Context(), "log", 1)
		return err
	}
	said := func(err error, words ...string) {
		t.Helper()
		for _, w := range words {
			if err == nil || errors.Is(err, ErrExists) || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), w) {
				t.Errorf("error is %v, want %q in it", err, w)
			}
		}
	}
	said(read(t.TempDir(), testRef), "not a git repository", "in a clone of it")
	said(read(dir, testRef+"@upstream"), `"upstream": no such remote`, "@REMOTE")
	gitremote.Cmd(t, bare, "config", "receive.hideRefs", "refs/trueup")
	s := openRef(t, dir, testRef)
	said(create(t.Context(), s, "log/2", nil), "remote origin", "contents: write", "git:refs/heads/")
	gitremote.Cmd(t, bare, "config", "--unset", "receive.hideRefs")
	must(t, create(t.Context(), s, "log/2", nil))
	gitremote.Cmd(t, dir, "remote", "set-url", "origin", "https://user:secret@127.0.0.1:1/x.git")
	err := read(dir, testRef)
	said(err, "can be reached")
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("it tells a password: %v", err)
	}
	gitremote.Cmd(t, dir, "remote", "set-url", "origin", filepath.Join(t.TempDir(), "gone"))
	said(read(dir, testRef), "remote origin", "can be reached")
	t.Setenv("PATH", t.TempDir())
	said(read(dir, testRef), "git is not installed")
}

// TestRefUnclearPush ends a push, or its answer, at the worst moment.
func TestRefUnclearPush(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, "file://"+filepath.ToSlash(bare), "--depth=1")
	must(t, create(t.Context(), openRef(t, dir, testRef), "log/0", nil))
	wrapper := filepath.Join(t.TempDir(), "receive")
	gitremote.Cmd(t, dir, "config", "remote.origin.receivepack", wrapper)
	once := "[ -e " + wrapper + ".once ] && exec git-receive-pack \"$1\"; : >" + wrapper + ".once; "
	env := "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; "
	for i, c := range []struct{ name, receive, after string }{
		{"answer lost", "", "kill -9 $PPID"},
		{"pusher killed", "echo $PPID >" + wrapper + ".pid; ", "kill -9 $(cat " + wrapper + ".pid)"},
		{"first try lost", once + "exit 1; ", ""},
		{"others came after", "", env + "git update-ref " + testRef + " $(git commit-tree -p " + testRef + " -m x " + testRef + "^{tree}); kill -9 $PPID"},
	} {
		must(t, os.WriteFile(wrapper, []byte("#!/bin/sh\n"+c.receive+"exec git-receive-pack \"$1\"\n"), 0o700))
		must(t, os.WriteFile(filepath.Join(bare, "hooks", "post-receive"), []byte("#!/bin/sh\n"+c.after+"\n"), 0o700))
		s, name := openRef(t, dir, testRef), fmt.Sprint("log/", i+1)
		if err := create(t.Context(), s, name, []byte(c.name)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if b, err := openRef(t, dir, testRef).Get(t.Context(), name); err != nil || string(b) != c.name {
			t.Errorf("%s: read %q, %v", c.name, b, err)
		}
	}
	if n := gitremote.Cmd(t, bare, "rev-list", "--count", testRef); n != "6" {
		t.Errorf("there are %s commits", n)
	}
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

// TestARefWithOtherFilesIsRefused: no blob is read of a branch of code, however much it
// looks like a ledger, and nothing is pushed onto one.
func TestARefWithOtherFilesIsRefused(t *testing.T) {
	t.Parallel()
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, bare)
	s := openRef(t, dir, testRef)
	must(t, create(t.Context(), s, "log/1", nil))
	must(t, create(t.Context(), s, "log/2", nil))
	for ref, file := range map[string]string{
		"refs/heads/code": "main.go", "refs/heads/folder": "src/main.go", "refs/heads/hidden": ".gitmodules", "refs/heads/inside": "logs/main.go",
		"refs/heads/own": "", "refs/heads/worked-on": "", "refs/heads/default": "", "refs/heads/cloned": "", "refs/trueup/code": "main.go",
	} {
		gitremote.Cmd(t, bare, "update-ref", ref, testRef)
		if file != "" {
			commitFile(t, bare, ref, file, "package main")
		}
	}
	gitremote.Cmd(t, dir, "fetch", "-q", "origin")
	gitremote.Cmd(t, dir, "worktree", "add", "-q", filepath.Join(t.TempDir(), "other"), "worked-on")
	gitremote.Cmd(t, bare, "symbolic-ref", "HEAD", "refs/heads/default")
	gitremote.Cmd(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/cloned")
	for ref, why := range map[string]string{
		"refs/heads/main": "checked out", "refs/heads/worked-on": "checked out", "refs/heads/Worked-On": "checked out",
		"refs/heads/default": "the default branch", "refs/heads/cloned": "the default branch",
		"refs/heads/code": `it has "main.go"`, "refs/heads/folder": `it has "src/main.go"`, "refs/heads/hidden": `it has ".gitmodules"`,
		"refs/heads/inside": `it has "logs/main.go"`, "refs/trueup/code": `it has "main.go"`, "refs/heads/own": "",
	} {
		t.Run(ref, func(t *testing.T) {
			before := gitremote.Cmd(t, bare, "for-each-ref")
			s := openRef(t, dir, ref)
			_, read := s.List(t.Context(), "log", 1)
			write := create(t.Context(), s, "log/3", nil)
			if why == "" {
				must(t, errors.Join(read, write))
				return
			}
			for _, err := range []error{read, write} {
				if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), why) {
					t.Errorf("%v, want %s", err, why)
				}
			}
			if after := gitremote.Cmd(t, bare, "for-each-ref"); after != before {
				t.Errorf("a ref moved:\n%s\n%s", before, after)
			}
		})
	}
}

// TestRefsOfALedger: no ledger is in the refs that another one has beside its own.
func TestRefsOfALedger(t *testing.T) {
	for _, end := range []string{"-before", "-folded", "-folded-before"} {
		if _, err := OpenRef(testRef+end, t.TempDir(), true); err == nil || !strings.Contains(err.Error(), "may not end in -before or -folded") {
			t.Errorf("%s: %v", end, err)
		}
	}
	bare := gitremote.Bare(t)
	dir := gitremote.Clone(t, bare)
	must(t, create(t.Context(), openRef(t, dir, testRef), "log/1", nil))
	gitremote.Cmd(t, bare, "update-ref", testRef+"-before", testRef)
	commitFile(t, bare, testRef+"-before", "main.go", "package main")
	before := gitremote.Cmd(t, bare, "for-each-ref")
	s := openRef(t, dir, testRef)
	err := s.Create(t.Context(), Blob{Name: "log/2", Whole: true, Replaces: []string{"log/1"}})
	if after := gitremote.Cmd(t, bare, "for-each-ref"); !errors.Is(err, ErrStore) || after != before {
		t.Errorf("%v, and the refs are\n%s\nwere\n%s", err, after, before)
	}
}
