package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/ledger"
	"trueup/internal/sandbox"
)

// ordered is a project with random commits, and the runs that apply them.
type ordered struct {
	*stage
	rand    *rand.Rand
	parents [][]int
	ids     []string
	values  [][2]string // the edge TTL of each CDN, by commit
	passed  atomic.Int64
	story   []string
	// isOlder has the commits that the applied ones contain; newest is the one that the ledger had last.
	isOlder map[int]bool
	newest  int

	mu    sync.Mutex
	hook  func(r *http.Request, serve func())
	ended sync.WaitGroup
	over  chan struct{}
}

// isBefore is the test's own idea of what git calls an ancestor.
func (h *ordered) isBefore(a, b int) bool {
	return slices.ContainsFunc(h.parents[b], func(p int) bool { return p == a || h.isBefore(a, p) })
}

func (h *ordered) git(dir string, args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func newHistory(t *testing.T, seed uint64) *ordered {
	h := &ordered{stage: newStage(t), rand: rand.New(rand.NewPCG(seed, 7)), over: make(chan struct{}), newest: -1}
	h.vars["TRUEUP_PARALLELISM"] = "1"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		hook := h.hook
		h.mu.Unlock()
		serve := func() { h.server.ServeHTTP(w, r) }
		if hook == nil {
			serve()
			return
		}
		hook(r, serve)
	}))
	t.Cleanup(func() { close(h.over); h.ended.Wait(); web.CloseClientConnections(); web.Close() })
	h.vars["TRUEUP_DELIVERY_URL"], h.vars["TRUEUP_COMPUTE_URL"] = web.URL+sandbox.DeliveryBase, web.URL+sandbox.ComputeBase
	h.vars["TRUEUP_LEDGER"] = "file:" + filepath.Join(t.TempDir(), "ledger")
	h.without()
	_, id, _ := strings.Cut(h.must(diag.ExitOK, "ledger", "init"), "id: ")
	h.project(strings.TrimRight(id, "}\n"))
	h.git(h.dir, "init", "-q", "-b", "main")
	ttl := []string{"60", "120", "300"}
	for n := range 3 + h.rand.IntN(4) {
		var parents []int
		if n > 0 {
			parents = []int{max(0, n-1-h.rand.IntN(2))}
			if other := h.rand.IntN(n); n > 1 && other != parents[0] && h.rand.IntN(4) == 0 {
				parents = append(parents, other)
			}
		}
		v := [2]string{ttl[h.rand.IntN(3)], ttl[h.rand.IntN(3)]}
		if n > 1 && h.rand.IntN(2) == 0 {
			v = h.values[h.rand.IntN(n)] // a revert
		}
		for i, name := range []string{"docs", "shop"} {
			h.write("manifests/"+name+".yaml", strings.NewReplacer("shop", name, "SECONDS", v[i]).Replace(orderedCDN))
		}
		h.git(h.dir, "add", "-A")
		args := []string{"commit-tree", h.git(h.dir, "write-tree"), "-m", strconv.Itoa(n)}
		for _, p := range parents {
			args = append(args, "-p", h.ids[p])
		}
		h.parents, h.values, h.ids = append(h.parents, parents), append(h.values, v), append(h.ids, h.git(h.dir, args...))
		h.git(h.dir, "branch", fmt.Sprintf("c%d", n), h.ids[n])
	}
	for n := range h.ids {
		h.git(h.dir, "clone", "-q", "-b", fmt.Sprintf("c%d", n), ".", filepath.Join(h.dir, ".clones", strconv.Itoa(n)))
	}
	return h
}

