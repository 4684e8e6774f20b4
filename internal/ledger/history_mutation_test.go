package ledger_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// edit replaces one piece of a file's code.
type edit struct{ file, code, mistake string }

// mistake is a mistake in the code, and what the histories say of it.
type mistake struct {
	name, finds string
	edits       []edit
}

// mistakes are such as the design was chosen to prevent.
var mistakes = []mistake{
	{"a take-over is a new intent", "was executed 2 times", []edit{
		{"machine.go", "first, i.Before = *r.FirstClaimAt", "_, i.Before = *r.FirstClaimAt"},
	}},
	{"the last answer frees what an earlier send may have done", "was executed 2 times", []edit{
		{"machine.go", "if (e == evReject || e == evRelease) && r.EarlierUnknown {", "if false {"},
		{"../apply/send_once.go", "case a.result == unsent && s.certain:", "case a.result == unsent:"},
		{"../apply/send_once.go", "case a.result == refused && s.certain:", "case a.result == refused:"},
	}},
	{"a claim lasts as long as the window", "was executed 2 times", []edit{
		{"journal.go", "&& held < Lease", "&& held < h.Terms.Window"},
	}},
	{"sent again without proof", "was executed 2 times", []edit{
		{"../apply/send_once.go", "a.result == unclear && s.hold.Terms.Proven && sends < maxSends", "a.result == unclear && sends < maxSends"},
	}},
	{"no answer is a refusal", "was executed 2 times", []edit{
		{"../apply/send_once.go", "a.result = unclear", "a.result = refused"},
	}},
	{"no answer is consent", "was never executed", []edit{
		{"../apply/send_once.go", "a.result = unclear", "a.result = executed"},
	}},
}

// TestHistoriesFindMistakes lives the histories with one mistake in the code, for
// each mistake. Nothing is written but below the test's own folder.
func TestHistoriesFindMistakes(t *testing.T) {
	long.SkipUnlessSet(t)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay(t, m.edits), "-vet=off", "-timeout", "5m",
				"-run", "^TestHistories$", ".", "-rapid.shrinktime=1ms", "-rapid.nofailfile", "-rapid.seed=1")
			cmd.Env = append(os.Environ(), "TRUEUP_LONG=100")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), m.finds) {
				t.Errorf("no history finds it: %v\n%.2000s", err, out)
			}
		})
	}
}

// overlay is a file that tells the compiler to read mutants of the files.
func overlay(t *testing.T, edits []edit) string {
	t.Helper()
	dir, mutants := t.TempDir(), map[string]string{}
	for _, e := range edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			t.Fatal(err)
		}
		if mutants[path] == "" {
			mutants[path] = filepath.Join(dir, filepath.Base(path))
			copyFile(t, path, mutants[path])
		}
		source, err := os.ReadFile(mutants[path])
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), e.code); n != 1 {
			t.Fatalf("%s has the code of this mistake %d times", e.file, n)
		}
		write(t, mutants[path], []byte(strings.Replace(string(source), e.code, e.mistake, 1)))
	}
	b, err := json.Marshal(map[string]any{"Replace": mutants})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), b)
	return filepath.Join(dir, "overlay.json")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, b)
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
