package crash

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"trueup/internal/e2e/long"
)

// diskFault is what a disk answers to some calls from a moment on.
type diskFault struct {
	name  string
	hits  func(heldCall) bool
	errno syscall.Errno
}

func diskFaults() []diskFault {
	named := func(names ...string) func(heldCall) bool {
		return func(c heldCall) bool { return slices.Contains(names, c.name) }
	}
	return []diskFault{
		{"full", named("write", "openat", "mkdirat", "linkat", "renameat"), syscall.ENOSPC},
		{"full, as it turns out", named("fsync"), syscall.ENOSPC},
		{"broken", named("fsync"), syscall.EIO},
		{"broken for all", func(heldCall) bool { return true }, syscall.EIO},
		{"read-only", named("write", "openat", "mkdirat", "linkat", "renameat", "unlinkat"), syscall.EROFS},
		{"forbidden", named("openat", "mkdirat", "linkat", "renameat", "unlinkat"), syscall.EACCES},
	}
}

// ledgerRule makes the ledger's disk answer with a fault, once it is on.
func (w *crashWorld) ledgerRule(f diskFault, on func(heldCall) bool) func(heldCall) fate {
	return func(c heldCall) fate {
		if on(c) && strings.HasPrefix(c.path, w.path("project/ledger")) && f.hits(c) {
			return fate{errno: f.errno}
		}
		return fate{}
	}
}

// heldApart is held with standard error apart.
func (w *crashWorld) heldApart(rule func(heldCall) fate, args ...string) (ended, string) {
	w.t.Helper()
	var errs bytes.Buffer
	cmd, out := w.command(args...)
	cmd.Stderr = &errs
	code := exitCode(w.t, runHeld(w.t, cmd, w.roots(), rule))
	return ended{code, out.String()}, errs.String()
}

// rescued finds the records that a run handed out.
var rescued = regexp.MustCompile(`(?m)^trueup: rescue record: \{.*\}$`)

// TestCrashDiskBeforeASend: a disk that fails before the intent is durable keeps
// everything from being sent, and a run on a healthy one sends it.
func TestCrashDiskBeforeASend(t *testing.T) {
	program := buildHeld(t)
	for _, f := range diskFaults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := newCrashWorld(t, program, inFiles)
			defer w.close()
			w.ends(w.runOf(apply("--target", "CDN/shop")...), 0)
			if err := w.server.ResetRequests(); err != nil {
				t.Fatal(err)
			}
			run, errs := w.heldApart(w.ledgerRule(f, func(heldCall) bool { return true }), apply()...)
			w.ends(run, 5)
			for _, name := range once() {
				if !regexp.MustCompile(`(failed|skipped|blocked) +` + name).MatchString(run.out) {
					t.Errorf("nothing is said of %s\n%s", name, run.out)
				}
			}
			if !strings.Contains(run.out, "nothing was sent, ") {
				t.Errorf("it does not say that nothing was sent\n%s", run.out)
			}
			if rescued.MatchString(errs) {
				t.Errorf("there is nothing to be rescued\n%s", errs)
			}
			w.sentNothing()
			w.ends(w.runApply(), 0)
			w.allMade()
		})
	}
}

// TestCrashDiskBeforeAnOutcome: a disk that fails when a request has been sent
// keeps its outcome out of the ledger. The run hands it out, and an import brings
// the ledger up to date.
func TestCrashDiskBeforeAnOutcome(t *testing.T) {
	program := buildHeld(t)
	for _, f := range diskFaults() {
		for nth := 1; nth <= len(once()); nth++ {
			t.Run(fmt.Sprintf("%s/send %d", f.name, nth), func(t *testing.T) {
				t.Parallel()
				w := newCrashWorld(t, program, inFiles)
				defer w.close()
				w.ends(w.runOf(apply("--target", "CDN/shop")...), 0)
				w.env = append(w.env, "TRUEUP_TIMEOUT=4s") // an outcome is tried for as long as that
				posts := 0
				run, errs := w.heldApart(w.ledgerRule(f, func(c heldCall) bool {
					if c.post {
						posts++
					}
					return posts >= nth
				}), apply()...)
				w.ends(run, 6)
				w.noneTwice()
				lines := rescued.FindAllString(errs, -1)
				if len(lines) != 1 || len(rescued.FindAllString(run.out, -1)) > 0 {
					t.Fatalf("%d rescue records on standard error\n%s%s", len(lines), run.out, errs)
				}
				if !strings.Contains(run.out, "trueup ledger import -") {
					t.Errorf("it does not say what to do\n%s", run.out)
				}
				w.imported(errs, nth)
			})
		}
	}
}

// imported gives a run's log to ledger import, and asserts that nobody has to be
// asked about the nth request any more.
func (w *crashWorld) imported(log string, nth int) {
	w.t.Helper()
	open := w.openClaims()
	cmd, out := w.command("ledger", "import", "-")
	cmd.Stdin = strings.NewReader(log)
	w.ends(ended{exitCode(w.t, cmd.Run()), out.String()}, 0)
	if still := w.openClaims(); len(open) == 0 && nth > 0 || len(still) > 0 {
		w.t.Errorf("open before the import %v, after it %v\n%s", open, still, out)
	}
	if n := len(w.made()); n < nth {
		w.t.Errorf("%d were carried out before, want %d", n, nth)
	}
	w.ends(w.runApply(), 0)
	w.allMade()
}

// buildHeld builds the program where its calls can be held.
func buildHeld(t *testing.T) string {
	t.Helper()
	long.SkipUnlessSet(t)
	return buildProgram(t)
}

func (w *crashWorld) runOf(args ...string) ended {
	w.t.Helper()
	code, out := w.run(args...)
	return ended{code, out}
}

func (w *crashWorld) sentNothing() {
	w.t.Helper()
	requests, err := w.server.Requests()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range requests {
		if r.Method != http.MethodGet {
			w.t.Errorf("%s %s was sent", r.Method, r.Path)
		}
	}
}
