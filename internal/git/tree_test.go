package git

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// repository makes a repository with files in a folder called project.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := filepath.Join(t.TempDir(), "repo")
	run(t, filepath.Dir(dir), "init", "-q", "-b", "main", dir)
	for name, content := range map[string]string{
		"outside.yaml": "o", "project/shop.yaml": "shop", "project/deep/er/docs.yaml": "docs", "project/empty.yaml": "",
		"project/name with\tspace é.yaml": "odd", "project/image.png": "png",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "project/link.yaml")); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "add", ".")
	run(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "one")
	return filepath.Join(dir, "project")
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func at(t *testing.T, dir string) Repository {
	t.Helper()
	r, err := OpenRepository(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTree(t *testing.T) {
	dir := repository(t)
	r := at(t, dir)
	if r.Shallow || r.IsSparse(t.Context()) {
		t.Errorf("repository %+v", r)
	}
	commit, err := r.ResolveCommit(t.Context(), "HEAD")
	if err != nil || len(commit) != 40 {
		t.Fatal(commit, err)
	}
	tree, err := r.ReadTree(t.Context(), commit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tree, "shop.yaml", "deep/er/docs.yaml", "empty.yaml", "name with\tspace é.yaml", "image.png"); err != nil {
		t.Error(err)
	}
	for _, none := range []string{"link.yaml", "outside.yaml", "project", "deep/er/docs.yaml/x"} {
		if _, err := fs.Stat(tree, none); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", none, err)
		}
	}
	if b, err := fs.ReadFile(tree, "deep/er/docs.yaml"); string(b) != "docs" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	// The work tree and the index don't matter.
	if err := os.Remove(filepath.Join(dir, "shop.yaml")); err != nil {
		t.Fatal(err)
	}
	tree, err = r.ReadTree(t.Context(), commit, func(name, _ string) bool { return strings.HasSuffix(name, "shop.yaml") })
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(tree, "shop.yaml"); string(b) != "shop" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := fs.Stat(tree, "image.png"); err == nil {
		t.Error("what is not wanted is in it")
	}
}

func TestAFolderThatTheCommitDoesNotHaveIsEmpty(t *testing.T) {
	dir := filepath.Join(repository(t), "new")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := at(t, dir).ReadTree(t.Context(), "HEAD", nil)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := fs.ReadDir(tree, "."); len(entries) != 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestTop(t *testing.T) {
	dir := repository(t)
	top, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	const odd = "line\nbreak\n"
	if err := os.Mkdir(filepath.Join(dir, odd), 0o755); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{"": "project", "..": ".", "deep/er": "project/deep/er", odd: "project/" + odd} {
		got, name, err := at(t, filepath.Join(dir, folder)).TopFolder(t.Context())
		if got != top || name != want || err != nil {
			t.Errorf("in %q: %q in %q, %v", folder, name, got, err)
		}
	}
}

func TestNoSuchCommitNoSuchRepository(t *testing.T) {
	dir := repository(t)
	for _, ref := range []string{"HEAD^", "nowhere", "--all", "", "HEAD:project"} {
		if id, err := at(t, dir).ResolveCommit(t.Context(), ref); !errors.Is(err, ErrNoCommit) {
			t.Errorf("%q: %s, %v", ref, id, err)
		}
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(t.TempDir()))
	if _, err := OpenRepository(t.Context(), t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Error(err)
	}
}

func TestShallowAndSparse(t *testing.T) {
	dir := repository(t)
	top := filepath.Dir(dir)
	run(t, top, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "two")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, top, "clone", "-q", "--depth", "1", "file://"+top, clone)
	r := at(t, clone)
	if _, err := r.ResolveCommit(t.Context(), "HEAD^"); !r.Shallow || !errors.Is(err, ErrNoCommit) {
		t.Errorf("%+v, %v", r, err)
	}
	run(t, clone, "config", "core.sparseCheckout", "true")
	if !at(t, clone).IsSparse(t.Context()) {
		t.Error("a sparse work tree is taken for a whole one")
	}
}

// TestATreeIsBounded reads what ls-tree says, so that no large file is needed.
func TestATreeIsBounded(t *testing.T) {
	entry := func(size, name string) string { return "100644 blob 1234 " + size + "\t" + name + "\x00" }
	read := func(out string) ([]treeFile, error) {
		files, err := parseTreeFiles(out)
		if err != nil {
			return nil, err
		}
		return chooseReadable(files, nil)
	}
	files, err := read(entry("12", "a") + entry("16777217", "huge") + "120000 blob 12 3\tlink\x00" + "160000 commit 12 -\tsub\x00" + entry("1", "../x"))
	if err != nil || len(files) != 1 || files[0] != (treeFile{mode: "100644", id: "1234", name: "a", size: 12}) {
		t.Errorf("%v, %v", files, err)
	}
	var many strings.Builder
	for range 33 {
		many.WriteString(entry("16777216", "a"))
	}
	if _, err := read(many.String()); err == nil {
		t.Error("more than is allowed was taken")
	}
	for _, bad := range []string{"x", entry("-", "a"), "100644 blob 12\ta"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestSubmodulesWithoutFiles: a clone has the folder of a submodule and nothing in
// it, unless it is asked for.
func TestSubmodulesWithoutFiles(t *testing.T) {
	dir := repository(t)
	top := filepath.Dir(dir)
	other := filepath.Join(t.TempDir(), "other")
	run(t, top, "clone", "-q", top, other)
	run(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "project/deep/sub")
	run(t, top, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "two")
	if names, err := at(t, dir).EmptySubmodules(t.Context()); len(names) != 0 || err != nil {
		t.Errorf("with files: %q, %v", names, err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, top, "clone", "-q", top, clone)
	for folder, want := range map[string]string{"": "project/deep/sub", "project": "deep/sub", "project/deep/er": ""} {
		names, err := at(t, filepath.Join(clone, folder)).EmptySubmodules(t.Context())
		if strings.Join(names, " ") != want || err != nil {
			t.Errorf("in %q: %q, %v", folder, names, err)
		}
	}
}
