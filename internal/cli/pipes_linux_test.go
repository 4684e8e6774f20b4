package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/internal/diag"
	"trueup/internal/files"
)

// TestPipesDoNotHang: a pipe in the place of a file that nobody writes to, or
// reads from, ends the run with an error.
func TestPipesDoNotHang(t *testing.T) {
	s := newStage(t)
	pipe := filepath.Join(s.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("this machine makes no pipes: %v", err)
	}
	if err := syscall.Mkfifo(filepath.Join(s.dir, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(pipe, filepath.Join(s.dir, "manifests-pipe.yaml")); err != nil {
		t.Fatal(err)
	}
	s.write("manifests/purge.yaml", onePurge("rel-42"))
	s.vars["TRUEUP_CA_FILE"] = "manifests-pipe.yaml"
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"validate", "manifests-pipe.yaml"}, diag.ExitInvalid, "a device, a pipe or a socket"},
		{[]string{"validate", "--report", "json=pipe.json"}, diag.ExitError, "nothing reads from the pipe"},
		{[]string{"plan"}, diag.ExitError, "TRUEUP_CA_FILE: "},
		{[]string{"ledger", "import", "manifests-pipe.yaml"}, diag.ExitError, "manifests-pipe.yaml"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var out bytes.Buffer
		code := Main(ctx, c.args, s.env(&out, &out))
		if code != c.code || !strings.Contains(out.String(), c.says) || ctx.Err() != nil {
			t.Errorf("%v: exit %d, want %d\n%s", c.args, code, c.code, out.String())
		}
		cancel()
	}
	// One that takes the place of the project file.
	if err := os.Rename(filepath.Join(s.dir, "manifests-pipe.yaml"), filepath.Join(s.dir, "trueup.yaml")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := s.run("validate"); code != diag.ExitError || !strings.Contains(stderr, "not a regular file") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestATreeOpensNoPipe: a file that became a pipe after it was listed.
func TestATreeOpensNoPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "x.yaml"), 0o600); err != nil {
		t.Skipf("this machine makes no pipes: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	f, err := files.OpenFS(root).Open("x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
