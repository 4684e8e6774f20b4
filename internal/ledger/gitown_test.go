package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

// TestGitStoreIsNobodyElses: no record is read of a branch of code, however much it
// looks like a ledger, and nothing is pushed onto one.
func TestGitStoreIsNobodyElses(t *testing.T) {
	t.Parallel()
	bare := bareRemote(t)
	dir := clone(t, bare)
	s := openGit(t, dir, testRef)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	mustPut(t, s, 0, testRecord("a", 1))
	for ref, file := range map[string]string{
		"refs/heads/code": "main.go", "refs/heads/folder": "src/main.go", "refs/heads/hidden": ".gitmodules", "refs/heads/inside": "ledger/main.go",
		"refs/heads/own": "", "refs/heads/worked-on": "", "refs/heads/default": "", "refs/heads/cloned": "", "refs/trueup/code": "main.go",
	} {
		gitCmd(t, bare, "update-ref", ref, testRef)
		if file != "" {
			commitFile(t, bare, ref, file, "package main")
		}
	}
	gitCmd(t, dir, "fetch", "-q", "origin")
	gitCmd(t, dir, "worktree", "add", "-q", filepath.Join(t.TempDir(), "other"), "worked-on")
	gitCmd(t, bare, "symbolic-ref", "HEAD", "refs/heads/default")
	gitCmd(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/cloned")
	for ref, why := range map[string]string{
		"refs/heads/main": "checked out", "refs/heads/worked-on": "checked out", "refs/heads/Worked-On": "checked out",
		"refs/heads/default": "the default branch", "refs/heads/cloned": "the default branch",
		"refs/heads/code": `it holds "main.go"`, "refs/heads/folder": `it holds "src"`, "refs/heads/hidden": `it holds ".gitmodules"`,
		"refs/heads/inside": `it holds "ledger/main.go"`, "refs/trueup/code": `it holds "main.go"`, "refs/heads/own": "",
	} {
		t.Run(ref, func(t *testing.T) {
			before := gitCmd(t, bare, "for-each-ref")
			s := openGit(t, dir, ref)
			_, read := s.Read(t.Context(), []Key{testRecord("a", 1).key()})
			write := s.Put(t.Context(), 0, testRecord("b", 1))
			if why == "" {
				must(t, errors.Join(read, write))
				return
			}
			for _, err := range []error{read, write} {
				if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), why) {
					t.Errorf("%v, want %s", err, why)
				}
			}
			if after := gitCmd(t, bare, "for-each-ref"); after != before {
				t.Errorf("a ref moved:\n%s\n%s", before, after)
			}
		})
	}
}
