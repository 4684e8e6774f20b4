package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/diag"
)

func (s *stage) content(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// TestSharedFilesAreAddedTo: what other commands of a CI step wrote into its
// files stays there, and nothing is added that would make a host drop it all.
func TestSharedFilesAreAddedTo(t *testing.T) {
	s := newStage(t)
	s.vars["GITHUB_STEP_SUMMARY"], s.vars["GITHUB_OUTPUT"] = filepath.Join(s.dir, "summary"), filepath.Join(s.dir, "ci", "..", "outputs")
	s.write("summary", "# Before")
	s.write("outputs", "a=b\n")
	s.write("other.env", "gone\n")
	s.write("manifests/.keep", "")
	for range 2 {
		s.must(diag.ExitOK, "validate", "--report", "markdown="+s.vars["GITHUB_STEP_SUMMARY"], "--report", "outputs=outputs", "--report", "outputs=other.env")
	}
	if got, want := s.content("outputs"), "a=b\n\nresult=ok\nexit-code=0\n\nresult=ok\nexit-code=0\n"; got != want {
		t.Errorf("outputs are %q, want %q", got, want)
	}
	if got := s.content("summary"); !strings.HasPrefix(got, "# Before\n## ") || strings.Count(got, "\n## ") != 2 {
		t.Errorf("the summary is %q", got)
	}
	if got, want := s.content("other.env"), "TRUEUP_RESULT=ok\nTRUEUP_EXIT_CODE=0\n"; got != want {
		t.Errorf("another file is %q, want %q", got, want)
	}

	full := strings.Repeat("x", 999_000)
	s.write("summary", full)
	code, _, stderr := s.run("validate", "--report", "markdown=summary", "--report", "html=summary")
	if s.content("summary") != full || code != diag.ExitOK || strings.Count(stderr, "warning: summary is full") != 2 {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// TestAReportOnStandardOutput: a run prints its result, and then the reports for
// who reads the log.
func TestAReportOnStandardOutput(t *testing.T) {
	s := newStage(t)
	s.write("manifests/a.yaml", "kind: [\n")
	code, out, _ := s.run("validate", "--report", "github=-")
	text, commands, _ := strings.Cut(out, "::error ")
	if code != diag.ExitInvalid || !strings.Contains(text, "[yaml") || !strings.HasPrefix(commands, "file=manifests/a.yaml,line=") {
		t.Errorf("exit %d, %q", code, out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "-")); err == nil {
		t.Error("there is a file named -")
	}
}
