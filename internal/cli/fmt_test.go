package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/manifest"
)

const untidyPurge = "apiVersion: delivery/v2.1\nkind: Purge\nmetadata:\n    name: rel-42\nspec:\n    hostname: shop.example.com\n    paths: [/a]\n"

// TestFmtWritesNoOtherFile: a file that another wrote to meanwhile, or that a
// link took the place of, is left, and so are the permissions of one that is
// written.
func TestFmtWritesNoOtherFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.yaml")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chmod(name, 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	write(untidyPurge)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	text := manifest.Text{FS: files.FS(root), Name: "a.yaml", Path: "m/a.yaml", Data: []byte(untidyPurge)}

	write(untidyPurge + "# mine\n")
	if err := replaceText(text, []byte("x")); err == nil || !strings.Contains(err.Error(), "m/a.yaml changed while it was read") {
		t.Errorf("%v", err)
	}
	if is, _ := os.ReadFile(name); !strings.HasSuffix(string(is), "# mine\n") {
		t.Errorf("it says %q", is)
	}
	write(untidyPurge)
	if err := replaceText(text, []byte("x")); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(name)
	if is, _ := os.ReadFile(name); err != nil || string(is) != "x" || info.Mode().Perm() != 0o640 {
		t.Errorf("it says %q with %v, %v", is, info.Mode(), err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte(untidyPurge), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, name); err != nil {
		t.Skipf("this machine makes no symbolic links: %v", err)
	}
	if err := replaceText(text, []byte("x")); err == nil {
		t.Error("a link is written through")
	}
	if is, _ := os.ReadFile(outside); string(is) != untidyPurge {
		t.Errorf("the file outside says %q", is)
	}
}

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

// TestFmtAsJSON: what machines read names each file that changes, and how the
// run ended.
func TestFmtAsJSON(t *testing.T) {
	s := newStage(t)
	s.write("manifests/a.yaml", untidyPurge)
	s.write("manifests/b.yaml", onePurge("rel-43"))
	text := s.must(exit.Changes, "fmt", "--check", "-o", "json")
	if err := publishedSchema(t, "fmt.schema.json").Validate(decoded(t, text)); err != nil {
		t.Errorf("%#v", err)
	}
	var doc fmtDocument
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Result != "changes" || doc.ExitCode != exit.Changes || len(doc.Files) == 0 || doc.Files[0].Path != "manifests/a.yaml" || !doc.Files[0].Changed {
		t.Errorf("%+v", doc)
	}
	s.must(exit.OK, "fmt")
	if text := s.must(exit.OK, "fmt", "--check", "-o", "json"); !strings.Contains(text, `"files": []`) || !strings.Contains(text, `"findings": []`) {
		t.Error(text)
	}
}

// TestFmtOnATerminal: a manifest that is shown can't obey its own text.
func TestFmtOnATerminal(t *testing.T) {
	s := newStage(t)
	s.write("manifests/a.yaml", untidyPurge+"#   \u202e::error::x\n")
	text := s.must(exit.OK, "fmt", "--diff")
	if strings.Contains(text, "\u202e") || !strings.Contains(text, `\u202e::error::x`) || !strings.Contains(text, "\n+  name: rel-42\n") {
		t.Error(text)
	}
}
