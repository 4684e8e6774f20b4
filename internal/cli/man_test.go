package cli

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/exit"
	"trueup/internal/report"
)

// TestManual: a page of each command, and no renderer warns of one. mandoc alone
// wants a date, which equal pages can't have.
func TestManual(t *testing.T) {
	var pages []report.Page
	for _, cmd := range shownCommands(newRoot(newApp(Env{}))) {
		pages = append(pages, page(cmd))
	}
	var all bytes.Buffer
	var names []string
	for _, p := range pages {
		names = append(names, p.Name)
		all.Write(report.Man(p))
	}
	for _, want := range []string{"trueup", "trueup-plan", "trueup-ledger-resolve", "trueup-completion-fish", "trueup-explain"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no page %s", want)
		}
	}
	rendered := false
	for _, with := range []struct {
		args    []string
		but     string
		program string
	}{
		{program: "groff", args: []string{"-ww", "-man", "-Tutf8", "-z"}},
		{program: "mandoc", args: []string{"-T", "lint", "-W", "warning"}, but: "missing date"},
	} {
		if _, err := exec.LookPath(with.program); err != nil {
			continue
		}
		rendered = true
		cmd := exec.CommandContext(t.Context(), with.program, with.args...)
		cmd.Stdin = bytes.NewReader(all.Bytes())
		said, _ := cmd.CombinedOutput() // mandoc's exit code tells of warnings, which are read
		for line := range strings.Lines(string(said)) {
			// All pages are one input, and mandoc looks for one title.
			if with.but == "" || !strings.Contains(line, with.but) && !strings.Contains(line, "duplicate") {
				t.Errorf("%s: %s", with.program, line)
			}
		}
	}
	if !rendered {
		t.Skip("there is neither groff nor mandoc: the pages are not rendered")
	}
}

func TestManWritesPagesTwice(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		var out bytes.Buffer
		env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Dir: dir, Width: 40, Now: time.Now}
		if code := Main(t.Context(), []string{"man", "share/man1"}, env); code != exit.OK {
			t.Fatalf("exit %d: %s", code, out.String())
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "share", "man1", "trueup*.1"))
	if err != nil || len(files) < 20 {
		t.Errorf("%v, %v", files, err)
	}
}
