//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/blob"
	"trueup/internal/cli"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/e2e/quirks"
	"trueup/internal/sandbox"
)

// TestLiveIsAsGitSays makes random histories of a repository with eight projects: merges, reverts, manifests that
// can't be read, runs that fail or are cancelled, old jobs that run again, changes in a console, projects that are
// removed, and two runs at once. What the platform has is compared with what git's head says, by a model that knows
// nothing of trueup: each project that differs must be named by the last apply, by the plan or by drift, and no run
// brings back what an older commit said. TRUEUP_SEED is the first history.
func TestLiveIsAsGitSays(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	n, seed := long.Times(1), rand.Uint64()
	if text := os.Getenv("TRUEUP_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	var mu sync.Mutex
	sum := map[string]int{}
	t.Run("histories", func(t *testing.T) {
		for i := range n {
			t.Run(fmt.Sprint(seed+uint64(i)), func(t *testing.T) {
				t.Parallel()
				w := newFleet(t, seed+uint64(i))
				w.live()
				mu.Lock()
				defer mu.Unlock()
				for what, n := range w.count {
					sum[what] += n
				}
			})
		}
	})
	t.Logf("%d histories from seed %d: %v", n, seed, sum)
	for _, what := range []string{
		"merge", "revert", "broken", "removed", "console", "failed run", "cancelled run", "old job", "two runs",
		"green", "red", "older refused", "live differs", "live is as git says",
	} {
		if sum[what] == 0 && n >= 100 {
			t.Errorf("no history has: %s", what)
		}
	}
}

const projects = 8

// The values of a project that are no number of seconds.
const (
	broken = -1 // the manifest can't be read
	absent = 0  // git has no such project, or the platform no such CDN
)

// commit is a commit of main.
type commit struct {
	hash   string
	values [projects]int // how many seconds each project's CDN keeps answers
}

// fleetWorld is a repository, its fleet on a platform, and a model of both.
type fleetWorld struct {
	t      *testing.T
	r      *rand.Rand
	base   string // has repository, runs, ledgers and home
	server *quirks.Server
	web    *httptest.Server
	// refuses is the UUID of a workspace whose writes fail.
	refuses atomic.Pointer[string]
	main    []commit
	// newest is the newest commit of main that a run has applied to each project, -1 before the first.
	newest  [projects]int
	ledgers [projects]string // ids
	next    int              // the next value
	runs    int
	count   map[string]int
}

func newFleet(t *testing.T, seed uint64) *fleetWorld {
	w := &fleetWorld{t: t, r: rand.New(rand.NewPCG(seed, 1)), base: t.TempDir(), next: 100, count: map[string]int{}}
	now := time.Now()
	var all []sandbox.WorkspaceKey
	for p := range projects {
		all = append(all, sandbox.WorkspaceKey{Name: workspace(p), UUID: workspaceUUID(p)})
		w.newest[p] = -1
	}
	server, err := quirks.Open(sandbox.ServerOptions{Now: func() time.Time { return now }, Workspaces: all})
	if err != nil {
		t.Fatal(err)
	}
	w.server, w.web = server, httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if refuses := w.refuses.Load(); refuses != nil && in.Method != http.MethodGet && strings.Contains(in.URL.Path, *refuses) {
			http.Error(out, "the platform is tired", http.StatusInternalServerError)
			return
		}
		server.ServeHTTP(out, in)
	}))
	t.Cleanup(func() {
		w.web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	w.must(os.MkdirAll(w.path("repository"), 0o755))
	w.git("repository", "init", "-q", "-b", "main")
	var pins strings.Builder
	for p := range projects {
		fmt.Fprintf(&pins, "- {path: %s, workspace: %s, ledger: \"file:%s\"}\n", name(p), workspaceUUID(p), w.path("ledgers", name(p)))
	}
	w.write("pins.yaml", pins.String())
	w.begin()
	return w
}

func name(p int) string          { return fmt.Sprintf("team-%d", p) }
func workspace(p int) string     { return fmt.Sprintf("space-%d", p) }
func workspaceUUID(p int) string { return fmt.Sprintf("5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c%02d", p) }

func (w *fleetWorld) path(parts ...string) string {
	return filepath.Join(append([]string{w.base}, parts...)...)
}

func (w *fleetWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *fleetWorld) write(file, text string) {
	w.t.Helper()
	file = w.path(file)
	w.must(os.MkdirAll(filepath.Dir(file), 0o755))
	w.must(os.WriteFile(file, []byte(text), 0o600))
}

func (w *fleetWorld) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = w.path(dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// head is what git says now.
func (w *fleetWorld) head() commit { return w.main[len(w.main)-1] }

// merge commits the values, and returns the place of the commit in main.
func (w *fleetWorld) merge(values [projects]int) int {
	w.t.Helper()
	for p, v := range values {
		if len(w.main) > 0 && w.head().values[p] == v {
			continue
		}
		if v == absent {
			w.must(os.RemoveAll(w.path("repository", name(p))))
			continue
		}
		text := fmt.Sprintf(`apiVersion: delivery/v2.1
kind: CDN
metadata: {name: site}
spec:
  hostname: %s.example.com
  upstreams: [{name: origin, servers: [{host: origin.example.net, port: "443"}]}]
  locations: [{path: "/*", upstream: origin, cache: {edgeTTL: "%d"}}]
`, name(p), v)
		if v == broken {
			text = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: site}\nspec: {hostname: [\n"
		}
		w.write("repository/"+name(p)+"/manifests/site.yaml", text)
		w.write("repository/"+name(p)+"/trueup.yaml", fmt.Sprintf(`apiVersion: trueup/v1
kind: Project
workspace: {name: %s, uuid: %s}
manifests: [manifests]
ledger: {store: "file:ledger", id: "%s"}
`, workspace(p), workspaceUUID(p), w.ledgers[p]))
	}
	w.git("repository", "add", "-A")
	w.git("repository", "commit", "-q", "--allow-empty", "-m", fmt.Sprint("change ", len(w.main)))
	w.main = append(w.main, commit{hash: w.git("repository", "rev-parse", "HEAD"), values: values})
	return len(w.main) - 1
}

func (w *fleetWorld) value() int { w.next++; return w.next }

// begin has all projects live.
func (w *fleetWorld) begin() {
	var values [projects]int
	for p := range values {
		values[p] = w.value()
	}
	w.merge(values)
	dir := w.clone(0)
	for p := range projects {
		code, out := w.trueup(w.t.Context(), dir, "ledger", "init", "--adopt=none", "-C", name(p))
		id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(out)
		if code != 0 || id == nil {
			w.t.Fatalf("ledger init of %s: exit %d\n%s", name(p), code, out)
		}
		w.ledgers[p], values[p] = id[1], w.value()
	}
	if r := w.apply(w.merge(values)); r.code != 0 {
		w.t.Fatalf("the first apply: exit %d\n%s", r.code, r.out)
	}
}

// clone makes the work tree of a run.
func (w *fleetWorld) clone(at int) string {
	w.t.Helper()
	w.runs++
	dir := filepath.Join("runs", strconv.Itoa(w.runs))
	w.must(os.MkdirAll(w.path("runs"), 0o755))
	w.git(".", "clone", "-q", "repository", dir)
	w.git(dir, "checkout", "-q", "--detach", w.main[at].hash)
	return dir
}

func (w *fleetWorld) trueup(ctx context.Context, dir string, args ...string) (int, string) {
	var out bytes.Buffer
	env := map[string]string{
		"CI": "true", "USER": "ci", "HOME": w.path("home"), "XDG_STATE_HOME": w.path("home"), "PATH": os.Getenv("PATH"),
		"TRUEUP_DELIVERY_URL": w.web.URL + sandbox.DeliveryBase, "TRUEUP_DELIVERY_TOKEN": sandbox.DeliveryToken,
		"TRUEUP_COMPUTE_URL": w.web.URL + sandbox.ComputeBase, "TRUEUP_COMPUTE_TOKEN": sandbox.ComputeToken,
		"TRUEUP_PROJECTS": w.path("pins.yaml"), "TRUEUP_DISK_IS_KEPT": "true",
	}
	code := cli.Main(ctx, args, config.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Cwd: w.path(dir),
		Getenv: func(name string) string { return env[name] },
		Now:    time.Now,
		Sleep:  func(ctx context.Context, d time.Duration) error { return blob.Sleep(ctx, d/500) },
		Retry:  api.RetryPolicy{Initial: time.Millisecond, Max: time.Millisecond, MaxRetryAfter: time.Second, Second: time.Millisecond},
	})
	return code, out.String()
}

// ended is how a run ended.
type ended struct {
	at   int // the commit
	code int
	out  string
}

// names reports whether the output names the project.
func names(out string, p int) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name(p)) + `\b`).MatchString(out)
}

