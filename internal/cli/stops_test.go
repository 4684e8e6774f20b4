package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/e2e/servers"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/reconcile"
)

const stopManifests = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
  locations: [{path: /*, action: proxy_http, upstream: origin}]
  upstreams: [{name: origin, scheme: https, servers: [{host: a.example.net, port: "443", weight: "1"}]}]
---
apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-42}
spec: {hostname: shop.example.com, paths: [/index.html]}
---
apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-43}
spec: {hostname: shop.example.com, paths: [/sale/*]}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: db-2026-11-21}
spec: {source: {persistentVolumeClaimName: db-data}, volumeSnapshotClassName: general-purpose}
`

// TestARunThatStopsAtAnyCall stops an apply at each of its calls to store and
// platform, before the call is made and before its answer arrives. Whatever the
// runs after it find, nothing is done twice, and nothing is missing of which no
// person is asked.
func TestARunThatStopsAtAnyCall(t *testing.T) {
	stride := long.Stride(11) // all of it takes minutes
	for _, store := range append([]string{"file", "git"}, servers.Schemes()...) {
		for _, proven := range []bool{false, true} {
			if store == "git" && !proven {
				continue // the real program is killed with such a ledger
			}
			t.Run(fmt.Sprintf("%s/refusal of duplicates proven=%t", store, proven), func(t *testing.T) {
				if store == "git" {
					long.SkipUnlessSet(t)
				}
				clean := newStops(t, store, proven)
				calls := &wire{}
				if code := clean.applyOn(calls); code != diag.ExitOK {
					t.Fatalf("a clean apply: exit %d", code)
				}
				clean.allMade()
				points := 0
				t.Run("stopped", func(t *testing.T) {
					for at := 0; at < len(calls.calls); at += stride {
						// A stop at what only reads is one at what comes next, which the
						// quicker stores show.
						if reads := strings.HasPrefix(calls.calls[at], "GET") || strings.HasPrefix(calls.calls[at], "read"); reads && store == "git" {
							continue
						}
						for _, after := range []bool{false, true} {
							points++
							t.Run(fmt.Sprintf("%d after=%t", at+1, after), func(t *testing.T) {
								t.Parallel()
								newStops(t, store, proven).stopAt(&wire{at: at + 1, after: after}, proven)
							})
						}
					}
				})
				fmt.Printf("crash points in process, ledger in %s, refusal of duplicates proven %t: stopped at %d of %d\n",
					store, proven, points, 2*len(calls.calls))
			})
		}
	}
}

// newStops is a project with a ledger in a store, and nothing applied yet.
func newStops(t *testing.T, store string, proven bool) *stage {
	t.Helper()
	s := newStage(t)
	s.write("manifests/all.yaml", stopManifests)
	switch store {
	case "git":
		s.moveTo("git:refs/trueup/ledger", s.repository)
	case "file":
	default:
		s.vars["TRUEUP_LEDGER"] = servers.Store(t, store)
		for _, v := range servers.Environ() {
			name, value, _ := strings.Cut(v, "=")
			s.vars[name] = value
		}
		s.moveTo("s3://elsewhere", func() {})
	}
	if proven {
		s.prove()
	} else {
		// As long as nobody has seen it refuse one, it may execute duplicates.
		s.quirky("executes-duplicates")
	}
	return s
}

// moveTo makes a ledger in another store.
func (s *stage) moveTo(store string, prepare func()) {
	s.t.Helper()
	prepare()
	s.project("")
	text, err := os.ReadFile(filepath.Join(s.dir, "trueup.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	unnamed := strings.Replace(string(text), `"file:ledger", id: ""`, fmt.Sprintf("%q", store), 1)
	s.write("trueup.yaml", unnamed)
	id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(s.must(diag.ExitOK, "ledger", "init", "--adopt=none"))
	s.write("trueup.yaml", strings.Replace(unnamed, fmt.Sprintf("%q", store), fmt.Sprintf("%q, id: %s", store, id[1]), 1))
}

// repository makes the project a repository with a remote.
func (s *stage) repository() {
	s.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		s.t.Skip("git is not installed")
	}
	remote := filepath.Join(s.t.TempDir(), "remote.git")
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", remote},
		{"init", "-q", "-b", "main", s.dir},
		{"-C", s.dir, "remote", "add", "origin", "file://" + filepath.ToSlash(remote)},
	} {
		if out, err := exec.CommandContext(s.t.Context(), "git", args...).CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// entered is a run of the program that has read its manifests.
func (s *stage) entered() (*command.Run, config.LoadedProject) {
	s.t.Helper()
	a := command.NewRun(s.env(io.Discard, io.Discard))
	a.ReadSettings()
	l, err := a.LoadProject(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return a, l
}

// prove notes that the platform refuses duplicates.
func (s *stage) prove() {
	s.t.Helper()
	a, loaded := s.entered()
	w, err := a.OpenPlatform(loaded.Project)
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Close()
	l, err := ledger.Open(s.t.Context(), w.Ledger)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		if err := l.RecordProof(s.t.Context(), area, ledger.DuplicateProof{At: time.Now(), Name: "probe", HTTP: 409}); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		s.t.Error(err)
	}
}

// applyOn runs apply on a wire and returns what its exit code would be; for a
// run that could not begin it is that of an error.
func (s *stage) applyOn(w *wire) int {
	s.t.Helper()
	a, l := s.entered()
	env := a.Options
	env.Open = func(ctx context.Context, p config.Project, set *manifest.Set) (*config.Platform, error) {
		platform, err := a.Open(ctx, p, set)
		if err != nil {
			return nil, err
		}
		store, err := ledger.OpenStore(ctx, platform.Ledger)
		platform.Ledger.Backend = wiredStore{under: store, wire: w}
		s.wire.Store(w)
		return platform, err
	}
	defer s.wire.Store(nil)
	sess, err := reconcile.PrepareSession(s.t.Context(), env, l, reconcile.Options{})
	if err != nil {
		return diag.ExitOf(err)
	}
	defer sess.Close()
	_, code := sess.ApplyPlan(s.t.Context())
	return code
}

// stopAt stops an apply, and asserts how it ends.
func (s *stage) stopAt(w *wire, proven bool) {
	s.t.Helper()
	s.applyOn(w)
	if !w.broken {
		s.t.Errorf("the run ended before its call %d", w.at)
	}
	s.noneTwice()
	// Right after it, claims may be those of a run that is still alive.
	if code, out, _ := s.run("apply", "--auto-approve"); !slices.Contains([]int{diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson}, code) {
		s.t.Errorf("right after it: exit %d\n%s", code, out)
	}
	s.noneTwice()
	s.pass(ledger.Lease + time.Minute)
	s.bringToEnd(proven)
}

// pass lets time pass for program and platform.
func (s *stage) pass(d time.Duration) {
	s.t.Helper()
	s.passed += d
	if err := s.server.Advance(d); err != nil {
		s.t.Fatal(err)
	}
}

// asksAbout finds the requests that a run asks a person about.
var asksAbout = regexp.MustCompile(`trueup ledger resolve ([A-Za-z]+/[a-z0-9-]+)`)

// bringToEnd runs apply, answers what it asks by what is so, and runs it until
// nothing is left. A claim of the dead is asked about, or, where the platform
// is known to refuse duplicates, settled by itself.
func (s *stage) bringToEnd(proven bool) {
	s.t.Helper()
	open := s.openClaims()
	code, out, errs := s.run("apply", "--auto-approve")
	s.noneTwice()
	var asked []string
	for _, m := range asksAbout.FindAllStringSubmatch(out, -1) {
		if !slices.Contains(asked, m[1]) {
			asked = append(asked, m[1])
		}
	}
	want, wantCode := []string{}, diag.ExitOK
	for _, name := range open {
		// A snapshot that is there answers for itself.
		if !proven && (strings.HasPrefix(name, "Purge/") || s.made()[name] == 0) {
			want = append(want, name)
		}
	}
	if len(want) > 0 {
		wantCode = diag.ExitNeedsPerson
	}
	slices.Sort(asked)
	slices.Sort(want)
	if code != wantCode || !slices.Equal(asked, want) {
		s.t.Errorf("exit %d, asked about %v, want %d and %v\n%s%s", code, asked, wantCode, want, out, errs)
	}
	made := s.made()
	for _, name := range asked {
		answer := "--repost"
		if made[name] > 0 {
			answer = "--posted"
		}
		s.must(diag.ExitOK, "ledger", "resolve", name, answer, "--reason", "seen")
	}
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.allMade()
	s.writes()
	s.must(diag.ExitOK, "apply", "--auto-approve")
	if sent := s.writes(); len(sent) > 0 {
		s.t.Errorf("all was done, and %s %s was sent", sent[0].Method, sent[0].Path)
	}
}

// openClaims are the requests whose outcome the ledger does not know.
func (s *stage) openClaims() []string {
	s.t.Helper()
	var list struct {
		Records []struct{ Kind, Name, State string }
	}
	if err := json.Unmarshal([]byte(s.must(diag.ExitOK, "ledger", "ls", "-o", "json")), &list); err != nil {
		s.t.Fatal(err)
	}
	var open []string
	for _, r := range list.Records {
		if r.State == "claimed" || r.State == "unknown" {
			open = append(open, r.Kind+"/"+r.Name)
		}
	}
	return open
}

// made is how often each request that is sent once was carried out. A snapshot
// is counted by the answers that said so.
func (s *stage) made() map[string]int {
	s.t.Helper()
	purges, err := s.server.CountExecutedPurges()
	if err != nil {
		s.t.Fatal(err)
	}
	made := map[string]int{}
	for name, n := range purges {
		made["Purge/"+name] = n
	}
	requests, err := s.server.Requests()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range requests {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/volumesnapshots") && r.Status == 201 {
			made["VolumeSnapshot/db-2026-11-21"]++
		}
	}
	return made
}

func (s *stage) noneTwice() {
	s.t.Helper()
	for name, n := range s.made() {
		if n > 1 {
			s.t.Errorf("%s was carried out %d times", name, n)
		}
	}
}

func (s *stage) allMade() {
	s.t.Helper()
	made := s.made()
	for _, name := range []string{"Purge/rel-42", "Purge/rel-43", "VolumeSnapshot/db-2026-11-21"} {
		if made[name] != 1 {
			s.t.Errorf("%s was carried out %d times", name, made[name])
		}
	}
}