const orderedCDN = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
  locations: [{path: /*, action: proxy_http, upstream: o, cache: {level: standard, edgeTTL: "SECONDS", ttlTimeUnit: second}}]
  upstreams: [{name: o, scheme: https, servers: [{host: p.example.net, port: "443"}]}]
`

// apply runs apply in the clone of a commit.
func (h *ordered) apply(commit int, flags ...string) (code int, out string) {
	var stdout, stderr bytes.Buffer
	env := h.env(&stdout, &stderr)
	env.Cwd = filepath.Join(h.dir, ".clones", strconv.Itoa(commit))
	env.Now = func() time.Time { return time.Now().Add(time.Duration(h.passed.Load())) }
	code = Main(h.t.Context(), append([]string{"apply", "--auto-approve"}, flags...), env)
	return code, stdout.String() + stderr.String()
}

// head is the commit that the ledger has, or -1.
func (h *ordered) head() int {
	first, _, _ := strings.Cut(h.must(diag.ExitOK, "ledger", "export"), "\n")
	var export struct{ Genesis ledger.Genesis }
	if err := json.Unmarshal([]byte(first), &export); err != nil {
		h.t.Fatal(err)
	}
	commit := slices.Index(h.ids, export.Genesis.Head.NewestCommit())
	if commit != h.newest {
		if h.isOlder[commit] {
			h.isOlder = nil // a person went back, and what came later may come again
		}
		isOlder := map[int]bool{}
		for other := range h.ids {
			isOlder[other] = other != commit && (h.isOlder[other] || h.isBefore(other, commit))
		}
		h.isOlder, h.newest = isOlder, commit
	}
	return commit
}

func (h *ordered) live() (v [2]string) {
	for i, name := range []string{"docs", "shop"} {
		if object, err := h.server.Object("CDN", workspace.Name, name); err == nil {
			text, _ := json.Marshal(object)
			_, rest, _ := strings.Cut(string(text), `"edgeTTL":"`)
			v[i], _, _ = strings.Cut(rest, `"`)
		}
	}
	return v
}

func (h *ordered) fault(format string, args ...any) {
	h.t.Helper()
	h.t.Errorf("%s\n%s\nparents %v, values %v", fmt.Sprintf(format, args...), strings.Join(h.story, "\n"), h.parents, h.values)
}

// run is one apply of a story.
type orderedRun struct {
	commit      int
	older, skip bool
}

func (h *ordered) draw() orderedRun {
	return orderedRun{h.rand.IntN(len(h.ids)), h.rand.IntN(6) == 0, h.rand.IntN(2) == 0}
}

func (r orderedRun) flags() (flags []string) {
	if r.older {
		flags = append(flags, "--accept=older-commit")
	}
	if r.skip {
		flags = append(flags, "--skip-applied")
	}
	return flags
}

// mustRefuse is the rule: a commit that an applied one contains sends nothing.
func (h *ordered) mustRefuse(r orderedRun, recorded int) bool {
	return recorded >= 0 && r.commit != recorded && h.isOlder[r.commit] && !r.older
}

// check judges a run that nothing disturbed, and returns the commit that the ledger must have then.
func (h *ordered) check(r orderedRun, recorded, code int, out string, before [2]string) int {
	h.t.Helper()
	writes, skipped := h.writes(), strings.Contains(out, "applied already")
	switch {
	case h.mustRefuse(r, recorded):
		if code != diag.ExitStale || len(writes) > 0 || h.live() != before || !strings.Contains(out, "is older than commit") {
			h.fault("%+v is older than %d: exit %d, writes %v: %s", r, recorded, code, writes, out)
		}
		return recorded
	case code != diag.ExitOK || h.live() != h.values[r.commit]:
		h.fault("%+v after %d: exit %d, live %v: %s", r, recorded, code, h.live(), out)
	case skipped && (!r.skip || before != h.values[r.commit] || len(writes) > 0):
		h.fault("%+v was skipped: live was %v, writes %v", r, before, writes)
	}
	if h.head() != r.commit {
		h.fault("the ledger has %d after %+v", h.head(), r)
	}
	return r.commit
}

func (h *ordered) alone(r orderedRun, recorded int) int {
	h.t.Helper()
	before := h.live()
	code, out := h.apply(r.commit, r.flags()...)
	h.story = append(h.story, fmt.Sprintf("%+v: exit %d, live %v", r, code, h.live()))
	return h.check(r, recorded, code, out, before)
}

// stopped runs an apply that stops at a request, before it or after. The channels say that it stopped, with the method
// of the request, and that it ended; closing the last lets it go on.
func (h *ordered) stopped(r orderedRun) (at chan string, ended chan int, out *string, resume chan struct{}) {
	at, ended, out, resume = make(chan string, 1), make(chan int, 1), new(string), make(chan struct{})
	left, after := 1+h.rand.IntN(10), h.rand.IntN(2) == 0
	h.mu.Lock()
	h.hook = func(req *http.Request, serve func()) {
		h.mu.Lock()
		left--
		here := left == 0
		if here {
			h.hook = nil
		}
		h.mu.Unlock()
		if !here || after {
			serve()
		}
		if here {
			method := req.Method
			if after {
				method = http.MethodGet // it has arrived
			}
			at <- method
			<-resume
		}
		if here && !after {
			select {
			case <-h.over:
				panic(http.ErrAbortHandler)
			default:
				serve()
			}
		}
	}
	h.mu.Unlock()
	h.ended.Go(func() {
		code, text := h.apply(r.commit, r.flags()...)
		h.mu.Lock()
		if left > 0 {
			h.hook = nil
		}
		h.mu.Unlock()
		*out = text
		ended <- code
	})
	return at, ended, out, resume
}

// killed runs an apply that dies at a request: it does nothing any more.
func (h *ordered) killed(r orderedRun, recorded int) int {
	before := h.live()
	at, ended, out, resume := h.stopped(r)
	select {
	case code := <-ended:
		h.story = append(h.story, fmt.Sprintf("%+v: exit %d before it was killed", r, code))
		return h.check(r, recorded, code, *out, before)
	case <-at:
		go func() { <-h.over; close(resume) }()
	}
	writes, has := h.writes(), h.head()
	h.story = append(h.story, fmt.Sprintf("%+v: killed, the ledger has %d, live %v", r, has, h.live()))
	if has != recorded && has != r.commit || len(writes) > 0 && has != r.commit || h.mustRefuse(r, recorded) && len(writes) > 0 {
		h.fault("%+v was killed after %d: the ledger has %d, writes %v", r, recorded, has, writes)
	}
	return has
}

// pair runs b while a waits for an answer, or is about to send a request.
func (h *ordered) pair(a, b orderedRun, recorded int) int {
	before := h.live()
	at, ended, out, resume := h.stopped(a)
	inFlight := 0
	select {
	case code := <-ended:
		h.story = append(h.story, fmt.Sprintf("%+v: exit %d before the other began", a, code))
		return h.check(a, recorded, code, *out, before)
	case method := <-at:
		if method != http.MethodGet {
			inFlight = 1
		}
	}
	writes, aHas := h.writes(), h.head()
	if aHas != recorded && aHas != a.commit || len(writes) > 0 && aHas != a.commit {
		h.fault("%+v stopped after %d: the ledger has %d, writes %v", a, recorded, aHas, writes)
	}
	hasSent := len(writes) > 0
	before = h.live()
	codeB, outB := h.apply(b.commit, b.flags()...)
	writes = h.writes()
	bHas, liveB := h.head(), h.live()
	skipped := strings.Contains(outB, "applied already")
	switch refuse := h.mustRefuse(b, aHas); {
	case refuse && (codeB != diag.ExitStale || len(writes) > 0):
		h.fault("%+v is older than %d: exit %d: %s", b, aHas, codeB, outB)
	case skipped && before != h.values[b.commit]:
		h.fault("%+v was skipped while live was %v", b, before)
	case codeB == diag.ExitOK && (liveB != h.values[b.commit] || bHas != b.commit):
		h.fault("%+v: exit 0, live %v, the ledger has %d: %s", b, liveB, bHas, outB)
	case !refuse && !slices.Contains([]int{diag.ExitOK, diag.ExitStale, diag.ExitPartial}, codeB), bHas != aHas && bHas != b.commit:
		h.fault("%+v: exit %d, the ledger has %d: %s", b, codeB, bHas, outB)
	}
	h.passed.Add(int64(5 * time.Second))
	close(resume)
	codeA := <-ended
	writes = h.writes()
	has := h.head()
	h.story = append(h.story, fmt.Sprintf("%+v: exit %d; during it %+v: exit %d, live %v, then %v; the ledger has %d", a, codeA, b, codeB, liveB, h.live(), has))
	// A run of the recorded commit that had nothing to send ended before the other, in effect.
	isIdle := codeA == diag.ExitOK && aHas == a.commit && !hasSent && len(writes) == 0
	switch over := bHas == b.commit && b.commit != a.commit; {
	case isIdle:
	case over && aHas == a.commit && recorded != aHas && len(writes) > inFlight:
		h.fault("%+v sent %v after %+v was recorded", a, writes[inFlight:], b)
	case over && h.mustRefuse(a, bHas) && (len(writes) > inFlight || has != bHas || codeA == diag.ExitOK):
		h.fault("%+v is older than %+v, which was recorded: exit %d, writes %v, the ledger has %d: %s", a, b, codeA, writes, has, *out)
	case codeA == diag.ExitOK && h.live() != h.values[a.commit]:
		h.fault("%+v: exit 0, live %v: %s", a, h.live(), *out)
	case has != bHas && has != a.commit:
		h.fault("the ledger has %d", has)
	}
	return has
}

// TestNoOlderCommitUndoesANewerOne plays random histories: commits with merges and reverts, applies of any of them, two
// at once, and runs that are killed.
func TestNoOlderCommitUndoesANewerOne(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for range long.Times(2) {
		seed := rand.Uint64()
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { playHistory(t, seed) }) {
			return
		}
	}
}

func playHistory(t *testing.T, seed uint64) {
	h, recorded := newHistory(t, seed), -1
	for range 8 {
		if t.Failed() {
			return
		}
		switch h.rand.IntN(4) {
		case 0:
			recorded = h.killed(h.draw(), recorded)
		case 1, 2:
			recorded = h.pair(h.draw(), h.draw(), recorded)
		default:
			recorded = h.alone(h.draw(), recorded)
		}
	}
	if recorded < 0 || t.Failed() {
		return
	}
	h.passed.Add(int64(ledger.Lease))
	for range 2 {
		h.alone(orderedRun{commit: recorded, skip: true}, recorded)
	}
	if code, out := h.apply(recorded, "--skip-applied"); code != diag.ExitOK || !strings.Contains(out, "applied already") {
		h.fault("exit %d: not skipped: %s", code, out)
	}
}
