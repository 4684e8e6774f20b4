package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/blob"
	"trueup/internal/config"
	"trueup/internal/diag"
)

// failure demands a JSON result that tells of one error under the code.
func failure(t *testing.T, text string, code int, says string) {
	t.Helper()
	doc := decoded(t, text)
	errs, _ := doc["errors"].([]any)
	if doc["exitCode"] != float64(code) || doc["result"] != diag.ExitName(code) || len(errs) != 1 {
		t.Fatalf("result %v (%v), errors %v; want %d", doc["exitCode"], doc["result"], errs, code)
	}
	if message, _ := errs[0].(string); !strings.Contains(message, says) {
		t.Errorf("error %q does not say %q", message, says)
	}
}

// TestARefusedQuestionIsAResult: a program that reads the result learns why
// nothing was applied.
func TestARefusedQuestionIsAResult(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	code, stdout, stderr := s.run("apply", "-o", "json")
	if code != diag.ExitError || stderr != "" {
		t.Errorf("exit %d: %s", code, stderr)
	}
	failure(t, stdout, diag.ExitError, "add --auto-approve")
	if decoded(t, stdout)["plan"] == nil {
		t.Error("the plan that was asked about is not in the result")
	}
}

// TestAFailedRunWritesItsReports: a report of an earlier run must not be taken
// for this one's.
func TestAFailedRunWritesItsReports(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	s.write("out.json", "an earlier run's")
	s.vars["TRUEUP_DELIVERY_TOKEN"] = canary + "-wrong"
	code, stdout, stderr := s.run("plan", "--report", "json=out.json")
	if code != diag.ExitAuth || stdout != "" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	content, err := os.ReadFile(filepath.Join(s.dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	failure(t, string(content), diag.ExitAuth, "check TRUEUP_DELIVERY_TOKEN")
}

// TestASlipInAReportTouchesNoFile: the format is looked at before the file.
func TestASlipInAReportTouchesNoFile(t *testing.T) {
	s := newStage(t)
	s.write("out.json", "an earlier run's")
	for _, output := range []string{"text", "json"} {
		code, _, stderr := s.run("plan", "-o", output, "--report", "jsn=out.json")
		if code != diag.ExitError || !strings.Contains(stderr, "did you mean json?") {
			t.Errorf("%s: exit %d: %s", output, code, stderr)
		}
	}
	if content, err := os.ReadFile(filepath.Join(s.dir, "out.json")); err != nil || string(content) != "an earlier run's" {
		t.Errorf("the file holds %q, %v", content, err)
	}
}

// TestAnInterruptedReadSaysSo: the code in the result is the code of the run.
func TestAnInterruptedReadSaysSo(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := Main(ctx, []string{"plan", "-o", "json"}, config.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Sleep: blob.Sleep, Now: time.Now,
		Getenv: func(name string) string { return s.vars[name] }, Cwd: s.dir,
	})
	if code != diag.ExitInterrupted {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	failure(t, out.String(), diag.ExitInterrupted, "cancel")
}

// TestACommandSaysWhichArgumentsItTakes: too few and too many are reported with what
// to write.
func TestACommandSaysWhichArgumentsItTakes(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", "a", "b"}, "write trueup explain [TOPIC]"},
		{[]string{"show"}, "write trueup show FILE"},
		{[]string{"version", "x"}, "write trueup version"},
		{[]string{"new", "purg"}, "did you mean purge?"},
	} {
		code, _, stderr := s.run(c.args...)
		if code != diag.ExitError || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d: %s", c.args, code, stderr)
		}
	}
}
