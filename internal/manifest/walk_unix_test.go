//go:build unix

package manifest

import (
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"trueup/internal/diag"
)

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"m/b.yaml", "m/a/c.yml", "m/a.json", "m/.hidden/x.yaml", "m/.x.yaml", "m/read.md", "outside.yaml"} {
		writeShop(t, dir, name)
	}
	for _, err := range []error{
		os.Symlink("../outside.yaml", filepath.Join(dir, "m/link.yaml")),
		os.Symlink("..", filepath.Join(dir, "m/up")),
		os.Symlink("read.md", filepath.Join(dir, "m/notes")),
		syscall.Mkfifo(filepath.Join(dir, "m/pipe.yaml"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	sources := []PathSource{{FS: root.FS(), Path: "m", Display: "here"}, {FS: root.FS(), Path: "m/b.yaml", Display: "here"}}
	set, findings, err := Load(t.Context(), sources, LoadSettings{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, o := range set.Objects {
		paths = append(paths, o.Path)
	}
	if want := []string{"here/m/a/c.yml", "here/m/a.json", "here/m/b.yaml"}; !reflect.DeepEqual(paths, want) {
		t.Errorf("read %v, want %v", paths, want)
	}
	got := map[string]diag.Severity{}
	for _, f := range findings {
		if f.Rule == ruleNotRegular {
			got[f.Path] = f.Severity
		}
	}
	want := map[string]diag.Severity{"here/m/link.yaml": diag.Error, "here/m/pipe.yaml": diag.Error, "here/m/up": diag.Warning}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
