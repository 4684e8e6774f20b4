package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/files"
)

// TestAReportIsNotWrittenThroughALink: a link that comes with a repository does
// not choose which file a report overwrites.
func TestAReportIsNotWrittenThroughALink(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "profile")
	if err := os.WriteFile(secret, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	s.write("manifests/purge.yaml", onePurge("rel-42"))
	for name, aim := range map[string]string{
		"plan.md": secret, "new.md": filepath.Join(outside, "new"), "out": outside, "self.md": "trueup.yaml",
	} {
		if err := os.Symlink(aim, filepath.Join(s.dir, name)); err != nil {
			t.Skipf("this machine makes no symbolic links: %v", err)
		}
	}
	for _, name := range []string{"plan.md", "new.md", "self.md", filepath.Join(s.dir, "plan.md"), "out/profile", "out/new"} {
		code, _, stderr := s.run("validate", "--report", "markdown="+name)
		if code != diag.ExitError || !strings.Contains(stderr, "symbolic link") && !strings.Contains(stderr, "path escapes") {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
	}
	for _, name := range []string{"real.md", os.DevNull} {
		s.must(diag.ExitOK, "validate", "--report", "markdown="+name)
	}
	if content, err := os.ReadFile(secret); string(content) != "keep" {
		t.Errorf("the file outside says %q, %v", content, err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestTheSandboxIsKeptInNoLink: a link that comes with a repository does not make
// the program keep, or remove, files elsewhere.
func TestTheSandboxIsKeptInNoLink(t *testing.T) {
	for _, link := range []string{".trueup", ".trueup/sandbox", ".trueup/sandbox/sandbox.db"} {
		s := newStage(t)
		s.write("manifests/purge.yaml", onePurge("rel-42"))
		outside := t.TempDir()
		if err := os.MkdirAll(filepath.Join(outside, "sandbox"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.dir, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(s.dir, link)); err != nil {
			t.Skipf("this machine makes no symbolic links: %v", err)
		}
		s.must(diag.ExitError, "plan", "--sandbox")
		if link != ".trueup/sandbox/sandbox.db" {
			s.must(diag.ExitError, "sandbox", "reset")
		}
		if left, err := os.ReadDir(filepath.Join(outside, "sandbox")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", link, left, err)
		}
	}
}

// silent is a standard input that nobody ever writes to.
type silent struct{ closed chan struct{} }

func (s silent) Read([]byte) (int, error) { <-s.closed; return 0, io.EOF }

// TestStandardInputIsWaitedForInWords: at a terminal it is said that input is
// waited for, and an interrupted run ends all the same.
func TestStandardInputIsWaitedForInWords(t *testing.T) {
	s := newStage(t)
	never := silent{make(chan struct{})}
	defer close(never.closed)
	for _, args := range [][]string{{"validate", "-"}, {"ledger", "import", "-"}} {
		var out bytes.Buffer
		env := s.env(&out, &out)
		ctx, cancel := context.WithCancel(t.Context())
		env.Stdin, env.StdinIsTTY = io.MultiReader(reached(cancel), never), true
		if code := Main(ctx, args, env); code != diag.ExitInterrupted || !strings.Contains(out.String(), "from the terminal: end with Ctrl-D") {
			t.Errorf("%v: exit %d, %s", args, code, out.String())
		}
	}
}

// reached calls do when it is read, and gives nothing.
type reached func()

func (r reached) Read([]byte) (int, error) { r(); return 0, io.EOF }

func TestStandardInputIsBounded(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"validate", "-"}, "-:1:1: error: the file is larger than 16 MiB"},
		{[]string{"validate", "-", "-"}, "- is given twice"},
		{[]string{"fmt", "-"}, "read"},
		{[]string{"fmt", "--fix", "-"}, "read"},
		{[]string{"fmt", "--envelope", "acme", "-"}, "read"},
	} {
		var out bytes.Buffer
		env := s.env(&out, &out)
		env.Stdin = endless{}
		if code := Main(t.Context(), c.args, env); code == diag.ExitOK || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: exit %d, %s", c.args, code, out.String())
		}
	}
	if _, err := io.ReadAll(files.LimitReader(endless{}, 1<<20)); err == nil || !strings.Contains(err.Error(), "longer than 1 MiB") {
		t.Error(err)
	}
	if data, err := io.ReadAll(files.LimitReader(strings.NewReader("abc"), 3)); err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

// TestAResultIsNoManifest: a slip of the finger empties no file that a person
// wrote.
func TestAResultIsNoManifest(t *testing.T) {
	s := newStage(t)
	const before = "apiVersion: trueup/v1\n"
	s.write("keep.yaml", before)
	s.write("KEEP.YML", before)
	for _, args := range [][]string{
		{"plan", "--out", "keep.yaml"}, {"plan", "--report", "json=keep.yaml"}, {"validate", "--report", "markdown=KEEP.YML"},
	} {
		code, _, stderr := s.run(args...)
		if code != diag.ExitError || !strings.Contains(stderr, "choose another ending") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
	for _, name := range []string{"keep.yaml", "KEEP.YML"} {
		if text, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(text) != before {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
}
