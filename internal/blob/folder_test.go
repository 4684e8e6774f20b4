package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFolder(t *testing.T) {
	contract(t, func() Store { return FolderStore(filepath.Join(t.TempDir(), "made", "as needed")) })
}

// made is a folder with one blob.
func made(t *testing.T) FolderStore {
	t.Helper()
	d := FolderStore(t.TempDir())
	must(t, d.Prepare(t.Context()))
	must(t, create(t.Context(), d, "log/1/a", []byte("a")))
	return d
}

func TestFolderHasNothingOfOthers(t *testing.T) {
	d := made(t)
	if b, err := os.ReadFile(d.Location(ignoreFile)); err != nil || string(b) != "*\n" {
		t.Errorf("a version control may turn it back: %q, %v", b, err)
	}
	must(t, os.WriteFile(d.Location("log/1/.a.swp"), nil, 0o600))
	if names, err := d.List(t.Context(), "log", 0); err != nil || len(names) != 1 {
		t.Errorf("listed %v, %v", names, err)
	}
	// What dead writers left goes once it is old.
	must(t, os.WriteFile(d.Location("tmp/dead"), nil, 0o600))
	must(t, os.WriteFile(d.Location("tmp/young"), nil, 0o600))
	must(t, os.MkdirAll(d.Location("tmp/proof/log"), 0o700))
	old := time.Now().Add(-2 * tempAge)
	must(t, os.Chtimes(d.Location("tmp/proof"), old, old))
	must(t, os.Chtimes(d.Location("tmp/dead"), old, old))
	must(t, create(t.Context(), d, "log/1/b", nil))
	left, err := os.ReadDir(d.Location("tmp"))
	if err != nil || len(left) != 1 || left[0].Name() != "young" {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestFolderIrregular(t *testing.T) {
	for name, harm := range map[string]func(d FolderStore) error{
		"a folder": func(d FolderStore) error { return os.Mkdir(d.Location("log/1/b"), 0o777) },
		"a link":   func(d FolderStore) error { return os.Symlink(d.Location("log/1/a"), d.Location("log/1/b")) },
		"a file above it": func(d FolderStore) error {
			return errors.Join(os.RemoveAll(d.Location("log/1")), os.WriteFile(d.Location("log/1"), nil, 0o600))
		},
	} {
		d := made(t)
		must(t, harm(d))
		if _, err := d.Get(t.Context(), "log/1/b"); !errors.Is(err, ErrIrregular) || !strings.Contains(err.Error(), d.Location("log/1/b")) {
			t.Errorf("%s: Get gave %v", name, err)
		}
		if err := create(t.Context(), d, "log/1/b", nil); err == nil || errors.Is(err, ErrExists) {
			t.Errorf("%s: Create gave %v", name, err)
		}
	}
	// What leads out of the folder is not followed.
	d, out := made(t), t.TempDir()
	must(t, os.RemoveAll(d.Location("log")))
	must(t, os.Symlink(out, d.Location("log")))
	if err := create(t.Context(), d, "log/1/b", nil); err == nil {
		t.Error("Create wrote outside the folder")
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Errorf("outside the folder: %v", left)
	}
	must(t, os.RemoveAll(string(d)))
	wantErr(t, create(t.Context(), d, "log/1/b", nil), fs.ErrNotExist)
	must(t, os.WriteFile(string(d), nil, 0o600))
	if _, err := d.List(t.Context(), "log", 0); err == nil {
		t.Error("a file was listed")
	}
	if err := d.Prepare(t.Context()); err == nil {
		t.Error("a file was made a folder")
	}
}
