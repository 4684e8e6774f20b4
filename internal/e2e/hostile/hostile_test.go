//go:build linux

package hostile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"trueup/internal/api"
	"trueup/internal/cli"
	"trueup/internal/config"
	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/quirks"
	"trueup/internal/sandbox"
)

// hostileCase is a known fault of such programs.
type hostileCase struct {
	slug  string
	holds string // what prevents it, as Markdown with ' for `
	run   func(p *place)
}

// TestHostile runs every case against the whole program, and holds
// docs/reference/attacks.md to them; -update writes it.
func TestHostile(t *testing.T) {
	t.Parallel()
	cases := slices.Concat(hostileInput(), hostileOutput(), hostilePlans(), hostileRuns(), hostileNetwork(), hostileProcess())
	var page strings.Builder
	page.WriteString("# Attacks and faults\n\n<!-- written by go test ./internal/e2e/hostile -run TestHostile -update -->\n\n" +
		"Known faults of such programs, and what prevents each. " +
		"Each has a test: `go test ./internal/e2e/hostile -run TestHostile/CASE`.\n\n| case | what holds |\n|---|---|\n")
	for _, c := range cases {
		fmt.Fprintf(&page, "| `%s` | %s |\n", c.slug, regexp.MustCompile(`'(\S[^']*\S)'`).ReplaceAllString(c.holds, "`$1`"))
		t.Run(c.slug, func(t *testing.T) {
			t.Parallel()
			c.run(newPlace(t))
		})
	}
	file := filepath.Join("docs", "reference", "attacks.md")
	if *harness.Update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if harness.ReadText(t, file) != page.String() {
		t.Errorf("%s is out of date: go test ./internal/e2e/hostile -run TestHostile -update", file)
	}
}