// apply runs what a pipeline runs after a merge.
func (w *fleetWorld) apply(at int) ended {
	return w.applyUntil(w.t.Context(), w.clone(at), at)
}

func (w *fleetWorld) applyUntil(ctx context.Context, dir string, at int) ended {
	code, out := w.trueup(ctx, dir, "each", "--results", w.path(dir+"-results"), "--", "apply", "--auto-approve")
	return ended{at: at, code: code, out: out}
}

// onPlatform returns the value of each project that is live.
func (w *fleetWorld) onPlatform() (live [projects]int) {
	w.t.Helper()
	for p := range live {
		o, err := w.server.Object("CDN", workspace(p), "site")
		w.must(err)
		if o == nil {
			continue
		}
		text, err := json.Marshal(o["spec"])
		w.must(err)
		m := regexp.MustCompile(`"edgeTTL":"(\d+)"`).FindSubmatch(text)
		if m == nil {
			w.t.Fatalf("%s has no edgeTTL: %s", name(p), text)
		}
		live[p], err = strconv.Atoi(string(m[1]))
		w.must(err)
	}
	return live
}

// live makes and checks a history.
func (w *fleetWorld) live() {
	for p := range w.newest {
		w.newest[p] = 1
	}
	for range 4 + w.r.IntN(6) {
		w.step()
		if w.t.Failed() {
			return
		}
	}
	w.check(w.run(len(w.main) - 1))
}

