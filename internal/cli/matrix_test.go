package cli

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/ledger"
)

// operation is one request of the run of a scene: the n-th of its method and
// path.
type operation struct {
	*scene
	proven bool
	method string
	path   string
	nth    int
	role   string
}

func (o operation) String() string {
	known := ""
	if o.proven {
		known = ", refusal of duplicates proven"
	}
	return fmt.Sprintf("%s%s: %s %s #%d (%s)", o.name, known, o.method, path.Base(o.path), o.nth, o.role)
}

// clean is a scene that was built, and what it led to on a platform that does
// nothing wrong.
type clean struct {
	before, after string
	operations    []operation
}

// learn runs a scene without a fault.
func (sc *scene) learn(t *testing.T, proven bool) clean {
	s := sc.arrange(t, proven)
	c := clean{before: s.holds()}
	if code, out, errs := s.run(sc.apply()...); code != diag.ExitOK {
		t.Fatalf("%s without a fault: exit %d\n%s%s", sc.name, code, out, errs)
	}
	c.after = s.holds()
	requests, err := s.server.Requests()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	written := false
	for _, r := range requests {
		seen[r.Method+r.Path]++
		op := operation{scene: sc, proven: proven, method: r.Method, path: r.Path, nth: seen[r.Method+r.Path]}
		last := path.Base(r.Path)
		_, object, _ := strings.Cut(sc.object, "/")
		switch {
		case r.Method == sc.write:
			op.role, written = sc.role, true
		case (last == "cdns" || last == "volumesnapshots") && op.nth > 1:
			op.role = "list before a claim"
		case last == "cdns" || last == "volumesnapshots":
			op.role = "list"
		case written:
			op.role = "read back"
		case last != object:
			op.role = "clock"
		default:
			op.role = "look"
		}
		c.operations = append(c.operations, op)
	}
	if !written || c.before == c.after {
		t.Fatalf("%s did nothing: %v", sc.name, requests)
	}
	return c
}

func (sc *scene) apply(more ...string) []string {
	return slices.Concat([]string{"apply", "--auto-approve"}, sc.args, more)
}

// TestMatrix tries every operation under every fault, before and after the
// platform acts on it.
func TestMatrix(t *testing.T) {
	cells, operations := 0, 0
	stride := long.Stride(41) // all of it takes two minutes of one processor
	t.Run("cells", func(t *testing.T) {
		for i := range scenes() {
			sc := &scenes()[i]
			for _, proven := range []bool{false, true} {
				if proven && !strings.HasPrefix(sc.write, "POST") || proven && sc.role == "write CDN" {
					continue // nothing is sent that is sent once
				}
				c := sc.learn(t, proven)
				operations += len(c.operations)
				for _, op := range c.operations {
					for _, f := range matrixFaults() {
						for _, moment := range f.moments(op.role) {
							cells++
							if cells%stride != 0 {
								continue
							}
							t.Run(fmt.Sprintf("%s/%s %s", op, f.effect, moment), func(t *testing.T) {
								t.Parallel()
								(&cell{operation: op, clean: c, fault: f, moment: moment}).try(t)
							})
						}
					}
				}
			}
		}
	})
	fmt.Printf("matrix: %d operations × %d faults, before and after the commit = %d cells, one in %d tried\n",
		operations, len(matrixFaults()), cells, stride)
}

// cell is one operation under one fault.
type cell struct {
	operation
	clean  clean
	fault  matrixFault
	moment string
	s      *stage
}

func (c *cell) try(t *testing.T) {
	c.s = c.arrange(t, c.proven)
	rule := fmt.Sprintf("%s *%s: %s %s @%d", c.method, c.path, c.fault.effect, c.moment, c.nth)
	if err := c.s.server.AddFaults(rule); err != nil {
		t.Fatal(err)
	}
	limit := "20s"
	if c.impatient() {
		limit = "1s"
	}
	c.s.vars["TRUEUP_REQUEST_TIMEOUT"] = limit
	code, stdout, stderr := c.s.run(c.apply()...)
	c.s.quiet()
	said := fmt.Sprintf("exit %d\n%s%s", code, stdout, stderr)
	if left := c.s.server.PendingFaults(); len(left) > 0 && left[0].Done == 0 {
		t.Fatalf("the fault was not met: %v\n%s", left, said)
	}
	if codes := c.codes(); !slices.Contains(codes, code) {
		t.Errorf("allowed are %v: %s", codes, said)
	}
	c.reads(t, code, stdout, stderr)
	c.knows(t, code, said)
	c.s.server.ClearFaults()
	c.heals(t, code)
}

// impatient reports whether the run waits only briefly for an answer.
func (c *cell) impatient() bool { return c.fault.effect == "stall" || c.fault.class == overdue }

// quiet waits until the platform has done with what it was sent.
func (s *stage) quiet() {
	s.serving.Lock()
	defer s.serving.Unlock()
}

