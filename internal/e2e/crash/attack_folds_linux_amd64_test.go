package crash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// buildFolding builds a program that folds its ledger every few seconds, and whatever is final.
func buildFolding(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("internal/ledger/fold.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for code, other := range map[string]string{
		"= recentAge ":                   "= 10 * time.Second ",
		"= 320 ":                         "= 4 ",
		"since := early.Add(-foldAge)\n": "since := early.AddDate(1, 0, 0)\n",
	} {
		if strings.Count(text, code) != 1 {
			t.Fatalf("%s does not have %q once", path, code)
		}
		text = strings.Replace(text, code, other, 1)
	}
	folder := t.TempDir()
	often := filepath.Join(folder, "fold.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: often}})
	if err == nil {
		err = os.WriteFile(often, []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o600)
	}
	program := filepath.Join(folder, "trueup")
	if err == nil {
		err = compile(program, "-overlay", filepath.Join(folder, "overlay.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}
