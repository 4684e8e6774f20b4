package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
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
		{"renameat", []string{"error=EIO", "signal=KILL"}},
		{"unlinkat", []string{"signal=KILL"}},
	} {
		_, _, log, err := strace(t, t.TempDir(), c.call, "")
		must(t, err)
		calls := len(regexp.MustCompile(`(?m)\b`+c.call+`\(`).FindAllString(strings.Join(log, "\n"), -1))
		if calls == 0 {
			t.Errorf("%s is never called", c.call)
		}
		for _, fault := range c.faults {
			for n := 1; n <= calls; n++ {
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
	s := fileStore{dir: dir}
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
		advice := map[bool]string{true: "make room", false: "the disk fails"}[strings.Contains(fault, "ENOSPC")]
		if !strings.Contains(complaint, advice) || !strings.Contains(complaint, dir) {
			t.Errorf("the error is %q", complaint)
		}
	}
	checkLeft(t, s, strings.Fields(said))
}

// checkLeft is what a writer left that said which seqs it had written.
func checkLeft(t *testing.T, s fileStore, said []string) {
	t.Helper()
	if _, err := s.ReadGenesis(t.Context()); errors.Is(err, ErrNoGenesis) && len(said) == 0 {
		// It died before there was a ledger; the next one makes it.
		must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	}
	key := testRecord("a", 1).key()
	got, err := s.Read(t.Context(), []Key{key})
	must(t, err)
	seq := got[key].Seq
	if len(said) > 0 && said[len(said)-1] > strconv.Itoa(seq) {
		t.Errorf("seqs %v were written, there is %d", said, seq)
	}
	checkFound(t, s, "after the fault")
	// The next writer needs no help.
	mustPut(t, s, seq, testRecord("a", seq+1))
}

// TestFileWithoutRights: a folder that can't be written to is read, and what to
// do about it is said.
func TestFileWithoutRights(t *testing.T) {
	// Directories of t.TempDir can't be entered by others, nor may any be where the
	// mask of rights says so.
	defer syscall.Umask(syscall.Umask(0o022))
	dir, err := os.MkdirTemp("", "ledger")
	must(t, err)
	folders := func(mode fs.FileMode) {
		must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(p, mode)
			}
			return err
		}))
	}
	t.Cleanup(func() {
		folders(0o755)
		remove(t, dir)
	})
	s := fileStore{dir: dir}
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	claimed := testRecord("a", 1).after(life{Claimed, 0, never})
	mustPut(t, s, 0, claimed)
	// Nor may the owner write, who may be the one that runs this.
	folders(0o555)
	must(t, os.Chmod(filepath.Join(dir, lockFile), 0o666))
	var keys []Key
	var recent, put, genesis, read error
	asNobody(t, func() {
		keys, recent = s.Recent(t.Context(), testWorkspace, testLately)
		put = s.Put(t.Context(), 1, testRecord("a", 2))
	})
	if recent != nil || len(keys) != 1 {
		t.Errorf("recent are %v, %v", keys, recent)
	}
	wantErr(t, put, fs.ErrPermission)
	if !strings.Contains(put.Error(), dir) || !strings.Contains(put.Error(), "must be allowed") {
		t.Errorf("Put gave %v", put)
	}
	must(t, os.Chmod(filepath.Join(dir, genesisFile), 0))
	must(t, os.Chmod(place(dir, claimed), 0))
	asNobody(t, func() {
		_, genesis = s.ReadGenesis(t.Context())
		_, read = s.Read(t.Context(), []Key{claimed.key()})
	})
	wantErr(t, genesis, fs.ErrPermission)
	wantErr(t, read, fs.ErrPermission)
}
