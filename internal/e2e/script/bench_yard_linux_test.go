package script

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/long"
	"trueup/internal/e2e/servers"
)

// yards makes the projects that are asked for, once, and ends their platforms with
// the benchmark.
type yards struct {
	tb    testing.TB
	tools string
	of    map[string]*yard
}

func newYards(b *testing.B) *yards {
	b.Helper()
	tools := os.Getenv(benchEnv)
	if tools == "" {
		b.Skip(benchEnv + " names no folder of programs: see .ci/bench")
	}
	return &yards{tb: b, tools: tools, of: map[string]*yard{}}
}

// tool is a program of the folder, or an end of the benchmark where there is none.
func (all *yards) tool(tb testing.TB, name string) string {
	tb.Helper()
	file := filepath.Join(all.tools, name)
	if _, err := os.Stat(file); err != nil {
		tb.Skipf("%s is not there to be compared with", name)
	}
	return file
}

// start is no project.
func (all *yards) start(tb testing.TB) *yard {
	return &yard{dir: all.tb.TempDir(), program: exec.Command(all.tool(tb, "trueup"))}
}

// once returns the project of a name, which it makes where it is new.
func (all *yards) once(tb testing.TB, name string, n int, fill func(y *yard)) *yard {
	tb.Helper()
	name = fmt.Sprint(name, " ", n)
	if all.of[name] == nil {
		y := all.start(tb)
		y.n = n
		fill(y)
		all.of[name] = y
	}
	return all.of[name]
}

// sandbox is a project of n CDNs at the sandbox.
func (all *yards) sandbox(tb testing.TB, n int) *yard {
	tb.Helper()
	return all.once(tb, "sandbox", n, func(y *yard) {
		y.fill(tb)
		y.serve(tb, all.tb)
		y.begin(tb)
	})
}

// unknown is a project of n CDNs that the platform does not have.
func (all *yards) unknown(tb testing.TB, n int) *yard {
	tb.Helper()
	return all.once(tb, "unknown", n, func(y *yard) {
		y.link(tb, all.sandbox(tb, n))
		y.serve(tb, all.tb)
		y.initLedger(tb)
	})
}

// unwritten is a project without manifests, at the platform that has n CDNs.
func (all *yards) unwritten(tb testing.TB, n int) *yard {
	tb.Helper()
	return all.once(tb, "unwritten", n, func(y *yard) {
		y.share(all.sandbox(tb, n))
		if err := os.Mkdir(filepath.Join(y.dir, "cdns"), 0o755); err != nil {
			tb.Fatal(err)
		}
		y.initLedger(tb)
	})
}

// inGit is a project whose ledger is a ref of a git remote, inBucket one whose ledger is in a bucket.
func (all *yards) inGit(tb testing.TB, n int) *yard {
	tb.Helper()
	return all.once(tb, "git", n, func(y *yard) {
		gitremote.Cmd(tb, y.dir, "init", "-q")
		gitremote.Cmd(tb, y.dir, "remote", "add", "origin", gitremote.Bare(all.tb))
		all.keepIn(tb, y, "git:refs/trueup/ledger")
	})
}

func (all *yards) inBucket(tb testing.TB, n int) *yard {
	tb.Helper()
	store := servers.Store(tb, "s3")
	return all.once(tb, "s3", n, func(y *yard) { all.keepIn(tb, y, store) })
}

func (all *yards) keepIn(tb testing.TB, y *yard, store string) {
	tb.Helper()
	y.link(tb, all.sandbox(tb, y.n))
	y.share(all.sandbox(tb, y.n))
	y.vars = append(y.vars, "TRUEUP_LEDGER="+store)
	y.begin(tb)
}

// link gives the project the manifests of another.
func (y *yard) link(tb testing.TB, other *yard) {
	tb.Helper()
	if out, err := exec.CommandContext(tb.Context(), "cp", "-rl", filepath.Join(other.dir, "cdns"), y.dir).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
}

// share gives the project the platform of another.
func (y *yard) share(other *yard) {
	y.platform, y.log, y.vars = other, other.log, slices.Concat(other.vars, servers.Environ())
}

// serve serves the sandbox of the project's folder until the end of a test.
func (y *yard) serve(tb, until testing.TB) {
	tb.Helper()
	y.log = filepath.Join(y.dir, "requests.log")
	log, err := os.Create(y.log)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := y.command(until, "sandbox")
	cmd.Stderr = log
	said := startServer(tb, until, cmd)
	for range 2 { // the areas
		if !said.Scan() {
			tb.Fatal("the sandbox did not say where it is")
		}
		y.vars = append(y.vars, strings.Fields(said.Text())[1:]...)
	}
}

// startServer starts a server that ends with a test, and returns what it prints.
func startServer(tb, until testing.TB, cmd *exec.Cmd) *bufio.Scanner {
	tb.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	until.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out)
}

// probed is a project of n CDNs at the platform of the bare probe, and a run of the
// probe on the same.
func (all *yards) probed(tb testing.TB, n int) (y *yard, probe func() *exec.Cmd) {
	tb.Helper()
	floor, server := all.tool(tb, "floor"), all.tool(tb, "server")
	y = all.once(tb, "probe", n, func(y *yard) {
		y.fill(tb)
		address := freeAddress(tb)
		said := startServer(tb, all.tb, exec.CommandContext(all.tb.Context(), server, "-addr", address, "-seed", filepath.Join(y.dir, "cdns")))
		if !said.Scan() {
			tb.Fatal("the probe's platform does not listen")
		}
		y.vars = []string{"TRUEUP_DELIVERY_URL=http://" + address + "/v2.1/global", "TRUEUP_DELIVERY_TOKEN=none"}
		y.begin(tb)
	})
	address := strings.TrimPrefix(y.vars[0], "TRUEUP_DELIVERY_URL=http://")
	address, _, _ = strings.Cut(address, "/")
	return y, func() *exec.Cmd {
		cmd := exec.CommandContext(tb.Context(), floor, "-mode", "sigs", "-addr", address, "-dir", filepath.Join(y.dir, "cdns"))
		cmd.Dir = all.tools // where its schema is
		return cmd
	}
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestBenchProcess: what the benchmarks do with a project does work, for twenty.
func TestBenchProcess(t *testing.T) {
	long.SkipUnlessSet(t)
	t.Parallel()
	const n = 20
	all := &yards{tb: t, tools: t.TempDir(), of: map[string]*yard{}}
	if err := os.Symlink(os.Args[0], filepath.Join(all.tools, "trueup")); err != nil {
		t.Fatal(err)
	}
	requests := map[string]int{
		"plan 0": 1, "plan 1": 1, "plan 100": 1, "plan, ledger in git 0": 1, "plan, ledger in a bucket 0": 1, "plan, new CDNs 0": n + 1,
		"apply 0": 1, "apply 1": 3 + 1, "apply 100": 3*n + 1, "validate 0": 0, "fmt --check 0": 0,
	}
	for _, r := range rows() {
		name := fmt.Sprint(r.name, " ", r.changed)
		t.Run(name, func(t *testing.T) {
			c := r.measure(t, r.of(all, t, n))
			if want, known := requests[name]; c.cpu <= 0 || c.peak <= 0 || c.printed <= 0 || known && c.requests != want {
				t.Errorf("%+v, want %d requests", c, want)
			}
		})
	}
	y := all.sandbox(t, n)
	y.slow(t, benchLatency)
	if c := y.measure(t, "plan"); c.wall < benchLatency || c.requests != 1 {
		t.Errorf("a plan at %v: %+v", benchLatency, c)
	}
}
