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
)

// strace runs a writer with a fault, and returns what it said, its error, and
// the calls that were made of the one that is traced.
func strace(t *testing.T, dir, call, fault string) (said, complaint string, log []string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strace")
	args := []string{"-f", "--seccomp-bpf", "-qq", "-o", file, "-e", "trace=" + call}
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
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which makes the faults, is not installed")
	}
	_, dir := born(t)
	if _, complaint, _, err := strace(t, dir, "fsync", ""); err != nil {
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
		{"renameat", []string{"error=EIO", "signal=KILL"}},
		{"unlinkat", []string{"signal=KILL"}},
	} {
		_, dir := born(t)
		_, _, log, err := strace(t, dir, c.call, "")
		must(t, err)
		calls := len(regexp.MustCompile(`(?m)\b`+c.call+`\(`).FindAllString(strings.Join(log, "\n"), -1))
		if calls == 0 {
			t.Errorf("%s is never called", c.call)
		}
		for _, fault := range c.faults {
			for n := 1; n <= calls; n++ {
				points++
				checkFault(t, c.call, fmt.Sprintf("%s:when=%d", fault, n))
			}
		}
	}
	t.Logf("%d points", points)
}

func checkFault(t *testing.T, call, fault string) {
	t.Helper()
	s, dir := born(t)
	said, complaint, log, err := strace(t, dir, call, fault)
	what := call + ":" + fault
	for _, line := range log {
		if err == nil && strings.Contains(line, "(INJECTED)") && !strings.Contains(line, " write(1,") {
			t.Errorf("%s was taken for success: %s", what, line)
		}
	}
	if strings.Contains(fault, "error=") && err != nil {
		advice := map[bool]string{true: "make room", false: "the disk fails"}[strings.Contains(fault, "ENOSPC")]
		if !strings.Contains(complaint, advice) || !strings.Contains(complaint, dir) {
			t.Errorf("%s: the error is %q", what, complaint)
		}
	}
	key := testRecord("a", 1).key()
	got, err := s.Read(t.Context(), []Key{key})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	lines := strings.Fields(said)
	if len(lines) > 0 {
		if last, err := strconv.Atoi(lines[len(lines)-1]); err != nil || got[key].Seq < last {
			t.Errorf("%s: seq %d was written, there is %d", what, last, got[key].Seq)
		}
	}
	checkFound(t, s, what)
	// The next writer needs no help.
	seq := got[key].Seq
	mustPut(t, s, seq, testRecord("a", seq+1))
}
