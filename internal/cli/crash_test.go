package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/diag"
)

// oneLine demands that standard error is one line that tells of a mistake of
// this program.
func oneLine(t *testing.T, stderr, says string) {
	t.Helper()
	if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "trueup: internal error: "+says) || !strings.Contains(stderr, "This is a bug") {
		t.Errorf("standard error is %q", stderr)
	}
}

// TestAPanicIsAnError: before anything was sent it is one line and exit 1, and
// the result and the reports tell of it.
func TestAPanicIsAnError(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	crashing := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		env := s.env(&out, &errs)
		env.Getenv = func(name string) string {
			if name == "TRUEUP_LEDGER" {
				panic("a value that is hostile: \x1b[2J\n::error::" + strings.Repeat("x", 2000))
			}
			return s.vars[name]
		}
		code := Main(t.Context(), args, env)
		return code, out.String(), errs.String()
	}
	const says = `a value that is hostile: \x1b[2J`
	for _, command := range []string{"plan", "apply", "drift"} {
		s.write("out.json", "an earlier run's")
		code, stdout, stderr := crashing(command, "--report", "json=out.json")
		if code != diag.ExitError || stdout != "" {
			t.Errorf("%s: exit %d: %s", command, code, stdout)
		}
		oneLine(t, stderr, says)
		if len(stderr) > 600 || strings.Contains(stderr, "Requests may have been sent") {
			t.Errorf("%s: standard error is %q", command, stderr)
		}
		content, err := os.ReadFile(filepath.Join(s.dir, "out.json"))
		if err != nil {
			t.Fatal(err)
		}
		failure(t, string(content), diag.ExitError, "internal error: a value")
	}
	code, stdout, stderr := crashing("plan", "-o", "json")
	if code != diag.ExitError || stderr != "" {
		t.Errorf("exit %d: %s", code, stderr)
	}
	failure(t, stdout, diag.ExitError, "internal error: a value")
	code, stdout, stderr = crashing("ledger", "ls")
	if code != diag.ExitError || stdout != "" {
		t.Errorf("exit %d: %s", code, stdout)
	}
	oneLine(t, stderr, says)
	if _, _, stderr = crashing("plan", "-v"); !strings.Contains(stderr, "crash_test.go:") || !strings.HasPrefix(stderr, "goroutine ") {
		t.Errorf("-v does not show where: %s", stderr)
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("there were %d writes", len(writes))
	}
}

// brittle panics when it is written to.
type brittle struct{}

func (brittle) Write(text []byte) (int, error) {
	var none []int
	return none[len(text)], nil
}

// TestAPanicAfterRequestsSaysSo: what is recorded is not lost, and who reads the
// report, or the line, knows what to do.
func TestAPanicAfterRequestsSaysSo(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	for _, format := range []string{"text", "json", "markdown"} {
		var errs bytes.Buffer
		code := Main(t.Context(), []string{"apply", "--auto-approve", "-o", format, "--report", "json=out.json"}, s.env(brittle{}, &errs))
		if code != diag.ExitError {
			t.Errorf("%s: exit %d", format, code)
		}
		oneLine(t, errs.String(), "runtime error: index out of range")
		if !strings.Contains(errs.String(), "Requests may have been sent: run apply again, which first looks up") {
			t.Errorf("%s: standard error is %q", format, errs.String())
		}
		content, err := os.ReadFile(filepath.Join(s.dir, "out.json"))
		if err != nil {
			t.Fatal(err)
		}
		failure(t, string(content), diag.ExitError, "Requests may have been sent")
	}
	if writes := s.writes(); len(writes) != 1 {
		t.Errorf("%d writes, want the one of the first run", len(writes))
	}
	if out := s.must(diag.ExitOK, "apply", "--auto-approve"); !strings.Contains(out, "Apply: nothing to do") {
		t.Errorf("the run after it: %s", out)
	}
}
