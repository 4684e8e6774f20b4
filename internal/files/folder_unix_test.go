//go:build unix

package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"trueup/internal/files"
)

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
			list, err := fs.ReadDir(files.OpenFS(root), name)
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

// TestReplaceKeepsTheGroup: who may read a file stays, and a file that nobody may write is left.
func TestReplaceKeepsTheGroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has another group to give")
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	const group = 7
	if err := errors.Join(root.WriteFile("a", []byte("a"), 0o640), root.Chown("a", -1, group), files.ReplaceFile(root, files.File{Name: "a", Content: []byte("b")})); err != nil {
		t.Fatal(err)
	}
	info, err := root.Stat("a")
	if err != nil || info.Sys().(*syscall.Stat_t).Gid != group || info.Mode().Perm() != 0o640 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := root.Chmod("a", 0o440); err != nil {
		t.Fatal(err)
	}
	err = files.ReplaceFile(root, files.File{Name: "a", Content: []byte("c")})
	if is, _ := root.ReadFile("a"); err == nil || string(is) != "b" {
		t.Errorf("a read-only file has %q, %v", is, err)
	}
}
