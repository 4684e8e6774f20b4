//go:build linux

package script

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/long"
)

// TestStartDoesNoWork: before main a package of ours makes its tables, and
// nothing else. Bytes are counted and not time, which depends on what else the
// machine does.
func TestStartDoesNoWork(t *testing.T) {
	const most = 16 << 10
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Args = []string{"trueup", "version"}
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\ntrueup ") {
		t.Fatalf("%v: %s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^init (trueup/\S+) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	if len(lines) == 0 {
		t.Fatalf("Go does not tell what packages do: %s", out)
	}
	for _, line := range lines {
		if strings.Contains(line[1], "/e2e/") {
			continue
		}
		if size, err := strconv.Atoi(line[2]); err != nil || size > most {
			t.Errorf("%s allocates %s bytes before main, at most %d: let it wait until it", line[1], line[2], most)
		}
	}
}

func TestMain(m *testing.M) { harness.RunMain(m, nil) }

// TestScripts runs testdata: one promise of the program in each script.
func TestScripts(t *testing.T) {
	t.Parallel()
	harness.RunScripts(t, "internal/e2e/script/testdata", long.IsSet(), nil)
}

// TestTheThirdSignalEndsTheProcess: whatever a run does then.
func TestTheThirdSignalEndsTheProcess(t *testing.T) {
	t.Parallel()
	harness.HearHangups(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := &exec.Cmd{Path: os.Args[0], Args: []string{"deaf"}}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewScanner(out)
		for _, want := range []string{"ready", "first", "second"} {
			if !said.Scan() || said.Text() != want {
				t.Fatalf("%s: it said %q, want %q", sig, said.Text(), want)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
		var failed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &failed) || failed.ExitCode() != 130 {
			t.Errorf("%s: %v", sig, err)
		}
	}
}
