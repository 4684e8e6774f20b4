package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsWrongWithAProjectFileIsSaidInWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"overides: []", `trueup.yaml: unknown field "overides"`},
		{"ledger: {stor: x}", `trueup.yaml: unknown field "stor"`},
		{"manifests: x", "trueup.yaml: manifests can't be a string"},
		{"workspace: acme", "trueup.yaml: workspace can't be a string"},
		{"kind: Project\nkind: Project", `trueup.yaml: line 2: key "kind" already set in map`},
		{"a: [", "trueup.yaml: line 1: did not find expected node content"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, projectFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadProject(dir)
		if err == nil || exitOf(err) != exitInvalid {
			t.Fatalf("%s: %v, code %d", c.text, err, exitOf(err))
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "JSON") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}