// step does one of what happens to a repository or its fleet.
func (w *fleetWorld) step() {
	values := w.head().values
	switch w.r.IntN(10) {
	case 0, 1, 2:
		w.count["merge"]++
		w.change(&values)
		w.merge(values)
		w.runSomehow(len(w.main) - 1)
	case 3:
		w.count["revert"]++
		w.merge(w.main[max(0, len(w.main)-2)].values)
		w.runSomehow(len(w.main) - 1)
	case 4:
		w.count["broken"]++
		w.change(&values)
		values[w.r.IntN(projects)] = broken
		w.merge(values)
		w.runSomehow(len(w.main) - 1)
	case 5:
		w.count["removed"]++
		values[w.r.IntN(projects)] = absent
		w.merge(values)
		w.runSomehow(len(w.main) - 1)
	case 6:
		w.count["console"]++
		w.changeInConsole(w.r.IntN(projects))
	case 7:
		w.count["old job"]++
		w.run(w.r.IntN(len(w.main)))
	case 8:
		w.count["two runs"]++
		w.change(&values)
		w.merge(values)
		w.runBoth(len(w.main)-2, len(w.main)-1)
	case 9: // a merge whose job never starts
		w.change(&values)
		w.merge(values)
	}
}

func (w *fleetWorld) change(values *[projects]int) {
	for range 1 + w.r.IntN(3) {
		values[w.r.IntN(projects)] = w.value()
	}
}

func (w *fleetWorld) changeInConsole(p int) {
	o, err := w.server.Object("CDN", workspace(p), "site")
	w.must(err)
	if o == nil {
		return
	}
	text, err := json.Marshal(o)
	w.must(err)
	text = regexp.MustCompile(`"edgeTTL":"\d+"`).ReplaceAll(text, []byte(fmt.Sprintf(`"edgeTTL":"%d"`, w.value())))
	w.must(w.server.LoadSeed(text))
}

