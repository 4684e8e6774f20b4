package manifest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/files"
	"trueup/internal/manifest"
)

// TestReplaceWritesNoOtherFile: a file that another wrote to meanwhile, or that a
// link took the place of, is left, and so are the permissions of one that is
// written.
func TestReplaceWritesNoOtherFile(t *testing.T) {
	const purge = "apiVersion: delivery/v2.1\nkind: Purge\n"
	dir := t.TempDir()
	name := filepath.Join(dir, "a.yaml")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chmod(name, 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	write(purge)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	text := manifest.FileText{FS: files.OpenFS(root), Name: "a.yaml", Path: "m/a.yaml", Data: []byte(purge)}

	write(purge + "# mine\n")
	if err := text.Replace([]byte("x")); err == nil || !strings.Contains(err.Error(), "m/a.yaml changed while it was read") {
		t.Errorf("%v", err)
	}
	if is, _ := os.ReadFile(name); !strings.HasSuffix(string(is), "# mine\n") {
		t.Errorf("it says %q", is)
	}
	write(purge)
	if err := text.Replace([]byte("x")); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(name)
	if is, _ := os.ReadFile(name); err != nil || string(is) != "x" || info.Mode().Perm() != 0o640 {
		t.Errorf("it says %q with %v, %v", is, info.Mode(), err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte(purge), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, name); err != nil {
		t.Skipf("this machine makes no symbolic links: %v", err)
	}
	if err := text.Replace([]byte("x")); err == nil {
		t.Error("a link is written through")
	}
	if is, _ := os.ReadFile(outside); string(is) != purge {
		t.Errorf("the file outside says %q", is)
	}
}