// codes are the exit codes that the table allows.
func (c *cell) codes() []int {
	codes := c.allowed(c.role)
	if c.impatient() {
		// On a busy machine the write may wait too long as well.
		codes = slices.Concat(codes, c.allowed(c.scene.role))
	}
	return codes
}

func (c *cell) allowed(role string) []int {
	if c.proven && role == "write purge" {
		role += ", proven"
	}
	if codes := mayEnd[role][c.fault.class]; codes != nil {
		return codes
	}
	return []int{diag.ExitOK}
}

// reads asserts that a failure is reported in clean lines that name the operation.
func (c *cell) reads(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	for _, r := range stdout + stderr {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%U was printed", r)
		}
	}
	if code == diag.ExitOK {
		return
	}
	if code == diag.ExitError && (strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "trueup: ")) {
		t.Errorf("the error is not one line:\n%s", stderr)
	}
	names := []string{c.object}
	if c.role == "list" {
		names = []string{"list CDN", "list VolumeSnapshot", c.object}
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(stdout+stderr, n) }) {
		t.Errorf("exit %d, and none of %q is named:\n%s%s", code, names, stdout, stderr)
	}
}

// toldGone finds what a run says that deletes nothing, as it read that there
// is nothing to delete, or not all that there is.
var toldGone = regexp.MustCompile("it was already gone; nothing was sent|is incomplete, so trueup can't detect removed objects and deletes none")

// knows asserts that the platform is as it was or in sync, and that the
// ledger does not say otherwise.
func (c *cell) knows(t *testing.T, code int, said string) {
	t.Helper()
	holds := c.s.holds()
	done := holds == c.clean.after
	if !done && holds != c.clean.before {
		t.Errorf("the platform holds\n%s\nand not\n%s\nor\n%s", holds, c.clean.before, c.clean.after)
	}
	if code == diag.ExitOK && !done && (c.write != "DELETE" || !toldGone.MatchString(said)) {
		t.Errorf("nothing was done: %s", said)
	}
	state := c.s.recorded(c.object)
	var allowed []string
	switch once := c.write == "POST" && c.scene.role != "write CDN"; {
	case once && done:
		allowed = []string{"posted", "claimed", "unknown"}
	case once && c.fault.class == bare:
		return // the platform said that it was done
	case once:
		allowed = []string{"", "free", "claimed", "unknown", "rejected"}
	case c.write == "DELETE":
		return
	case done:
		allowed = []string{"unconfirmed", "applied"}
	default:
		return
	}
	if !slices.Contains(allowed, state) {
		t.Errorf("done: %t, and the ledger says %q: %s", done, state, said)
	}
}

// heals asserts that runs without a fault bring it to its end, and ask where
// they can't know; a further run sends nothing.
func (c *cell) heals(t *testing.T, first int) {
	t.Helper()
	done := c.s.holds() == c.clean.after
	c.s.writes()
	code, said := c.run()
	if sent := c.s.writes(); first == diag.ExitOK && done && code == diag.ExitOK && len(sent) == 0 {
		return // this was the run that has nothing to do
	}
	if code == diag.ExitPartial && strings.Contains(said, "in flight elsewhere") {
		c.s.pass(ledger.Lease + time.Minute)
		code, said = c.run()
	}
	if code == diag.ExitNeedsPerson {
		code, said = c.answer(t, said)
	}
	if code != diag.ExitOK || c.s.holds() != c.clean.after {
		t.Fatalf("it does not converge: %s\nthe platform holds\n%s\nand not\n%s", said, c.s.holds(), c.clean.after)
	}
	c.s.writes()
	code, said = c.run()
	if sent := c.s.writes(); code != diag.ExitOK || len(sent) > 0 {
		t.Errorf("all was done, and there were %d writes: %s", len(sent), said)
	}
}

// asksFor finds what a run can ask for but an answer about a request.
var asksFor = regexp.MustCompile(`--accept (recreate=\S+/[\w-]+|empty-live)`)

// answer does what a run asks for, as it is, and runs again.
func (c *cell) answer(t *testing.T, said string) (int, string) {
	t.Helper()
	asked := asksAbout.FindStringSubmatch(said)
	switch {
	case asked == nil && asksFor.MatchString(said):
		return c.run(strings.Fields(asksFor.FindString(said))...)
	case asked == nil || asked[1] != c.object:
		t.Fatalf("it is not said how to answer: %s", said)
	}
	answer := "--repost"
	if c.s.holds() == c.clean.after {
		answer = "--posted"
	}
	c.s.must(diag.ExitOK, "ledger", "resolve", c.object, answer, "--reason", "seen")
	return c.run()
}

func (c *cell) run(more ...string) (int, string) {
	code, stdout, stderr := c.s.run(c.apply(more...)...)
	return code, fmt.Sprintf("exit %d\n%s%s", code, stdout, stderr)
}
