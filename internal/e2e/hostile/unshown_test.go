//go:build linux

package hostile

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/long"
)

// mistake is one in the program's own code.
type mistake struct{ file, code, wrong string }

// The comparison shows no move, and plan does not look at what its request does.
var (
	noMoves = mistake{"internal/merge/walk.go", "if len(elsewhere) == 0 {", "if len(elsewhere) < 3 {"}
	noCheck = mistake{"internal/plan/converge.go", `if why := d.item.Unshown(d.item.Request.Body, in.Live); why != "" {`, `if why := ""; why != "" {`}
)

// buildMistaken builds the program with mistakes in it, through an overlay.
func buildMistaken(t *testing.T, mistakes ...mistake) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for _, m := range mistakes {
		path, err := filepath.Abs(m.file)
		if err != nil {
			t.Fatal(err)
		}
		source := harness.ReadText(t, m.file)
		if strings.Count(source, m.code) != 1 {
			t.Fatalf("%s has no %q", m.file, m.code)
		}
		replace[path] = filepath.Join(dir, filepath.Base(m.file))
		writeText(t, replace[path], strings.Replace(source, m.code, m.wrong, 1))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "overlay.json"), string(overlay))
	program := filepath.Join(dir, "trueup")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWhatHasNoLineIsNotSent: where the comparison is wrong, plan blocks the object;
// where plan is wrong as well, apply sends nothing.
func TestWhatHasNoLineIsNotSent(t *testing.T) {
	long.SkipUnlessSet(t)
	t.Parallel()
	const unshown = "this request would also change spec.locations[0].path"
	const cdn = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec:\n  hostname: shop.example.com\n" +
		"  upstreams: [{name: o, scheme: https, servers: [{host: a.example.net, port: \"443\"}]}]\n  locations:\n"
	a, b := "    - {path: /a/*, action: proxy_http, upstream: o}\n", "    - {path: /b/*, action: proxy_http, upstream: o}\n"
	for name, c := range map[string]struct {
		mistakes []mistake
		says     map[string]string
	}{
		"in the comparison": {[]mistake{noMoves}, map[string]string{"plan": "blocked: " + unshown, "apply": "blocked: " + unshown}},
		"in plan as well":   {[]mistake{noMoves, noCheck}, map[string]string{"plan": "Plan: 1 to change", "apply": "nothing was sent: " + unshown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, dir := buildMistaken(t, c.mistakes...), t.TempDir()
			run := func(args ...string) (string, int) {
				cmd := exec.CommandContext(t.Context(), program, append(args, "--sandbox")...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil && cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return string(out), cmd.ProcessState.ExitCode()
			}
			writeText(t, filepath.Join(dir, "trueup.yaml"), "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c10}\nmanifests: [cdn.yaml]\n")
			writeText(t, filepath.Join(dir, "cdn.yaml"), cdn+a+b)
			if out, code := run("apply", "--auto-approve"); code != 0 {
				t.Fatalf("%d\n%s", code, out)
			}
			writeText(t, filepath.Join(dir, "cdn.yaml"), strings.Replace(cdn, "\"443\"", "\"8443\"", 1)+b+a)
			if out, _ := run("plan"); !strings.Contains(out, c.says["plan"]) {
				t.Errorf("plan says no %q:\n%s", c.says["plan"], out)
			}
			if out, code := run("apply", "--auto-approve"); code != 6 || !strings.Contains(out, c.says["apply"]) || strings.Contains(out, "changed  ") {
				t.Errorf("apply ended with %d and says no %q:\n%s", code, c.says["apply"], out)
			}
		})
	}
}
