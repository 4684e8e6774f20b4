package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/long"
)

// faults are serious faults that trueup had: how each was found, the edit that puts it back, and the test that finds it.
var faults = []struct{ fault, foundBy, file, code, before, pkg, test string }{
	{
		"A null in a live list blocked every change of that list", "all comparisons of a small universe",
		"internal/plan/shown.go", "if v.Value != nil {", "if true {", "./internal/plan", "TestANullThatAListDropsHasALine",
	},
	{
		"A plan sent an empty object for fields that belong to the server, again and again", "all comparisons of a small universe",
		"internal/merge/settled.go", "r.isEmpty(Sendable(r, want))", "r.isEmpty(want)", "./internal/merge", "TestEveryComparison",
	},
}

// TestFaults holds docs/reference/faults.md. With TRUEUP_LONG it puts each fault back, and runs its command.
func TestFaults(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Faults\n\n<!-- written by go test ./internal/e2e/docs -run TestFaults -update -->\n\n" +
		"Serious faults that trueup had, and the command that finds each if it comes back. CI puts each back every week.\n\n" +
		"| fault | found by | command |\n|---|---|---|\n")
	for _, f := range faults {
		fmt.Fprintf(&page, "| %s | %s | `go test %s -run '^%s$'` |\n", f.fault, f.foundBy, f.pkg, f.test)
		source := harness.ReadText(t, f.file)
		if n := strings.Count(source, f.code); n != 1 {
			t.Fatalf("%s has the code of %q %d times", f.file, f.fault, n)
		}
		if !long.IsSet() {
			continue
		}
		mutant, overlay := filepath.Join(t.TempDir(), "mutant.go"), filepath.Join(t.TempDir(), "overlay.json")
		text, err := json.Marshal(map[string]any{"Replace": map[string]string{harness.FromRoot(t, f.file): mutant}})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{mutant: strings.Replace(source, f.code, f.before, 1), overlay: string(text)} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-run", "^"+f.test+"$", f.pkg)
		cmd.Env = append(os.Environ(), "TRUEUP_LONG=1")
		cmd.Dir = harness.FromRoot(t, ".")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: ") {
			t.Errorf("%s: its command does not find it: %v\n%.1500s", f.fault, err, out)
		}
	}
	compareFile(t, filepath.Join("docs", "reference", "faults.md"), []byte(page.String()))
}
