package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
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
	if err := errors.Join(files.ReplaceFile(root, files.File{Name: name, Content: []byte("x")}), files.ReplaceFile(root, files.File{Name: "b.yaml", Content: []byte("x")})); err != nil {
		t.Fatal(err)
	}
	is, err := root.ReadFile(".b.yaml.trueup")
	if files, _ := os.ReadDir(dir); err != nil || string(is) != "mine" || len(files) != 3 {
		t.Errorf("%q, %v, %v", is, err, files)
	}
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
