package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/e2e/quirks"
	"trueup/internal/sandbox"
)

// stage is a project in a folder of its own, beside a platform of its own.
type stage struct {
	t      *testing.T
	dir    string
	server *quirks.Server
	vars   map[string]string
	// passed is how much time has passed for program and platform.
	passed time.Duration
	// wire is what runs hang on; nil never breaks.
	wire atomic.Pointer[wire]
	// serving is held for reading while a request is answered.
	serving sync.RWMutex
}

// canary is in every token, and must be in no byte that a run writes.
const canary = "canary-5f2c9a"

// workspace is what the corpus names in its manifests.
var workspace = sandbox.WorkspaceKey{Name: "web-platform", UUID: "3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90"}

func newStage(t *testing.T, named ...string) *stage {
	t.Helper()
	server, err := quirks.Open(sandbox.ServerOptions{
		Now: time.Now, Quirks: named, Workspaces: []sandbox.WorkspaceKey{workspace},
		Tokens: map[string][]string{
			canary + "-dlv":     {sandbox.RoleCDNAdmin, sandbox.RolePurger},
			canary + "-compute": {sandbox.RoleComputeAdmin},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, dir: t.TempDir(), server: server}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	s.vars = map[string]string{
		"TRUEUP_DELIVERY_URL":   web.URL + sandbox.DeliveryBase,
		"TRUEUP_DELIVERY_TOKEN": canary + "-dlv",
		"TRUEUP_COMPUTE_URL":    web.URL + sandbox.ComputeBase,
		"TRUEUP_COMPUTE_TOKEN":  canary + "-compute",
	}
	t.Cleanup(s.noCanary)
	s.project("")
	_, out, _ := s.run("ledger", "init")
	_, id, ok := strings.Cut(out, "id: ")
	if !ok {
		t.Fatalf("ledger init printed no id: %s", out)
	}
	s.project(strings.TrimRight(id, "}\n"))
	return s
}

// project writes trueup.yaml; more is added to it as it stands.
func (s *stage) project(id string, more ...string) {
	s.without()
	s.more(fmt.Sprintf("ledger: {store: \"file:ledger\", id: %q}\n", id) + strings.Join(more, ""))
}

// without takes the ledger out of the project: what is done then is bound to no
// address.
func (s *stage) without() {
	s.write("trueup.yaml", fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: %s, uuid: %s}\nmanifests: [manifests]\n",
		workspace.Name, workspace.UUID))
}

// more adds to trueup.yaml as it stands.
func (s *stage) more(text string) {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "trueup.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("trueup.yaml", string(content)+text)
}

func (s *stage) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command in the project; waiting costs no time.
func (s *stage) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	code = Main(s.t.Context(), args, s.env(&out, &errs))
	if strings.Contains(out.String()+errs.String(), canary) {
		s.t.Errorf("trueup %s printed a token", strings.Join(args, " "))
	}
	return code, out.String(), errs.String()
}

// env is that of a run whose waiting costs no time.
func (s *stage) env(out, errs io.Writer) config.Env {
	return config.Env{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: errs,
		Getenv: func(name string) string { return s.vars[name] },
		Now:    func() time.Time { return time.Now().Add(s.passed) },
		Sleep:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Retry:  api.RetryPolicy{Initial: time.Millisecond, Max: time.Millisecond, MaxRetryAfter: 60 * time.Millisecond, Second: time.Millisecond},
		Cwd:    s.dir,
	}
}

// noCanary asserts that no file of the project holds a token. git, which tidies up
// behind its commands, may take one away meanwhile.
func (s *stage) noCanary() {
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var content []byte
			content, err = os.ReadFile(path)
			if bytes.Contains(content, []byte(canary)) {
				s.t.Errorf("%s holds a token", path)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// must runs a command that has to end with the code.
func (s *stage) must(code int, args ...string) string {
	s.t.Helper()
	got, stdout, stderr := s.run(args...)
	if got != code {
		s.t.Fatalf("trueup %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout
}

// writes returns what was sent since the last call, but for GETs.
func (s *stage) writes() []sandbox.LoggedRequest {
	s.t.Helper()
	all, err := s.server.Requests()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.ResetRequests(); err != nil {
		s.t.Fatal(err)
	}
	var writes []sandbox.LoggedRequest
	for _, r := range all {
		if r.Method != "GET" {
			writes = append(writes, r)
		}
	}
	return writes
}

// decoded reads JSON as a tree.
func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
