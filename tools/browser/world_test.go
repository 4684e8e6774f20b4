package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// world is a repository in which there is something of everything that a plan
// can say, and the embedded platform that it speaks of.
type world struct {
	testing.TB
	dir  string
	vars []string // of the environment
}

// newWorld makes the examples true on the platform, changes live behind git's
// back, merges a change that is never applied, and leaves a branch to be looked
// at.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, dir: filepath.Join(t.TempDir(), "acme")}
	if err := os.CopyFS(filepath.Join(w.dir, "manifests"), os.DirFS(filepath.Join(root(t), "examples", "manifests"))); err != nil {
		t.Fatal(err)
	}
	w.move("manifests/docs.yaml", "later/docs.yaml")
	w.move("manifests/purges/docs-launch.yaml", "later/docs-launch.yaml")
	w.git("init", "-q", "-b", "main")
	w.commit("The shop as it is")
	w.trueup(0, "apply", "manifests", "--sandbox", "--auto-approve")
	w.meddle()

	w.edit("manifests/shop.yaml", `port: "443", weight: "3"}`, `port: "443", weight: "2"}`)
	w.commit("Less for the first server")

	w.git("switch", "-q", "-c", "launch")
	w.move("later/docs.yaml", "manifests/docs.yaml")
	w.move("later/docs-launch.yaml", "manifests/purges/docs-launch.yaml")
	w.edit("manifests/shop.yaml", `edgeTTL: "604800"`, `edgeTTL: "86400"`)
	w.edit("manifests/shop.yaml", "Authorization, Content-Type\n", "Authorization, Content-Type, X-Request-Id\n")
	w.edit("manifests/shop.yaml", "period: 60\n            penalty_period: 300", "period: 30\n            penalty_period: 300")
	w.edit("manifests/shop.yaml", "      cache:\n        level: standard\n        edgeTTL: \"60\"\n", "      cache:\n        level: standard\n        edgeTTL: \"30\"\n")
	w.edit("manifests/shop.yaml", "        detectDevice: \"true\"\n", "")
	w.write("manifests/blog.yaml", blog)
	w.write("manifests/purges/rel-43.yaml", release)
	w.commit("Launch of the documentation")
	return w
}

