package merge

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutations are mistakes that a comparison can have: the first eight are those
// of design B7, the others what section 0 adds.
var mutations = []struct{ name, file, code, mistake string }{
	{"removal not sent", "walk.go", "!n.rules.ignored():\n\t\tw.remove(n)\n\t\treturn nil, true", "!n.rules.ignored():\n\t\treturn nil, false"},
	{"live-only element fields dropped", "walk.go", "case !n.byKey:", "case true:"},
	{
		"removed element fields kept", "walk.go",
		"case n.base.known() && !n.rules.ignored():", "case w.mode == sparse && n.base.known() && !n.rules.ignored():",
	},
	{"no scalar rule", "scalar.go", "return xKind == yKind || xKind == isText || yKind == isText", "return xKind == yKind"},
	{
		"lists compared literally", "settled.go",
		"if !settled(item, records.element(i), w, have[j]) {",
		"if !same(item, w, have[j]) || !settled(item, records.element(i), w, have[j]) {",
	},
	{"order ignored", "settled.go", "if j < 0 || j != i && !r.set() {", "if j < 0 {"},
	{"nulls in created objects", "scalar.go", "e != nil && !child.readOnly()", "!child.readOnly()"},
	{"null sent for absent", "walk.go", "case n.have != nil:\n\t\tw.remove(n)", "default:\n\t\tw.remove(n)"},
	{"no wildcard keys", "pair.go", "if xKeys.wild || yKeys.wild {", "if false {"},
	{
		"elements dropped at first contact", "verdict.go",
		"if !w.guards(n) {", "if true {",
	},
	{"overrides not heard", "node.go", "r != nil && (r.Ignore || r.ReadOnly)", "r != nil && r.ReadOnly"},
	{"documented types not used", "scalar.go", "return typed(r.scalarType(), v)", "return v"},
	{
		"pending not judged", "node.go",
		"c.begin(fieldOf(p, name))", "_ = p",
	},
	{
		"unknown paths compared strictly", "scalar.go",
		"\tif r.scalarType() == Number {", "\tif r.scalarType() == Unknown && a != b {\n\t\treturn false\n\t}\n\tif r.scalarType() == Number {",
	},
}

// TestMutationsAreCaught runs the other tests on the package with one mistake
// in it, for each mistake; they must fail, and not for want of compiling.
func TestMutationsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package once for each mistake")
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, tests := range []string{"^TestProperties$", "^(TestDesignCases|TestFirstContact|TestSectionZero|TestOverrides)$"} {
				out, failed := runMutated(t, m.file, m.code, m.mistake, tests)
				if failed && !strings.Contains(out, "--- FAIL: ") {
					t.Fatalf("the mutated package does not run:\n%s", out)
				}
				if failed {
					return
				}
			}
			t.Error("no test fails")
		})
	}
}

// runMutated runs some tests of this package with one piece of code replaced,
// through an overlay: nothing is written but below the test's own folder.
func runMutated(t *testing.T, file, code, mistake, tests string) (string, bool) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), code); n != 1 {
		t.Fatalf("%s has the code of this mutation %d times", file, n)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	write(t, mutant, []byte(strings.Replace(string(source), code, mistake, 1)))
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, overlay, b)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-run", tests,
		".", "-rapid.checks=1000", "-rapid.shrinktime=1ms", "-rapid.nofailfile", "-rapid.seed=1")
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
