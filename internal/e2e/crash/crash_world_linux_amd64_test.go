package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/quirks"
	"trueup/internal/e2e/servers"
	"trueup/internal/sandbox"
)

// lease is how long a claim is taken for one that somebody still works on
// (docs/design.md A3).
const lease = 10 * time.Minute

// crashWorld is a platform and a project whose runs are processes of the program
// as it is built for users.
type crashWorld struct {
	t       testing.TB
	program string
	// base holds project, home, tmp and, for a ledger in git, remote.git.
	base   string
	server *quirks.Server
	web    *httptest.Server
	env    []string
	// proven says that the platform was seen to refuse duplicates.
	proven bool

	mu   sync.Mutex
	open map[net.Conn]bool
	idle *sync.Cond
}

const crashPurges = `apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-42}
spec: {hostname: shop.example.com, paths: [/index.html]}
---
apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-43}
spec: {hostname: shop.example.com, paths: [/sale/*]}
`

const crashManifests = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
  locations: [{path: /*, action: proxy_http, upstream: origin}]
  upstreams: [{name: origin, scheme: https, servers: [{host: a.example.net, port: "443", weight: "1"}]}]
---
` + crashPurges + `---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: db-2026-11-21, namespace: ` + sandbox.WorkspaceName + `}
spec:
  source: {persistentVolumeClaimName: db-data}
  volumeSnapshotClassName: general-purpose
`

// once are the objects of crashManifests that are made at most once.
func once() []string { return []string{"Purge/rel-42", "Purge/rel-43", "VolumeSnapshot/db-2026-11-21"} }

// newCrashWorld makes a project whose ledger is in the named store, with nothing
// applied yet.
func newCrashWorld(t testing.TB, program, store string) *crashWorld {
	t.Helper()
	w := newPlatform(t, program, nil)
	w.env = append(w.env, "TRUEUP_PARALLELISM=1") // so that each run makes the same calls
	w.write("project/manifests/all.yaml", crashManifests)
	switch scheme, _, _ := strings.Cut(store, ":"); scheme {
	case "file":
	case "git":
		w.repository()
	default:
		// Only whoever runs the program may say where a bucket's server is.
		w.env = append(append(w.env, "TRUEUP_LEDGER="+store), servers.Environ()...)
		store, _, _ = strings.Cut(store, "?")
	}
	w.project(store, "")
	return w
}

// newPlatform makes a platform with these workspaces, or the default one, and empty folders.
func newPlatform(t testing.TB, program string, workspaces []sandbox.WorkspaceKey) *crashWorld {
	t.Helper()
	w := &crashWorld{t: t, program: program, base: tempDir(t), open: map[net.Conn]bool{}}
	w.idle = sync.NewCond(&w.mu)
	now := time.Now()
	var err error
	// As long as nobody has seen it refuse one, a platform may execute duplicates.
	w.server, err = quirks.Open(sandbox.ServerOptions{
		Now: func() time.Time { return now }, Quirks: []string{"executes-duplicates"}, Workspaces: workspaces,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.web = httptest.NewUnstartedServer(w.server)
	w.web.Config.ConnState = w.connState
	w.web.Start()
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "USER=tester", "HOME=" + w.path("home"), "TMPDIR=" + w.path("tmp"),
		"TRUEUP_DELIVERY_URL=" + w.web.URL + sandbox.DeliveryBase, "TRUEUP_DELIVERY_TOKEN=" + sandbox.DeliveryToken,
		"TRUEUP_COMPUTE_URL=" + w.web.URL + sandbox.ComputeBase, "TRUEUP_COMPUTE_TOKEN=" + sandbox.ComputeToken,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	for _, dir := range []string{"home", "tmp", "project/manifests"} {
		if err := os.MkdirAll(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// close ends the platform, and with it what still talks to it.
func (w *crashWorld) close() {
	if err := w.server.Close(); err != nil {
		w.t.Errorf("close the sandbox: %v", err)
	}
	w.web.CloseClientConnections()
	w.web.Close()
	if err := os.RemoveAll(w.base); err != nil {
		w.t.Errorf("remove the world: %v", err)
	}
}

// tempDir is a folder that the world removes itself, so that hundreds of them do
// not wait for the end of the test.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "world")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *crashWorld) path(name string) string { return filepath.Join(w.base, filepath.FromSlash(name)) }

func (w *crashWorld) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// project writes trueup.yaml, and makes the ledger.
func (w *crashWorld) project(store, more string) {
	w.t.Helper()
	w.projectIn("project", store, harness.ProjectText+more)
}

// projectIn does so in a folder. The text's ledger is "file:ledger", which it replaces.
func (w *crashWorld) projectIn(dir, store, text string) {
	w.t.Helper()
	text = strings.Replace(text, `"file:ledger"`, fmt.Sprintf("%q", store), 1)
	w.write(dir+"/trueup.yaml", text)
	code, out := w.run("ledger", "init", "--adopt=none", "-C", w.path(dir))
	id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(out)
	if code != 0 || id == nil {
		w.t.Fatalf("ledger init: exit %d\n%s", code, out)
	}
	w.write(dir+"/trueup.yaml", strings.Replace(text, fmt.Sprintf("%q", store), fmt.Sprintf("%q, id: %s", store, id[1]), 1))
}

// prove shows that the platform refuses duplicates; its CDN is live then.
func (w *crashWorld) prove() {
	w.t.Helper()
	if err := w.server.SetQuirks(); err != nil {
		w.t.Fatal(err)
	}
	for _, args := range [][]string{apply("--target", "CDN/shop"), {"doctor", "--probe-duplicates", "shop.example.com", "--auto-approve"}} {
		if code, out := w.run(args...); code != 0 {
			w.t.Fatalf("trueup %v: exit %d\n%s", args, code, out)
		}
	}
	w.proven = true
}

// repository makes the project a clone of a remote of its own.
func (w *crashWorld) repository() {
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", w.path("remote.git")},
		{"init", "-q", "-b", "main", w.path("project")},
		{"-C", w.path("project"), "remote", "add", "origin", "file://" + w.path("remote.git")},
		{"-C", w.path("project"), "add", "."},
		{"-C", w.path("project"), "commit", "-q", "--allow-empty", "-m", "start"},
		{"-C", w.path("project"), "push", "-q", "origin", "main"},
	} {
		cmd := exec.CommandContext(w.t.Context(), "git", args...)
		cmd.Env = w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// command is a run of the program in the project.
func (w *crashWorld) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), w.program, args...)
	cmd.Dir, cmd.Env = w.path("project"), w.env
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// run runs the program to its end and returns its exit code and what it printed.
func (w *crashWorld) run(args ...string) (int, string) {
	w.t.Helper()
	cmd, out := w.command(args...)
	return exitCode(w.t, cmd.Run()), out.String()
}

// killed is the exit code of a program that was killed.
const killed = -1

func exitCode(t testing.TB, err error) int {
	t.Helper()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return failed.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// apply is the run that every test is about.
func apply(more ...string) []string {
	return append([]string{"apply", "--auto-approve"}, more...)
}

// roots are the folders below which a file is durable.
func (w *crashWorld) roots() []string {
	return []string{w.path("project"), w.path("home"), w.path("remote.git")}
}

// held runs the program under a rule for its calls.
func (w *crashWorld) held(rule func(heldCall) fate, args ...string) (int, string) {
	w.t.Helper()
	cmd, out := w.command(args...)
	return exitCode(w.t, runHeld(w.t, cmd, w.roots(), rule)), out.String()
}

// connState counts the connections that are open.
func (w *crashWorld) connState(c net.Conn, state http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(w.open, c)
	} else {
		w.open[c] = true
	}
	w.idle.Broadcast()
}

// settle returns when the platform has done all that dead processes sent: it
// takes connections in the order in which they came, so that after one of ours
// there is none that it does not know.
func (w *crashWorld) settle() {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.web.URL+sandbox.ControlBase+"clock", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Close = true
	resp, err := w.web.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.open) > 0 {
		w.idle.Wait()
	}
}

// advance moves the platform's clock; the program takes the later of it and its own.
func (w *crashWorld) advance(d time.Duration) {
	w.t.Helper()
	if err := w.server.Advance(d); err != nil {
		w.t.Fatal(err)
	}
}

// made is how often each of once was carried out.
func (w *crashWorld) made() map[string]int {
	w.t.Helper()
	purges, err := w.server.CountExecutedPurges()
	if err != nil {
		w.t.Fatal(err)
	}
	requests, err := w.server.Requests()
	if err != nil {
		w.t.Fatal(err)
	}
	made := map[string]int{}
	for name, n := range purges {
		made["Purge/"+name] = n
	}
	for _, name := range once() {
		kind, plain, _ := strings.Cut(name, "/")
		if kind == "Purge" {
			continue
		}
		obj, err := w.server.Object(kind, sandbox.WorkspaceName, plain)
		if err != nil {
			w.t.Fatal(err)
		}
		if obj != nil {
			made[name] = 1
		}
		// More than one could only be made if the first was refused or deleted.
		taken := slices.Collect(func(yield func(int) bool) {
			for i, r := range requests {
				if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/volumesnapshots") && r.Status == http.StatusCreated && !yield(i) {
					return
				}
			}
		})
		made[name] = max(made[name], len(taken))
	}
	return made
}

// listed is a record of ledger ls.
type listed struct {
	Kind, Name, State string
	Applied           map[string]any
	Outcome           struct{ How string }
}

func (w *crashWorld) records() []listed {
	w.t.Helper()
	cmd, _ := w.command("ledger", "ls", "-o", "json")
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		w.t.Errorf("ledger ls: %v", err)
		return nil
	}
	var list struct{ Records []listed }
	if err := json.Unmarshal(out, &list); err != nil {
		w.t.Errorf("ledger ls: %v in %s", err, out)
	}
	return list.Records
}