// runSomehow runs a pipeline that may meet errors of the platform or be cancelled, or has a green end.
func (w *fleetWorld) runSomehow(at int) {
	before := w.onPlatform()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	switch w.r.IntN(4) {
	case 0:
		w.count["failed run"]++
		id := workspaceUUID(w.r.IntN(projects))
		w.refuses.Store(&id)
		defer w.refuses.Store(nil)
	case 1:
		w.count["cancelled run"]++
		var left atomic.Int64
		left.Store(int64(w.r.IntN(30)))
		w.server.OnRequest(func(string, string) {
			if left.Add(-1) < 0 {
				cancel()
			}
		})
		defer w.server.OnRequest(nil)
	}
	w.judge(before, w.applyUntil(ctx, w.clone(at), at))
}

func (w *fleetWorld) run(at int) ended {
	before := w.onPlatform()
	r := w.apply(at)
	w.judge(before, r)
	return r
}

// runBoth runs the pipelines of two commits at once.
func (w *fleetWorld) runBoth(older, newer int) {
	before := w.onPlatform()
	dirs := [2]string{w.clone(older), w.clone(newer)}
	var ends [2]ended
	var both sync.WaitGroup
	for i, at := range []int{older, newer} {
		both.Go(func() { ends[i] = w.applyUntil(w.t.Context(), dirs[i], at) })
	}
	both.Wait()
	w.judge(before, ends[0], ends[1])
}

// judge asserts what runs have done: each project is as it was, or as one of their commits says; and a commit that is
// older than what was applied changes nothing.
func (w *fleetWorld) judge(before [projects]int, runs ...ended) {
	w.t.Helper()
	after := w.onPlatform()
	for p := range projects {
		may := []int{before[p]}
		for _, r := range runs {
			if v := w.main[r.at].values[p]; r.at >= w.newest[p] && v > 0 {
				may = append(may, v)
			}
		}
		if !slices.Contains(may, after[p]) {
			w.t.Errorf("%s was %d, is %d after %s; the newest commit applied is %d", name(p), before[p], after[p], w.describe(runs), w.newest[p])
		}
	}
	for _, r := range runs {
		w.count[map[bool]string{true: "green", false: "red"}[r.code == 0]]++
		if strings.Contains(r.out, "older") {
			w.count["older refused"]++
		}
		for p := range projects {
			if w.main[r.at].values[p] > 0 && after[p] == w.main[r.at].values[p] {
				w.newest[p] = max(w.newest[p], r.at)
			}
		}
	}
}

func (w *fleetWorld) describe(runs []ended) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("apply of commit %d (%v) with exit %d:\n%s", r.at, w.main[r.at].values, r.code, r.out))
	}
	return strings.Join(all, "\nand ")
}

// check asserts that what live has otherwise than git is named.
func (w *fleetWorld) check(last ended) {
	w.t.Helper()
	live, differs := w.onPlatform(), map[int]bool{}
	for p, v := range w.head().values {
		if v != live[p] {
			differs[p] = true
		}
	}
	w.count[map[bool]string{true: "live is as git says", false: "live differs"}[len(differs) == 0]]++
	dir := w.clone(len(w.main) - 1)
	results := w.path(dir + "-results")
	code, drift := w.trueup(w.t.Context(), dir, "each", "--results", results, "--", "drift")
	_, comment := w.trueup(w.t.Context(), dir, "show", results)
	now := w.head().values
	isRemoved := slices.Contains(now[:], absent)
	if isRemoved && code == diag.ExitOK {
		w.t.Errorf("a project is removed, and drift ends with 0\n%s", drift)
	}
	for _, p := range slices.Sorted(maps.Keys(differs)) {
		switch {
		case w.head().values[p] == absent && names(drift, p): // git says nothing that could be applied
		case code != diag.ExitOK && (names(drift, p) || names(comment, p)):
		case last.code != diag.ExitOK && names(last.out, p):
		default:
			w.t.Errorf("%s is %d, and git says %d: drift ended with %d, the last apply with %d\n%s\n%s", name(p), live[p], w.head().values[p], code, last.code, drift, last.out)
		}
	}
	if len(differs) == 0 && (code != diag.ExitOK && !isRemoved || last.code != diag.ExitOK) {
		w.t.Errorf("nothing differs, and drift ends with %d, the last apply with %d\n%s\n%s", code, last.code, drift, last.out)
	}
}
