package command

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"trueup/internal/config"
	"trueup/internal/generate"
	"trueup/internal/report"
)

// TestInitLeavesWhatCameMeanwhile: what is written between the look and the
// answer is nobody's to overwrite.
func TestInitLeavesWhatCameMeanwhile(t *testing.T) {
	for _, name := range []string{"trueup.yaml", ".gitignore"} {
		for _, before := range []string{"", "mine\n"} {
			dir := t.TempDir()
			put := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if before != "" && name != "trueup.yaml" {
				put(name, "{}\n")
			}
			a := NewRun(config.Env{Getenv: func(string) string { return "" }, Cwd: dir, Stdout: &bytes.Buffer{}, Now: time.Now})
			opts := generate.SetupChoices{Workspace: "acme", UUID: "5a1d", Ledger: "none", Manifests: "none", Yes: true}
			s, err := prepareSetup(t.Context(), a, &opts)
			if err != nil {
				t.Fatal(err)
			}
			put(name, "another's\n")
			if err := cmp.Or(s.WriteEdits(""), addSetupMessages(a, new(report.Document), s)); err == nil {
				t.Errorf("%s: no word of it", name)
			}
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "another's\n" {
				t.Errorf("%s says %q, %v", name, got, err)
			}
			s.Close()
		}
	}
}
