package cli

import (
	"os"
	"strings"
	"testing"

	"trueup/internal/files"
	"trueup/internal/manifest"
)

// TestConvertWritesNoOtherFile: a file that another wrote to meanwhile is left.
func TestConvertWritesNoOtherFile(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := root.WriteFile("a.yaml", []byte("a: 1\n# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []manifest.Tidied{{Text: manifest.Text{FS: files.FS(root), Name: "a.yaml", Path: "m/a.yaml", Data: []byte("a: 1\n")}, To: []byte("x")}}
	if _, err := new(app).writeConverted(convertOptions{write: true}, files); err == nil || !strings.Contains(err.Error(), "m/a.yaml changed while it was read") {
		t.Errorf("%v", err)
	}
	if is, err := root.ReadFile("a.yaml"); err != nil || string(is) != "a: 1\n# mine\n" {
		t.Errorf("it says %q, %v", is, err)
	}
}
