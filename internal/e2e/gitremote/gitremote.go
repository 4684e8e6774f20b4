// Package gitremote makes git remotes and clones for tests.
package gitremote

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Remove removes the repository that Bare copies. A package calls it when its tests have ended.
func Remove() { _ = os.RemoveAll(template.dir) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Cmd runs git in a directory and returns its trimmed output.
func Cmd(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// template is the repository that Bare copies, which is faster than ten calls of git.
var template struct {
	once sync.Once
	dir  string
}

// Bare makes a bare repository with one commit and returns its path.
func Bare(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	template.once.Do(func() {
		dir, err := os.MkdirTemp("", "trueup-test-")
		must(t, err)
		template.dir = dir
		Cmd(t, dir, "init", "-q", "--bare", "-b", "main")
		Cmd(t, dir, "config", "http.receivepack", "true")
		Cmd(t, dir, "config", "daemon.receivepack", "true")
		tree := Cmd(t, dir, "mktree")
		for i := range 2 {
			Cmd(t, dir, "update-ref", fmt.Sprintf("refs/heads/main%d", i), Cmd(t, dir, "commit-tree", "-m", "start", tree))
		}
		Cmd(t, dir, "update-ref", "refs/heads/main", Cmd(t, dir, "commit-tree", "-p", "main0", "-m", "code", tree))
	})
	bare := filepath.Join(t.TempDir(), "remote.git")
	must(t, os.CopyFS(bare, os.DirFS(template.dir)))
	return bare
}

// Clone clones a remote; args are those of git clone.
func Clone(t testing.TB, url string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	Cmd(t, ".", append(append([]string{"clone", "-q"}, args...), url, dir)...)
	return dir
}