// TestSecurityNamesTests: each test and script that the pages about guarantees name exists.
func TestSecurityNamesTests(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, pattern := range []string{filepath.Join("internal", "*", "*_test.go"), filepath.Join("internal", "e2e", "*", "*_test.go")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source.WriteString(harness.ReadText(t, file))
		}
	}
	text := ""
	for _, page := range []string{"security.md", "life-of-a-change.md", filepath.Join("reference", "attacks.md")} {
		text += harness.ReadText(t, filepath.Join("docs", page))
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)[`/]").FindAllStringSubmatch(text, -1)
	for _, m := range named {
		if !strings.Contains(source.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("the pages about guarantees name %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?s)\([^()]*\)`).FindAllString(text, -1) {
		for _, script := range regexp.MustCompile("`([a-z]+(?:-[a-z0-9]+){2,})`").FindAllStringSubmatch(m, -1) {
			if files, err := filepath.Glob(filepath.Join("internal", "e2e", "*", "testdata", script[1]+".txtar")); err != nil || len(files) == 0 {
				t.Errorf("the pages about guarantees name %s, which is no script", script[1])
			}
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
}

// place is a project in a folder of its own, with a platform of its own.
type place struct {
	*testing.T
	dir    string
	server *quirks.Server
	base   string
	vars   map[string]string
	// passed is how far the program's clock is moved.
	passed time.Duration
	stdin  io.Reader
	// tamper sees each request first; true means that it has answered.
	tamper atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newPlace(t *testing.T) *place {
	t.Helper()
	server, err := quirks.Open(sandbox.ServerOptions{Now: time.Now, Tokens: map[string][]string{
		harness.Canary + "-dlv":     {sandbox.RoleCDNAdmin, sandbox.RolePurger},
		harness.Canary + "-compute": {sandbox.RoleComputeAdmin},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t, dir: t.TempDir(), server: server, stdin: strings.NewReader("")}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tamper := p.tamper.Load(); tamper == nil || !(*tamper)(w, r) {
			server.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
		harness.FindCanary(t, p.dir)
	})
	p.base = web.URL
	p.vars = map[string]string{
		"TRUEUP_DELIVERY_URL":   web.URL + sandbox.DeliveryBase,
		"TRUEUP_DELIVERY_TOKEN": harness.Canary + "-dlv",
		"TRUEUP_COMPUTE_URL":    web.URL + sandbox.ComputeBase,
		"TRUEUP_COMPUTE_TOKEN":  harness.Canary + "-compute",
		"XDG_STATE_HOME":        filepath.Join(p.dir, ".state"),
	}
	p.write("trueup.yaml", harness.ProjectText)
	out := p.must(0, "ledger", "init", "--adopt=none")
	id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(out)
	if id == nil {
		t.Fatal(out)
	}
	p.write("trueup.yaml", strings.Replace(harness.ProjectText, `"file:ledger"`, `"file:ledger", id: `+id[1], 1))
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *place) write(name, content string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.Helper()
	return harness.ReadText(p.T, p.path(name))
}

// limit is how long a run may take, however slow the machine: what hangs never
// ends.
const limit = 90 * time.Second

// run runs the program, and holds what is true of every run: it ends, it prints
// no token, and nothing that a terminal or a workflow runner obeys.
func (p *place) run(args ...string) (int, string) {
	p.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	defer cancel()
	code := cli.Main(ctx, args, p.env(&out))
	if ctx.Err() != nil {
		p.Fatalf("trueup %s did not end", strings.Join(args, " "))
	}
	harmless(p.T, out.String())
	return code, out.String()
}

func (p *place) env(out io.Writer) config.Env {
	return config.Env{
		Stdin: p.stdin, Stdout: out, Stderr: out, Cwd: p.dir,
		Getenv: func(name string) string { return p.vars[name] },
		Now:    func() time.Time { return time.Now().Add(p.passed) },
		Sleep:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Retry:  api.RetryPolicy{Initial: time.Millisecond, Max: time.Millisecond, MaxRetryAfter: 20 * time.Millisecond},
	}
}

// must runs the program, which has to end with the code.
func (p *place) must(code int, args ...string) string {
	p.Helper()
	got, out := p.run(args...)
	if got != code {
		p.Fatalf("trueup %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// says runs the program, which has to end with the code and print the texts.
func (p *place) says(code int, args []string, texts ...string) {
	p.Helper()
	out := p.must(code, args...)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			p.Errorf("trueup %s does not say %q:\n%.3000s", strings.Join(args, " "), text, out)
		}
	}
}

// fault puts faults in the platform's way.
func (p *place) fault(rules ...string) {
	p.Helper()
	if err := p.server.AddFaults(rules...); err != nil {
		p.Fatal(err)
	}
}

// live makes or replaces live objects, as another client would.
func (p *place) live(manifest string) {
	p.Helper()
	if err := p.server.LoadSeed([]byte(manifest)); err != nil {
		p.Fatal(err)
	}
}

// intercept answers requests before the platform sees them; nil ends that.
func (p *place) intercept(f func(http.ResponseWriter, *http.Request) bool) { p.tamper.Store(&f) }

// sent returns method and path of each write since the last call.
func (p *place) sent() []string {
	p.Helper()
	all, err := p.server.Requests()
	if err != nil {
		p.Fatal(err)
	}
	if err := p.server.ResetRequests(); err != nil {
		p.Fatal(err)
	}
	var writes []string
	for _, r := range all {
		if r.Method != http.MethodGet {
			writes = append(writes, r.Method+" "+r.Path[strings.LastIndexByte(r.Path, '/')+1:])
		}
	}
	return writes
}

// nothingSent asserts that no write was sent since the last look.
func (p *place) nothingSent() {
	p.Helper()
	if sent := p.sent(); len(sent) > 0 {
		p.Errorf("sent were %q", sent)
	}
}

// executed asserts how often a purge was carried out.
func (p *place) executed(name string, want int) {
	p.Helper()
	all, err := p.server.CountExecutedPurges()
	if err != nil {
		p.Fatal(err)
	}
	if all[name] != want {
		p.Errorf("%s was executed %d times, want %d", name, all[name], want)
	}
}

// listener is an address that nobody may connect to.
func (p *place) listener() string {
	p.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.Errorf("somebody connected to %s", l.Addr())
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// harmless asserts what is true of everything that is printed.
func harmless(t *testing.T, out string) {
	t.Helper()
	if strings.Contains(out, harness.Canary) {
		t.Error("a token is printed")
	}
	if !utf8.ValidString(out) {
		t.Errorf("not UTF-8: %.2000q", out)
	}
	for _, r := range out {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)) {
			t.Errorf("%U is printed: %.2000q", r, out)
			break
		}
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			t.Errorf("a workflow command is printed: %.300q", line)
		}
	}
}

// cdnOf is a manifest of a CDN; more are lines of its spec, indented by two.
func cdnOf(name, more string) string {
	return fmt.Sprintf(`apiVersion: delivery/v2.1
kind: CDN
metadata: {name: %s}
spec:
  hostname: %s.example.com
  locations: [{path: /*, action: proxy_http, upstream: origin}]
  upstreams: [{name: origin, scheme: https, servers: [{host: a.example.net, port: "443", weight: "1"}]}]
%s`, name, name, more)
}

func purgeNamed(name, path string) string {
	return fmt.Sprintf("apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: %s}\nspec: {hostname: shop.example.com, paths: [%s]}\n", name, path)
}

func snapshotNamed(name string) string {
	return fmt.Sprintf("apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: %s, namespace: acme}\n"+
		"spec: {volumeSnapshotClassName: general-purpose, source: {persistentVolumeClaimName: db}}\n", name)
}

func TestMain(m *testing.M) { harness.RunMain(m, nil) }
