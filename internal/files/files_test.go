package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"trueup/internal/files"
)

// TestReplacingTouchesNoOtherFile: what is written first, to take a file's place, has
// a name that no file and no other run has, however long the file's is.
func TestReplacingTouchesNoOtherFile(t *testing.T) {
	dir, name := t.TempDir(), strings.Repeat("a", 250)+".yaml"
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, other := range []string{name, "b.yaml", ".b.yaml.trueup"} {
		if err := root.WriteFile(other, []byte("mine"), 0o600); err != nil {
			t.Skipf("this machine has no such names: %v", err)
		}
	}
	if err := errors.Join(files.Replace(root, files.File{Name: name, Content: []byte("x")}), files.Replace(root, files.File{Name: "b.yaml", Content: []byte("x")})); err != nil {
		t.Fatal(err)
	}
	is, err := root.ReadFile(".b.yaml.trueup")
	if files, _ := os.ReadDir(dir); err != nil || string(is) != "mine" || len(files) != 3 {
		t.Errorf("%q, %v, %v", is, err, files)
	}
}

// TestFoldersAreListedAsRootDoes: also where a link leads, and after another folder took the place of the
// root, whose entries nobody must see.
func TestFoldersAreListedAsRootDoes(t *testing.T) {
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "root")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "sub", "below"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "b.yaml"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "sub", "a.yaml"), []byte("a"), 0o600), syscall.Mkfifo(filepath.Join(dir, "sub", "pipe"), 0o600),
		os.Symlink("sub", filepath.Join(dir, "in")), os.Symlink(outside, filepath.Join(dir, "out")),
		os.Symlink("a.yaml", filepath.Join(dir, "sub", "link")), os.WriteFile(filepath.Join(outside, "secret"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	check := func() {
		t.Helper()
		for _, name := range []string{".", "sub", "sub/below", "in", "out", "missing", "sub/a.yaml", "..", "/"} {
			list, err := fs.ReadDir(files.FS(root), name)
			want, wantErr := fs.ReadDir(root.FS(), name)
			if is, was := shown(t, list), shown(t, want); is != was || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s has %s, %v, not %s, %v", name, is, err, was, wantErr)
			}
		}
	}
	check()
	if err := errors.Join(os.Rename(dir, dir+"2"), os.MkdirAll(filepath.Join(dir, "sub", "other"), 0o700)); err != nil {
		t.Fatal(err)
	}
	check()
}

func shown(t *testing.T, list []fs.DirEntry) (text string) {
	t.Helper()
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintln(e.Name(), e.Type(), info.Mode(), info.Size())
	}
	return text
}
