//go:build unix

package files_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"trueup/internal/files"
)

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
