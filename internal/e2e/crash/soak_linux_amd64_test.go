package crash

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/blob"
	"trueup/internal/cli"
	"trueup/internal/config"
)

// soakEnv switches on the soak, which takes many minutes; its value is the seed.
const soakEnv = "TRUEUP_SOAK"

// How much a soak has to do, how often it is disturbed, and how many runs it may
// take once nobody kills them any more.
const (
	soakCDNs      = 2000
	soakLive      = 700 // of the CDNs are live already, and differ from git
	soakHosts     = 20  // of the CDNs have purges
	soakPurges    = 200
	soakSnapshots = 50
	soakReruns    = 5
	soakLeaks     = 3
	// soakShare is how many of a hundred requests something befalls.
	soakShare = 5
)

// TestSoak: a large tree, a platform of which one request in twenty fails, and
// runs that are killed at any time. After a few more runs live is in sync,
// each purge was executed once and each snapshot taken once, and nothing is left
// behind.
func TestSoak(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(soakEnv), 10, 64)
	if err != nil {
		t.Skip(soakEnv + " names no seed")
	}
	program := buildProgram(t)
	for _, proven := range []bool{true, false} {
		t.Run(map[bool]string{true: "duplicates are refused", false: "duplicates may be executed"}[proven], func(t *testing.T) {
			s := &soak{crashWorld: newCrashWorld(t, program, inFiles), random: rand.New(rand.NewPCG(seed, 0)), uids: map[string]string{}}
			defer s.close()
			s.env = append(s.env, "TRUEUP_PARALLELISM=8", "TRUEUP_REQUEST_TIMEOUT=1s")
			project, err := os.ReadFile(s.path("project/trueup.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			s.write("project/trueup.yaml", fmt.Sprintf("%smaxCreates: %d\n", project, soakCDNs+soakSnapshots))
			if proven {
				s.prove()
			}
			s.fill()
			s.disturb()
			s.killed()
			s.converges()
			s.leaksNothing()
			s.calm()
			s.isAsGitSays()
			s.staysAsItIs()
			s.leftNothing()
		})
	}
}

// soak is a crashWorld with much to do.
type soak struct {
	*crashWorld
	random *rand.Rand
	// cdns are the specs of git by name.
	cdns map[string]map[string]any
	// uids are those of the snapshots that were seen live.
	uids map[string]string
	// asked counts the questions to a person.
	asked int
}

func soakCDN(i int) (name string, spec map[string]any) {
	name = fmt.Sprintf("cdn-%04d", i)
	location := func(path string, ttl int) map[string]any {
		return map[string]any{
			"path": path, "action": "proxy_http", "upstream": "origin",
			"cache": map[string]any{"level": "standard", "edgeTTL": strconv.Itoa(ttl), "ttlTimeUnit": "second"},
		}
	}
	return name, map[string]any{
		"hostname":  name + ".example.com",
		"locations": []any{location("/static/*", 3600+i), location("/*", 60)},
		"upstreams": []any{map[string]any{
			"name": "origin", "scheme": "https",
			"servers": []any{map[string]any{"host": "a.example.net", "port": "443", "weight": "1"}},
		}},
		"tls": map[string]any{"forced": "true"},
	}
}

func soakPurge(i int) string { return fmt.Sprintf("rel-2026-11-%03d", i) }

func soakSnapshot(i int) string { return fmt.Sprintf("db-2026-11-21-%02d", i) }

// soakApply is a run as a pipeline has it, with time limits that a test can wait for.
func soakApply() []string {
	return []string{"apply", "--auto-approve"}
}

// soakKills says at which writes runs are killed: one of the first so many to a
// collection, for each of some runs.
func soakKills() []struct {
	collection  string
	runs, among int
} {
	return []struct {
		collection  string
		runs, among int
	}{{"/cdns", 5, 400}, {"/volumesnapshots", 3, 15}, {"/purges", 6, 40}}
}

// soakFaults are what befalls requests, each as often as the others: first what
// befalls all of them, then writes alone. A read that is answered with nonsense
// ends a run, and that is right.
func soakFaults() []string {
	return []string{
		"* *: 500", "* *: 503 after-commit", "* *: 504 after-commit", "* *: 429 retry-after=1",
		"* *: drop", "* *: drop after-commit", "* *: reset", "* *: reset after-commit",
		"* *: stall", "* *: stall after-commit", "* *: truncate", "* *: delay=50ms",
		"POST *: html", "POST *: not-json after-commit", "PATCH *: html", "PATCH *: empty after-commit",
	}
}

// disturb lets the platform fail.
func (s *soak) disturb() {
	s.t.Helper()
	faults := soakFaults()
	ofAll := slices.IndexFunc(faults, func(f string) bool { return !strings.HasPrefix(f, "* ") })
	for _, fault := range faults {
		share := float64(soakShare) / float64(ofAll)
		if err := s.server.AddFaults(fmt.Sprintf("%s x* %.4f%%", fault, share)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// calm ends the faults, and says how many there were.
func (s *soak) calm() {
	faults, requests := 0, 0
	for _, f := range s.server.PendingFaults() {
		faults, requests = faults+f.Done, max(requests, f.Seen)
	}
	s.server.ClearFaults()
	s.t.Logf("faults befell %d of %d requests; a person was asked %d times", faults, requests, s.asked)
}

// killed starts runs and kills each while it writes.
func (s *soak) killed() {
	for _, at := range soakKills() {
		for range at.runs {
			s.killedAt(at.collection, 1+s.random.IntN(at.among), time.Duration(s.random.Int64N(int64(20*time.Millisecond))))
			s.advance(lease + time.Minute)
		}
	}
}

// killedAt kills a run a moment after its nth write to a collection arrived.
func (s *soak) killedAt(collection string, nth int, moment time.Duration) {
	s.t.Helper()
	cmd, out := s.command(soakApply()...)
	var seen atomic.Int64
	s.server.OnRequest(func(method, path string) {
		if method != http.MethodGet && strings.Contains(path, collection) && seen.Add(1) == int64(nth) {
			time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		}
	})
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	code := exitCode(s.t, cmd.Wait())
	s.server.OnRequest(nil)
	s.settle()
	s.t.Logf("killed at write %d to %s: exit %d, %s", nth, collection, code, s.progress())
	if code != killed {
		s.ends(ended{code, out.String()}, 0, 5, 6)
	}
	s.noneTwice()
}

// converges runs apply until it ends well, and answers what it asks.
func (s *soak) converges() {
	for n := range soakReruns {
		start := time.Now()
		code, out := s.run(soakApply()...)
		s.settle()
		s.noneTwice()
		asked := s.answer(out)
		s.t.Logf("run %d: %s, exit %d, %d questions, %s", n+1, time.Since(start).Round(time.Second), code, asked, s.progress())
		if code == 0 {
			return
		}
		if !s.ends(ended{code, out}, 5, 6) {
			return
		}
		s.advance(lease + time.Minute)
	}
	s.t.Errorf("not done after %d runs that nobody killed", soakReruns)
}

// answer tells trueup, as a person would who looked, what became of each request
// that it asks about.
func (s *soak) answer(out string) int {
	s.t.Helper()
	var names []string
	for _, m := range toResolve.FindAllStringSubmatch(out, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		answer := "--repost"
		if s.made()[name] > 0 {
			answer = "--posted"
		}
		code, out := s.run("ledger", "resolve", name, answer, "--reason", "seen")
		s.ends(ended{code, out}, 0)
	}
	s.asked += len(names)
	return len(names)
}

// has reports whether live has all of want: a comparison of its own, simpler than
// the program's, for specs without a server's additions to lists.
func has(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := live.(map[string]any)
		for key, value := range want {
			ok = ok && has(object[key], value)
		}
		return ok
	case []any:
		list, ok := live.([]any)
		ok = ok && len(list) == len(want)
		for i := range want {
			ok = ok && has(list[i], want[i])
		}
		return ok
	}
	return fmt.Sprint(live) == fmt.Sprint(want)
}

// leaksNothing has the program run within the test, interrupted at any time, and
// looks whether a goroutine or an open file stays.
func (s *soak) leaksNothing() {
	s.t.Helper()
	for i := range soakCDNs {
		if s.random.IntN(10) == 0 {
			name, _ := soakCDN(i)
			s.drift(name)
		}
	}
	vars := map[string]string{}
	for _, entry := range s.env {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	var out bytes.Buffer
	env := config.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Cwd: s.path("project"),
		Getenv: func(name string) string { return vars[name] }, Now: time.Now, Sleep: blob.Sleep,
	}
	goroutines, files := runtime.NumGoroutine(), openFiles(s.t)
	for range soakLeaks {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(s.random.Int64N(int64(6*time.Second))))
		code := cli.Main(ctx, soakApply(), env)
		cancel()
		s.ends(ended{code, out.String()}, 0, 1, 5, 6, 130)
		out.Reset()
		s.advance(lease + time.Minute)
	}
	s.settle()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines && openFiles(s.t) <= files {
			break
		}
		time.Sleep(20 * time.Millisecond) // the last connections are closed in the background
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<20)
		s.t.Errorf("%d goroutines before, %d after\n%s", goroutines, n, stacks[:runtime.Stack(stacks, true)])
	}
	if n := openFiles(s.t); n > files {
		s.t.Errorf("%d open files before, %d after", files, n)
	}
	s.converges()
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
