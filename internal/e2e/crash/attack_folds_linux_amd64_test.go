package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// buildFolding returns a program that folds its ledger every few seconds, and whatever is final.
func buildFolding(t *testing.T) string {
	t.Helper()
	program, err := foldingProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var foldingProgram = sync.OnceValues(func() (program string, err error) {
	folder, err := os.MkdirTemp("", "folding-")
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs("internal/ledger/fold.go")
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := string(source)
	for code, other := range map[string]string{
		"= recentAge ":                   "= 10 * time.Second ",
		"= 320 ":                         "= 4 ",
		"since := early.Add(-foldAge)\n": "since := early.AddDate(1, 0, 0)\n",
	} {
		if strings.Count(text, code) != 1 {
			return "", fmt.Errorf("%s does not have %q once", path, code)
		}
		text = strings.Replace(text, code, other, 1)
	}
	often, settings := filepath.Join(folder, "fold.go"), filepath.Join(folder, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: often}})
	if err = errors.Join(err, os.WriteFile(often, []byte(text), 0o600), os.WriteFile(settings, overlay, 0o600)); err != nil {
		return "", err
	}
	program = filepath.Join(folder, "trueup")
	return program, compile(program, "-overlay", settings)
})
