package crash

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// build builds the program once, in a directory that goes away after all tests.
var build = sync.OnceValues(func() (program string, err error) {
	dir, err := os.MkdirTemp("", "program-")
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "trueup")
	return program, compile(program)
})

func compile(program string, flags ...string) error {
	args := slices.Concat([]string{"build", "-ldflags=-s -w", "-o", program}, flags, []string{"."})
	if out, err := exec.CommandContext(context.Background(), "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

func buildProgram(t *testing.T) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// cleanRun returns the calls of a run that nothing happens to.
func cleanRun(t *testing.T, anew func(*testing.T) *crashWorld, args []string) []heldCall {
	t.Helper()
	w := anew(t)
	defer w.close()
	var calls []heldCall
	code, out := w.held(func(c heldCall) fate {
		calls = append(calls, c)
		return fate{}
	}, args...)
	w.settle()
	if code != 0 || len(calls) == 0 {
		t.Fatalf("a clean %s: exit %d, %d calls\n%s", args[0], code, len(calls), out)
	}
	w.allMade()
	t.Logf("a clean %s calls %v", args[0], byName(calls))
	return calls
}

// straceAgrees asserts that strace sees as many calls of each name in a clean
// run, so that none is missed.
func straceAgrees(t *testing.T, anew func(*testing.T) *crashWorld, calls []heldCall) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	w := anew(t)
	defer w.close()
	var names []string
	for _, c := range heldCalls() {
		names = append(names, c.name)
	}
	log := w.path("strace.log")
	cmd, out := w.command(apply()...)
	cmd.Path, cmd.Args = strace, append([]string{strace, "-f", "-y", "-o", log, "-e", "trace=" + strings.Join(names, ","), w.program}, cmd.Args[1:]...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("strace: %v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// PID NAME(ARGUMENTS, where -y puts what a descriptor is behind it in <>
	line := regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
	writing := regexp.MustCompile(`O_(WRONLY|RDWR|CREAT|TRUNC)`)
	concerns := regexp.MustCompile(`^\d+<(socket|TCP)|` + strings.Join(w.roots(), "|"))
	seen := map[string]int{}
	for l := range strings.Lines(string(text)) {
		m := line.FindStringSubmatch(l)
		if m == nil || strings.HasPrefix(m[1], "open") && !writing.MatchString(m[2]) {
			continue
		}
		if concerns.MatchString(m[2]) {
			seen[m[1]]++
		}
	}
	held := byName(calls)
	if seen["connect"] == 0 || held["connect"] == 0 {
		t.Errorf("strace counts %d connections, held were %d", seen["connect"], held["connect"])
	}
	// A run that asks two things at once may find a connection that is free again, or open one more.
	delete(seen, "connect")
	delete(held, "connect")
	if !maps.Equal(seen, held) {
		t.Errorf("strace counts %v, held were %v", seen, held)
	}
}

// syncedBeforeSends asserts that whatever the ledger holds when a request is
// sent has reached the disk, file and name: that a machine which loses its power
// keeps it can't be tried here.
func syncedBeforeSends(t *testing.T, calls []heldCall) {
	t.Helper()
	dirty, posts := map[string]heldCall{}, 0
	for _, c := range calls {
		// What is in tmp has no name yet that counts.
		name := filepath.Dir(cmp.Or(c.to, c.path))
		nameless := filepath.Base(name) == "tmp" || filepath.Base(c.path) == "tmp"
		switch {
		case c.post:
			posts++
			for where, by := range dirty {
				t.Errorf("POST %d is sent while %s, which changed %s, may be lost", posts, by, where)
			}
		case !strings.Contains(c.path, "/project/ledger") || c.name == "unlinkat":
			// What is removed and comes back does no harm.
		case c.name == "fsync":
			delete(dirty, c.path)
		case c.name == "write":
			dirty[c.path] = c
		case !nameless:
			dirty[name] = c
		}
	}
	if posts == 0 {
		t.Error("nothing was sent")
	}
}

func byName(calls []heldCall) map[string]int {
	counts := map[string]int{}
	for _, c := range calls {
		counts[c.name]++
	}
	return counts
}
