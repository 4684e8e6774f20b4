package crash

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"trueup/internal/e2e/long"
	"trueup/internal/e2e/servers"
)

// harm is what happens to a run at one of its calls.
type harm struct {
	name string
	// befalls says which calls it can happen to.
	befalls func(heldCall) bool
	// fate is the call's end; meanwhile happens first, while the whole program
	// stands still.
	fate      fate
	meanwhile func(*crashWorld, heldCall)
	// sparse says that every second call is enough but each week: what the harm
	// leaves, a kill leaves too, and that is tried at every call.
	sparse bool
}

func anyCall(heldCall) bool      { return true }
func fileCall(c heldCall) bool   { return c.path != socket }
func socketCall(c heldCall) bool { return c.path == socket }

// needsRoom is a call that a full disk refuses.
func needsRoom(c heldCall) bool {
	return fileCall(c) && slices.Contains([]string{"write", "openat", "mkdirat", "linkat", "renameat"}, c.name)
}

// entryLink is the call that gives an entry of a ledger in files its name, unless another
// run came first.
func entryLink(c heldCall) bool { return c.name == "linkat" }

func harms() []harm {
	return []harm{
		{name: "kill", befalls: anyCall, fate: fate{kill: true}},
		{name: "EIO", befalls: func(c heldCall) bool { return fileCall(c) && !needsRoom(c) }, fate: fate{errno: syscall.EIO}},
		{name: "ENOSPC", befalls: needsRoom, fate: fate{errno: syscall.ENOSPC}},
		{name: "ECONNRESET", befalls: socketCall, fate: fate{errno: syscall.ECONNRESET}},
		{name: "stall", befalls: anyCall, meanwhile: overtaken, sparse: true},
		{name: "sleep", befalls: func(c heldCall) bool { return (socketCall(c) || entryLink(c)) && !c.post }, meanwhile: overslept},
	}
}

// overtaken is another run at a time when the claims of the one that stands
// still look dead. It waits for nothing that the other has in its hand.
func overtaken(w *crashWorld, _ heldCall) {
	w.advance(lease + time.Minute)
	w.ends(w.runApply(), 0, 5, 6)
}

// overslept is a day in which others, and a person, brought everything to its
// end, and the platform forgot its names. It does not befall a request that was
// checked already and is on its way out: that needs a server that refuses (design
// A4 row 10).
func overslept(w *crashWorld, _ heldCall) {
	w.advance(lease + time.Minute)
	w.bringToEnd()
	w.advance(25 * time.Hour)
}

func TestCrashPoints(t *testing.T) {
	long.SkipUnlessSet(t)
	program := buildProgram(t)
	anew := func(t *testing.T) *crashWorld { return newCrashWorld(t, program, inFiles) }
	calls := cleanRun(t, anew, apply())
	straceAgrees(t, anew, calls)
	syncedBeforeSends(t, calls)
	for _, h := range harms() {
		crashEverywhere(t, inFiles, anew, h, calls)
	}
}

// TestCrashPointsOfRefusal kills runs on a platform that was seen to refuse
// duplicates: no person is asked about a purge.
func TestCrashPointsOfRefusal(t *testing.T) {
	long.SkipUnlessSet(t)
	program := buildProgram(t)
	anew := func(t *testing.T) *crashWorld {
		w := newCrashWorld(t, program, inFiles)
		w.prove()
		return w
	}
	kill := harm{name: "kill", befalls: anyCall, fate: fate{kill: true}, sparse: true}
	crashEverywhere(t, inFiles+", duplicates refused", anew, kill, cleanRun(t, anew, apply()))
}

