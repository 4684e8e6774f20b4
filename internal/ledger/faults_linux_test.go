package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/kind"
)

// strace runs a writer with a fault, and returns what it said, its error, and
// the calls that were made of the one that is traced.
func strace(t *testing.T, dir, call, fault string) (said, complaint string, log []string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strace")
	// Not with --seccomp-bpf: of strace 6.1 that loses the signals.
	args := []string{"-f", "-qq", "-o", file, "-e", "trace=" + call}
	if fault != "" {
		args = append(args, "-e", "inject="+call+":"+fault)
	}
	cmd := exec.CommandContext(t.Context(), "strace", append(args, os.Args[0], "life")...)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	b, rerr := os.ReadFile(file)
	must(t, errors.Join(rerr, t.Context().Err()))
	return stdout.String(), stderr.String(), strings.Split(string(b), "\n"), err
}

// TestFileFaults lets each call that makes something durable fail, and kills the
// process in each. No failure is taken for success, and what is open is found.
func TestFileFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: another program is run for each fault")
	}
	if testing.CoverMode() != "" {
		t.Skip("the faults would hit the files of the coverage")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which makes the faults, is not installed")
	}
	if _, complaint, _, err := strace(t, t.TempDir(), "fsync", ""); err != nil {
		t.Skipf("strace can't trace here: %v: %s", err, complaint)
	}
	points := 0
	for _, c := range []struct {
		call   string
		faults []string
	}{
		{"fsync", []string{"error=EIO", "signal=KILL"}},
		{"write", []string{"error=ENOSPC"}},
		{"mkdirat", []string{"error=ENOSPC"}},
		{"linkat", []string{"error=ENOSPC", "signal=KILL"}},
		{"unlinkat", []string{"signal=KILL"}},
	} {
		_, _, log, err := strace(t, t.TempDir(), c.call, "")
		must(t, err)
		calls := len(regexp.MustCompile(`(?m)\b`+c.call+`\(`).FindAllString(strings.Join(log, "\n"), -1))
		if calls == 0 {
			t.Errorf("%s is never called", c.call)
		}
		for _, fault := range c.faults {
			for n := 1; n <= calls; n += long.Stride(3) {
				points++
				t.Run(fmt.Sprintf("%s %s %d", c.call, fault, n), func(t *testing.T) {
					t.Parallel()
					checkFault(t, c.call, fmt.Sprintf("%s:when=%d", fault, n))
				})
			}
		}
	}
	t.Logf("%d points", points)
}

func checkFault(t *testing.T, call, fault string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	s := inFolder(dir)
	said, complaint, log, err := strace(t, dir, call, fault)
	if met := err != nil || strings.Contains(strings.Join(log, ""), "(INJECTED)"); !met {
		t.Error("the fault was not met")
	}
	for _, line := range log {
		if err == nil && strings.Contains(line, "(INJECTED)") && !strings.Contains(line, " write(1,") {
			t.Errorf("taken for success: %s", line)
		}
	}
	if strings.Contains(fault, "error=") && err != nil {
		advice := map[bool]string{true: "free space", false: "the disk is failing"}[strings.Contains(fault, "ENOSPC")]
		if !strings.Contains(complaint, advice) || !strings.Contains(complaint, dir) {
			t.Errorf("the error is %q", complaint)
		}
	}
	checkLeft(t, s, strings.Fields(said))
}

// checkLeft is what a writer left that said which seqs it had written.
func checkLeft(t *testing.T, s *logStore, said []string) {
	t.Helper()
	if _, err := s.ReadGenesis(t.Context()); errors.Is(err, ErrNoGenesis) && len(said) == 0 {
		// It died before there was a ledger; the next one makes it.
		must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	}
	key := testRecord("a", 1).Key
	got, err := s.Read(t.Context(), []kind.Key{key})
	must(t, err)
	seq := got[key].Seq
	if len(said) > 0 && said[len(said)-1] > strconv.Itoa(seq) {
		t.Errorf("seqs %v were written, there is %d", said, seq)
	}
	checkFound(t, s, "after the fault")
	// The next writer needs no help.
	mustPut(t, s, seq, testRecord("a", seq+1))
}
