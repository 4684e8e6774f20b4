package reader

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// mistakes are such as hid a change from a reader: the code of a file, and what is in its place.
var mistakes = []struct{ name, file, code, mistake string }{
	{"names of equal changes are cut after twelve", "view/rows.go", "r.Names = names", "r.Names = names[:MaxParts]"},
	{"objects are one whose changes are as many, not equal", "view/object.go", "item.Cause, lines}", "item.Cause, len(lines)}"},
	{"a group names its first members alone", "view/object.go", "safetext.Join(o.Names(), \", \")", "safetext.Join(o.Names()[:2], \", \")"},
	{"the end of a long text is cut", "view/value.go", "append(windows, [2]int{n - atEnds, n})", "windows"},
	{"a comment breaks no wide line", "report/terminal_rows.go", "if text.Width()+len(sign) <= maxSeen {", "if true {"},
	{"a purge shows its first paths", "view/causes.go", "sent != nil {", "sent == nil {"},
	{"/* says nothing of everything", "view/causes.go", "p.Everything || ", ""},
	{"long elements are cut after four lines", "report/terminal_rows.go", "len(lines) == maxFlow && !whole", "len(lines) == maxFlow"},
	{"what does not fit counts as shown", "report/markdown_budget.go", "\t\t\t\tmore++\n", "\t\t\t\tmore++\n\t\t\t\tscore.MarkShown(p.facts...)\n"},
	{"the last annotation has first lines alone", "report/ci.go", "append(append(last.more, c.text), c.more...)", "append(last.more, c.text)"},
	{"git and live are swapped", "view/rows.go", "Pair(from, to, r.Whole)", "Pair(to, from, r.Whole)"},
	{"a test case has the first line of each change", "report/junit.go", "Lines: r.lines()}", "Lines: r.lines()[:1]}"},
	{"what may become unreachable may be counted", "view/score.go", "risk >= kind.RiskAvailability", "risk >= kind.RiskServes"},
}

// TestMistakesAreFound reads plans with one mistake in the code, for each mistake.
func TestMistakesAreFound(t *testing.T) {
	long.SkipUnlessSet(t)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", "..", m.file))
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.code); n != 1 {
				t.Fatalf("%s has the code of this mistake %d times", m.file, n)
			}
			mutant, overlay := filepath.Join(t.TempDir(), "mutant.go"), filepath.Join(t.TempDir(), "overlay.json")
			text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string][]byte{mutant: []byte(strings.Replace(string(source), m.code, m.mistake, 1)), overlay: text} {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-run", "TestEverythingGraveIsSeen", ".", "-rapid.shrinktime=1ms", "-rapid.nofailfile")
			cmd.Env = append(os.Environ(), "TRUEUP_LONG=20")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "facts are not seen") {
				t.Errorf("no plan finds it: %v\n%.2000s", err, out)
			}
		})
	}
}