// TestCrashPointsOfGit kills a run whose ledger is in a ref of a remote, on the
// way to the platform and while the remote takes a push. What the remote does
// before it touches the ref can't be seen by anybody, and is one point.
func TestCrashPointsOfGit(t *testing.T) {
	long.SkipUnlessSet(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	program := buildProgram(t)
	visible := func(c heldCall) bool {
		return socketCall(c) || strings.Contains(c.path, "/remote.git/refs/") || c.name == "mkdir" && strings.HasPrefix(filepath.Base(c.path), "tmp_objdir")
	}
	anew := func(t *testing.T) *crashWorld { return newCrashWorld(t, program, inGit) }
	crashEverywhere(t, inGit, anew, harm{name: "kill", befalls: visible, fate: fate{kill: true}}, cleanRun(t, anew, apply()))
}

// TestCrashPointsOnServers kills runs whose ledger is on a server at each call to it or to the platform, and breaks that
// connection.
func TestCrashPointsOnServers(t *testing.T) {
	long.SkipUnlessSet(t)
	program := buildProgram(t)
	for _, scheme := range servers.Schemes() {
		t.Run(scheme, func(t *testing.T) {
			servers.Store(t, scheme) // it skips before there are tests below this one
			anew := func(t *testing.T) *crashWorld { return newCrashWorld(t, program, servers.Store(t, scheme)) }
			calls := cleanRun(t, anew, apply())
			crashEverywhere(t, scheme, anew, harm{name: "kill", befalls: socketCall, fate: fate{kill: true}}, calls)
			crashEverywhere(t, scheme, anew, harm{name: "ECONNRESET", befalls: socketCall, fate: fate{errno: syscall.ECONNRESET}}, calls)
		})
	}
}

// TestCrashPointsOfForget kills forget at each of its calls: each record is whole, as it was or forgotten, and forget
// forgets the rest when it runs again.
func TestCrashPointsOfForget(t *testing.T) {
	long.SkipUnlessSet(t)
	program := buildProgram(t)
	forget := []string{"ledger", "forget", "CDN/shop", "VolumeSnapshot/db-2026-11-21", "--auto-approve"}
	anew := func(t *testing.T) *crashWorld {
		w := newCrashWorld(t, program, inFiles)
		w.ends(w.runApply(), 0)
		w.write("project/manifests/all.yaml", crashPurges)
		return w
	}
	calls := cleanRun(t, anew, forget)
	var left [3]atomic.Int64 // how many runs left so many records forgotten
	t.Run("kill", func(t *testing.T) {
		for i, c := range calls {
			t.Run(fmt.Sprintf("%03d-%s", i+1, c.name), func(t *testing.T) {
				t.Parallel()
				w := anew(t)
				defer w.close()
				run, _ := w.heldAt(harm{befalls: anyCall, fate: fate{kill: true}}, i+1, forget)
				w.ends(run, killed)
				w.ends(w.runOf("ledger", "verify"), 0)
				left[w.forgotten()].Add(1)
				w.ends(w.runOf(forget...), 0)
				if n := w.forgotten(); n != 2 {
					t.Errorf("%d of 2 are forgotten", n)
				}
				w.staysAsItIs()
				w.allMade()
			})
		}
	})
	for n := range left {
		if left[n].Load() == 0 {
			t.Errorf("no run was killed with %d records forgotten", n)
		}
	}
	fmt.Printf("crash points of the real program, ledger %s: kill of forget at %d calls\n", inFiles, len(calls))
}

// The stores that the real program is tried with.
const (
	inFiles = "file:ledger"
	inGit   = "git:refs/trueup/ledger"
)

// crashEverywhere lets runs come to one harm at each call that it can befall.
func crashEverywhere(t *testing.T, where string, anew func(*testing.T) *crashWorld, h harm, calls []heldCall) {
	var points, reached atomic.Int64
	t.Run(h.name, func(t *testing.T) {
		for i, c := range slices.DeleteFunc(slices.Clone(calls), func(c heldCall) bool { return !h.befalls(c) }) {
			if h.sparse && i%long.Stride(20) != 0 {
				continue
			}
			points.Add(1)
			t.Run(fmt.Sprintf("%03d-%s", i+1, c.name), func(t *testing.T) {
				t.Parallel()
				if crashAt(t, anew(t), h, i+1) {
					reached.Add(1)
				}
			})
		}
	})
	if points.Load() != reached.Load() {
		t.Errorf("%s: %d of %d points were reached", h.name, reached.Load(), points.Load())
	}
	fmt.Printf("crash points of the real program, ledger %s: %s at %d calls\n", where, h.name, reached.Load())
}

// crashAt lets the n-th call of an apply that the harm can befall come to it, and
// asserts how the world ends. It reports whether the run came that far.
func crashAt(t *testing.T, w *crashWorld, h harm, n int) bool {
	defer w.close()
	first, reached := w.heldAt(h, n, apply())
	w.noneTwice()
	if h.fate.kill {
		w.ends(first, killed)
		// Right after it, claims may be those of a run that is still alive.
		next := w.runApply()
		if w.ends(next, 0, 5, 6) && next.code == 0 {
			w.allMade()
		}
		w.noneTwice()
	} else if w.ends(first, 0, 3, 5, 6) && first.code == 0 {
		w.allMade()
	}
	if h.fate.errno != 0 {
		w.saysWhatIsOpen(first)
	}
	w.advance(lease + time.Minute)
	w.bringToEnd()
	if h.fate.kill {
		w.staysAsItIs()
	}
	if t.Failed() {
		t.Logf("the run that came to harm: exit %d\n%s", first.code, first.out)
	}
	return reached
}

// heldAt lets the harm come to the n-th call of a run that it can befall. It reports whether the run came that far.
func (w *crashWorld) heldAt(h harm, n int, args []string) (run ended, reached bool) {
	w.t.Helper()
	count := 0
	run.code, run.out = w.held(func(c heldCall) fate {
		if !h.befalls(c) {
			return fate{}
		}
		if count++; count != n {
			return fate{}
		}
		reached = true
		if h.meanwhile != nil {
			h.meanwhile(w, c)
		}
		return h.fate
	}, args...)
	w.settle()
	return run, reached
}

// saysWhatIsOpen asserts that a run that lived to its end named every request
// whose outcome the ledger lacks.
func (w *crashWorld) saysWhatIsOpen(e ended) {
	w.t.Helper()
	for _, name := range w.openClaims() {
		rescue := regexp.MustCompile(`(?m)^trueup: rescue record: \{.*"kind":"` + strings.Replace(name, "/", `","name":"`, 1))
		if e.code != 6 || !strings.Contains(e.out, "trueup ledger resolve "+name) && !rescue.MatchString(e.out) {
			w.t.Errorf("%s is open, and the run did not say so: exit %d\n%s", name, e.code, e.out)
		}
	}
}

// ended is a run that ended.
type ended struct {
	code int
	out  string
}

func (w *crashWorld) runApply() ended {
	code, out := w.run(apply()...)
	return ended{code, out}
}

func (w *crashWorld) ends(e ended, codes ...int) bool {
	w.t.Helper()
	if !slices.Contains(codes, e.code) {
		w.t.Errorf("exit %d, want one of %v\n%s", e.code, codes, e.out)
		return false
	}
	return true
}

// toResolve finds the requests that a run asks a person about.
var toResolve = regexp.MustCompile(`trueup ledger resolve ([A-Za-z]+/[a-z0-9-]+)`)

// bringToEnd runs apply, answers what it asks by what is so, and runs it until
// nothing is left. Every claim of the dead must be asked about.
func (w *crashWorld) bringToEnd() {
	w.t.Helper()
	open := w.openClaims()
	run := w.runApply()
	w.noneTwice()
	if !w.ends(run, 0, 6) {
		return
	}
	var asked []string
	for _, m := range toResolve.FindAllStringSubmatch(run.out, -1) {
		if !slices.Contains(asked, m[1]) {
			asked = append(asked, m[1])
		}
	}
	for _, name := range open {
		if strings.HasPrefix(name, "Purge/") && slices.Contains(asked, name) == w.proven {
			w.t.Errorf("%s was claimed, and somebody is asked about it: %t: exit %d\n%s", name, w.proven, run.code, run.out)
		}
	}
	if asks := len(asked) > 0; asks != (run.code == 6) {
		w.t.Errorf("exit %d, but asked about %v\n%s", run.code, asked, run.out)
	}
	made := w.made()
	for _, name := range asked {
		if !slices.Contains(open, name) {
			w.t.Errorf("asked about %s, which nobody had claimed\n%s", name, run.out)
		}
		answer := "--repost"
		if made[name] > 0 {
			answer = "--posted"
		}
		code, out := w.run("ledger", "resolve", name, answer, "--reason", "seen")
		w.ends(ended{code, out}, 0)
	}
	if run.code == 6 {
		w.ends(w.runApply(), 0)
	}
	w.allMade()
}

// staysAsItIs asserts that a run after the last one sends nothing.
func (w *crashWorld) staysAsItIs() {
	w.t.Helper()
	if err := w.server.ResetRequests(); err != nil {
		w.t.Error(err)
	}
	w.ends(w.runApply(), 0)
	requests, err := w.server.Requests()
	if err != nil {
		w.t.Error(err)
	}
	for _, r := range requests {
		if r.Method != http.MethodGet {
			w.t.Errorf("all was done, and %s %s was sent", r.Method, r.Path)
		}
	}
}

// openClaims are the requests whose outcome the ledger does not know.
func (w *crashWorld) openClaims() (open []string) {
	w.t.Helper()
	for _, r := range w.records() {
		if r.State == "claimed" || r.State == "unknown" {
			open = append(open, r.Kind+"/"+r.Name)
		}
	}
	return open
}

// forgotten counts the records of forgotten objects. It asserts that each is forgotten as a whole.
func (w *crashWorld) forgotten() (n int) {
	w.t.Helper()
	for _, r := range w.records() {
		forgotten := r.Outcome.How == "forgotten"
		if forgotten {
			n++
		}
		if r.Kind == "CDN" && forgotten != (r.Applied == nil) || r.Kind != "CDN" && forgotten != (r.State == "abandoned") {
			w.t.Errorf("it is forgotten in part: %+v", r)
		}
	}
	return n
}

func (w *crashWorld) noneTwice() {
	w.t.Helper()
	for name, n := range w.made() {
		if n > 1 {
			w.t.Errorf("%s was carried out %d times", name, n)
		}
	}
}

func (w *crashWorld) allMade() {
	w.t.Helper()
	made := w.made()
	for _, name := range once() {
		if made[name] != 1 {
			w.t.Errorf("%s was carried out %d times", name, made[name])
		}
	}
}