// blog takes an object into git that has more in live.
const blog = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: legacy-blog}
spec:
  hostname: blog.example.com
  locations:
    - path: /feed/*
      action: proxy_http
      upstream: wordpress
      cache: {level: standard, edgeTTL: "60", ttlTimeUnit: second}
      headers: {}
      rewrite: {}
`

const release = `apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-43}
spec:
  hostname: shop.example.com
  paths: [/, /index.html, /offers, /static/*]
`

// thousand writes a project of a thousand objects.
func thousand(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, dir: filepath.Join(t.TempDir(), "acme")}
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "---\napiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: site-%04d}\nspec:\n  hostname: site-%04d.example.com\n", i, i)
		b.WriteString("  upstreams: [{name: origin, scheme: https, preferredHealthCheckVersion: \"2\", smartRouting: \"false\", hc2: {protocol: tcp}, servers: [{host: origin.example.com, port: \"443\", weight: \"1\"}]}]\n")
		b.WriteString("  locations: [{path: /*, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: \"60\", ttlTimeUnit: second}, headers: {}, rewrite: {}}]\n")
		b.WriteString("  tls: {enabled: \"true\", auto: \"true\", forced: \"true\"}\n")
	}
	w.write("manifests/all.yaml", b.String())
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

func (w *world) move(from, to string) {
	w.Helper()
	w.write(to, w.read(from))
	if err := os.Remove(w.path(from)); err != nil {
		w.Fatal(err)
	}
}

// edit replaces the one place where a file says before.
func (w *world) edit(name, before, after string) {
	w.Helper()
	text := w.read(name)
	if strings.Count(text, before) != 1 {
		w.Fatalf("%s says %q %d times", name, before, strings.Count(text, before))
	}
	w.write(name, strings.Replace(text, before, after, 1))
}

// environment has nothing of the machine's own settings, and a clock for
// commits, so that their ids are the same in each run.
func (w *world) environment() []string {
	const when = "2026-11-21T09:00:00Z"
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "XDG_STATE_HOME=" + w.path(".state"), "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=you", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=you", "GIT_COMMITTER_EMAIL=you@example.com",
		"GIT_AUTHOR_DATE=" + when, "GIT_COMMITTER_DATE=" + when,
	}, w.vars...)
}

func (w *world) git(args ...string) {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (w *world) commit(message string) {
	w.Helper()
	w.git("add", "manifests")
	w.git("commit", "-q", "-m", message)
}

// trueup runs the program, which has to end with the code.
func (w *world) trueup(code int, args ...string) string {
	w.Helper()
	cmd := exec.Command(program(w), args...)
	cmd.Dir, cmd.Env = w.dir, w.environment()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		w.Fatalf("trueup %s: %v, want exit code %d\n%s", strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

// report runs the program and returns the file of its report.
func (w *world) report(format string, args ...string) string {
	w.Helper()
	name := "report." + format
	cmd := exec.Command(program(w), append(args, "--report", format+"="+name)...)
	cmd.Dir, cmd.Env = w.dir, w.environment()
	out, err := cmd.CombinedOutput()
	if _, gone := os.Stat(w.path(name)); gone != nil {
		w.Fatalf("trueup %s wrote no report: %v\n%s", strings.Join(args, " "), err, out)
	}
	return w.path(name)
}

// meddle changes live as somebody at the console would: one field that git does
// not touch, and one that it does.
func (w *world) meddle() {
	w.Helper()
	cmd := exec.Command(program(w), "sandbox", "--listen", "127.0.0.1:0")
	cmd.Dir, cmd.Env = w.dir, w.environment()
	said := &watched{seen: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it ends as it was told to
	}()
	variables := <-said.seen
	base := regexp.MustCompile(`TRUEUP_DELIVERY_URL=(\S+)`).FindStringSubmatch(variables)
	token := regexp.MustCompile(`TRUEUP_DELIVERY_TOKEN=(\S+)`).FindStringSubmatch(variables)
	if base == nil || token == nil {
		w.Fatalf("the sandbox does not say where it is:\n%s", variables)
	}
	cdn := base[1] + "/global/workspaces/" + workspace + "/cdns/shop"
	live := w.call(http.MethodGet, cdn, token[1], nil)
	var object struct {
		Spec struct {
			Locations json.RawMessage `json:"locations"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(live, &object); err != nil {
		w.Fatal(err)
	}
	locations := string(object.Spec.Locations)
	for before, after := range map[string]string{`"edgeTTL":"3600"`: `"edgeTTL":"60"`, `"edgeTTL":"604800"`: `"edgeTTL":"600"`} {
		if strings.Count(locations, before) != 1 {
			w.Fatalf("live says %s %d times: %s", before, strings.Count(locations, before), locations)
		}
		locations = strings.Replace(locations, before, after, 1)
	}
	w.call(http.MethodPatch, cdn, token[1], strings.NewReader(`{"spec": {"locations": `+locations+`}}`))
}

// workspace is the embedded platform's own.
const workspace = "5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c10"

func (w *world) call(method, address, token string, body io.Reader) []byte {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, address, body)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.Fatalf("%s %s: %s, %v\n%s", method, address, response.Status, err, text)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		w.Fatal(err)
	}
	return compact.Bytes()
}

// watched keeps what a process says until it has said all its variables.
type watched struct {
	text bytes.Buffer
	seen chan string
	done bool
}

func (s *watched) Write(p []byte) (int, error) {
	s.text.Write(p)
	if !s.done && strings.Contains(s.text.String(), "TRUEUP_COMPUTE_TOKEN=") {
		s.done = true
		s.seen <- s.text.String()
	}
	return len(p), nil
}
