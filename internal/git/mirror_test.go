package git

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const ref = "refs/trueup/test"

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// pair makes a bare repository and one that has it as remote origin.
func pair(t *testing.T, args ...string) (bare, dir string) {
	t.Helper()
	root := t.TempDir()
	bare, dir = filepath.Join(root, "remote.git"), filepath.Join(root, "user")
	git(t, root, append([]string{"init", "-q", "--bare", bare}, args...)...)
	git(t, root, append([]string{"init", "-q", dir}, args...)...)
	git(t, dir, "remote", "add", "origin", "../remote.git")
	return bare, dir
}

func mirror(t *testing.T, dir string) *Mirror {
	t.Helper()
	m, err := OpenMirror(t.Context(), dir, "origin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func commit(t *testing.T, m *Mirror, c CommitInput) string {
	t.Helper()
	id, err := m.CreateCommit(t.Context(), c)
	if err != nil || len(id) < 40 {
		t.Fatalf("commit %q, %v", id, err)
	}
	return id
}

func push(t *testing.T, m *Mirror, from, to string, want bool) {
	t.Helper()
	if won, err := m.Push(t.Context(), ref, from, to, ""); won != want {
		t.Fatalf("push from %q to %q gave %v, %v", from, to, won, err)
	}
}

func fetch(t *testing.T, m *Mirror, want string) {
	t.Helper()
	if tip, err := m.Fetch(t.Context(), ref, 1); err != nil || tip != want {
		t.Fatalf("the tip is %q, %v; want %q", tip, err, want)
	}
}

func TestSwap(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			bare, dir := pair(t, "--object-format="+format)
			m, other := mirror(t, dir), mirror(t, dir)
			fetch(t, m, "")
			one := commit(t, m, CommitInput{Message: "one\n", Files: map[string][]byte{"a/b.json": []byte("x\nmissing\n"), "c": nil, "gone/x": nil}})
			rival := commit(t, other, CommitInput{Message: "rival"})
			push(t, m, "", one, true)
			push(t, m, "", one, false)
			push(t, other, "", rival, false)
			fetch(t, other, one)
			two := commit(t, other, CommitInput{Parent: one, Message: "two", Files: map[string][]byte{"a/d": []byte("y")}, Removed: []string{"gone/x"}})
			stale := commit(t, m, CommitInput{Parent: one, Message: "stale"})
			push(t, other, one, two, true)
			push(t, m, one, stale, false)
			fetch(t, m, two)
			for name, want := range map[string]string{"a/b.json": "x\nmissing\n", "c": "", "a/d": "y"} {
				if content, err := m.ReadFile(t.Context(), two, name); err != nil || string(content) != want {
					t.Errorf("%s is %q, %v", name, content, err)
				}
			}
			if content, err := m.ReadFile(t.Context(), two, "a/none"); err == nil {
				t.Errorf("what is not there is %q", content)
			}
			paths, links, err := m.ListFiles(t.Context(), two)
			if err != nil || strings.Join(paths, " ") != "a/b.json a/d c" || links != nil {
				t.Errorf("paths are %q, %v", paths, err)
			}
			git(t, bare, "fsck", "--strict")
			for commit, want := range map[string]bool{one: true, two: true, stale: false, rival: false} {
				if held, err := m.HasCommit(t.Context(), ref, 5, commit); err != nil || held != want {
					t.Errorf("holds %v, %v", held, err)
				}
			}
			push(t, m, one, "", false)
			push(t, m, two, "", true)
			fetch(t, m, "")
		})
	}
}

// TestRefsThatEndAlike shows that a listing is not taken by its tail.
func TestRefsThatEndAlike(t *testing.T) {
	bare, dir := pair(t)
	m := mirror(t, dir)
	one := commit(t, m, CommitInput{Message: "one"})
	push(t, m, "", one, true)
	git(t, bare, "update-ref", "refs/heads/"+ref, one)
	git(t, bare, "update-ref", "-d", ref)
	fetch(t, m, "")
}

