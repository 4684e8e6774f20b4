package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// commitAll commits everything with a message.
func commitAll(t *testing.T, dir, message string) {
	t.Helper()
	run(t, dir, "add", "-A")
	run(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", message)
}

func id(t *testing.T, r Repository, ref string) string {
	t.Helper()
	found, err := r.ResolveCommit(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHistory(t *testing.T) {
	dir := repository(t)
	r, ctx := at(t, dir), t.Context()
	first := id(t, r, "HEAD")
	run(t, dir, "checkout", "-q", "-b", "feature")
	commitAll(t, dir, "ours")
	run(t, dir, "checkout", "-q", "main")
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	commitAll(t, dir, "theirs")
	commitAll(t, dir, "theirs, of nothing here")
	if bases, err := r.MergeBases(ctx, "main", "feature"); err != nil || !slices.Equal(bases, []string{first}) {
		t.Errorf("merge bases %q, %v", bases, err)
	}
	for names, want := range map[string]int{"shop.yaml": 1, ".": 1, "deep": 0, "nothing*": 0} {
		if n, err := r.CountMissingCommits(ctx, "feature", "main", []string{names}); n != want || err != nil {
			t.Errorf("%s: %d commits, %v; want %d", names, n, err, want)
		}
	}
	run(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "merge", "-q", "--no-ff", "-m", "both", "feature")
	parents, err := r.Parents(ctx, "HEAD")
	if err != nil || len(parents) != 2 || parents[0] != id(t, r, "main~1") || parents[1] != id(t, r, "feature") {
		t.Errorf("parents %v, %v", parents, err)
	}
	if parents, err := r.Parents(ctx, first); len(parents) != 0 || err != nil {
		t.Errorf("parents of the first %v, %v", parents, err)
	}
	run(t, dir, "checkout", "-q", "--orphan", "anew")
	commitAll(t, dir, "all of it")
	if _, err := r.MergeBases(ctx, "main", "nowhere"); err == nil || errors.Is(err, ErrUnrelated) {
		t.Errorf("a commit that is not here: %v", err)
	}
	if _, err := r.MergeBases(ctx, "main", "anew"); !errors.Is(err, ErrUnrelated) {
		t.Errorf("unrelated: %v", err)
	}
	if _, err := r.Parents(ctx, "nowhere"); err == nil {
		t.Error("the parents of nothing")
	}
	if _, err := r.CountMissingCommits(ctx, "main", "nowhere", nil); err == nil {
		t.Error("what a ref that is not here has")
	}
}

func TestMainline(t *testing.T) {
	dir := repository(t)
	r := at(t, dir)
	is := func(want string) {
		t.Helper()
		if got, err := r.DefaultBranch(t.Context()); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	is("")
	for _, ref := range []string{"refs/remotes/origin/master", "refs/remotes/origin/trunk"} {
		run(t, dir, "update-ref", ref, "HEAD")
	}
	is("origin/master")
	run(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD")
	is("origin/main")
	run(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	is("origin/trunk")
}

// TestBlobID is the id by which a tree names a content.
func TestBlobID(t *testing.T) {
	dir := repository(t)
	r := at(t, dir)
	var wrong []string
	_, err := r.ReadTree(t.Context(), "HEAD", func(name, id string) bool {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || r.BlobID(content) != id {
			wrong = append(wrong, name)
		}
		return false
	})
	if err != nil || len(wrong) > 0 {
		t.Errorf("%q, %v", wrong, err)
	}
}

// TestAloneAsksNoRemote: of a partial clone it reads what is here, and never
// fetches the rest.
func TestAloneAsksNoRemote(t *testing.T) {
	dir := repository(t)
	run(t, dir, "config", "uploadpack.allowFilter", "true")
	run(t, dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	commitAll(t, dir, "second")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, filepath.Dir(clone), "clone", "-q", "--filter=blob:none", "file://"+filepath.Dir(dir), clone)
	r := at(t, filepath.Join(clone, "project"))
	tree, err := r.WithoutFetching().ReadTree(t.Context(), "HEAD", nil)
	if err != nil {
		t.Fatalf("what is here: %v", err)
	}
	if b, err := fs.ReadFile(tree, "shop.yaml"); string(b) != "newer" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := r.WithoutFetching().ReadTree(t.Context(), "HEAD^", nil); err == nil {
		t.Error("it was fetched")
	}
	if !r.IsPartial(t.Context()) || at(t, dir).IsPartial(t.Context()) {
		t.Error("which of the two is the partial clone is not told")
	}
	want := func(name, _ string) bool { return strings.HasSuffix(name, "shop.yaml") }
	tree, err = r.ReadTree(t.Context(), "HEAD^", want)
	if err != nil {
		t.Fatalf("not offline: %v", err)
	}
	if b, err := fs.ReadFile(tree, "shop.yaml"); string(b) != "shop" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