func TestRefuses(t *testing.T) {
	_, dir := pair(t)
	if _, err := OpenMirror(t.Context(), t.TempDir(), "origin"); !errors.Is(err, ErrNoRepository) {
		t.Errorf("open gave %v", err)
	}
	if _, err := OpenMirror(t.Context(), dir, "other"); !errors.Is(err, ErrNoRemote) {
		t.Errorf("open gave %v", err)
	}
	m := mirror(t, dir)
	one := commit(t, m, CommitInput{Message: "one", Files: map[string][]byte{"a/b": nil}})
	if _, err := m.ReadFile(t.Context(), one, "a"); err == nil {
		t.Error("a folder was read as a file")
	}
	if _, err := m.ReadFile(t.Context(), strings.Repeat("0", 40), "a"); err == nil {
		t.Error("a commit that is not there has no files, and no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Fetch(ctx, ref, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch gave %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	var failed *CommandError
	if _, err := m.ReadFile(t.Context(), one, "a/b"); err == nil || errors.As(err, &failed) {
		t.Errorf("a mirror that is gone gave %v", err)
	}
}

func TestSaysNoPassword(t *testing.T) {
	said := cleanMessage("fatal: unable to access 'https://me:s3cret@example.com/x'\n" + strings.Repeat("é", maxSaid))
	if strings.Contains(said, "s3cret") || !strings.Contains(said, "https://example.com/x") || len(said) > maxSaid {
		t.Errorf("said %q", said)
	}
	err := &CommandError{Command: "push", Err: errors.New("exit status 1")}
	if err.Error() != "git push: exit status 1" {
		t.Error(err)
	}
}

// TestAuthorises reaches a remote that wants a token as CI services configure
// it: a header in the repository's configuration, or in a file that is included
// for this repository only.
func TestAuthorises(t *testing.T) {
	bare, dir := pair(t)
	backend := filepath.Join(git(t, dir, "--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git http-backend is not installed")
	}
	git(t, bare, "config", "http.receivepack", "true")
	h := &cgi.Handler{
		Path: backend, Dir: bare, InheritEnv: []string{"PATH"}, Stderr: &bytes.Buffer{},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "basic t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	git(t, dir, "remote", "set-url", "origin", srv.URL+"/remote.git")
	if _, err := mirror(t, dir).Fetch(t.Context(), ref, 1); err == nil {
		t.Fatal("reached without a token")
	}
	included := filepath.Join(t.TempDir(), "credentials")
	git(t, dir, "config", "-f", included, "http."+srv.URL+"/.extraheader", "AUTHORIZATION: basic t0ken")
	gitDir, err := filepath.EvalSymlinks(filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "includeIf.gitdir:"+gitDir+".path", included)
	m := mirror(t, dir)
	fetch(t, m, "")
	one := commit(t, m, CommitInput{Message: "one"})
	push(t, m, "", one, true)
	kept, err := os.ReadFile(filepath.Join(m.dir, "config"))
	if err != nil || strings.Contains(string(kept), "t0ken") {
		t.Errorf("the token is in a file, or %v", err)
	}
	git(t, dir, "config", "--unset", "includeIf.gitdir:"+gitDir+".path")
	git(t, dir, "config", "http."+srv.URL+"/.extraheader", "AUTHORIZATION: basic t0ken")
	fetch(t, mirror(t, dir), one)
}

// TestHidesTokens: no token of the platform is in the environment of git and of
// what it starts.
func TestHidesTokens(t *testing.T) {
	for _, name := range []string{"TRUEUP_DELIVERY_TOKEN", "TRUEUP_COMPUTE_TOKEN", "TRUEUP_COMPUTE_TOKEN_FILE"} {
		t.Setenv(name, "canary")
	}
	t.Setenv("TRUEUP_LEDGER", "kept")
	for _, env := range [][]string{nil, {"GIT_CONFIG_NOSYSTEM=1"}} {
		out, err := runner{dir: t.TempDir(), env: env}.run(t.Context(), nil, "-c", "alias.seen=!env", "seen")
		if err != nil || strings.Contains(string(out), "canary") || !strings.Contains(string(out), "TRUEUP_LEDGER=kept") {
			t.Errorf("with %v: %v\n%s", env, err, out)
		}
	}
}
