package script

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchEnv switches on the benchmarks of whole runs. It names a folder with the
// program, trueup, and with what it is compared with: kubeconform, and the bare
// probe of the same work, floor, with its platform, server. .ci/bench makes it.
const benchEnv = "TRUEUP_BENCH"

// The sizes, in CDNs, and how slow the platform is at each.
const (
	few, many, most = 100, 1000, 10000

	benchLatency = 20 * time.Millisecond
)

// BenchmarkProcess measures whole runs, as processes of their own, against a
// platform that is one too. Time is that of the wall, cpu-s what system and
// program used of the processors.
func BenchmarkProcess(b *testing.B) {
	tools := os.Getenv(benchEnv)
	if tools == "" {
		b.Skip(benchEnv + " names no folder of programs: see .ci/bench")
	}
	all := &yards{tb: b, tools: tools, of: map[string]*yard{}}
	b.Run("work=version", func(b *testing.B) { measureRuns(b, all.start, nil, "version") })
	b.Run("work=help", func(b *testing.B) { measureRuns(b, all.start, nil, "--help") })
	for _, n := range []int{few, many, most} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { benchmarkWork(b, func(tb testing.TB) *yard { return all.sandbox(tb, n) }, n) })
	}
	b.Run("goal", func(b *testing.B) { benchmarkGoals(b, all) })
}

// benchmarkWork measures what is done with n CDNs. Sending ten thousand changes is
// ten times as much as sending a thousand, and takes as much longer.
func benchmarkWork(b *testing.B, of func(testing.TB) *yard, n int) {
	b.Run("work=validate", func(b *testing.B) { measureRuns(b, of, nil, "validate") })
	for _, work := range []string{"plan", "apply"} {
		for _, changed := range []int{0, 1, 100} {
			for _, latency := range []time.Duration{0, benchLatency} {
				if work == "apply" && (n*changed > many*100 || latency > 0 && n*changed > few*100) {
					continue
				}
				args := []string{work}
				if work == "apply" {
					args = append(args, "--auto-approve", "--rps", "100000")
				}
				b.Run(fmt.Sprintf("work=%s/changed=%d%%/latency=%dms", work, changed, latency.Milliseconds()), func(b *testing.B) {
					measureRuns(b, of, func(y *yard) {
						y.change(b, changed)
						y.slow(b, latency)
					}, args...)
				})
			}
		}
	}
}

// measureRuns reports what runs cost; before is called ahead of each, and costs
// nothing.
func measureRuns(b *testing.B, of func(testing.TB) *yard, before func(*yard), args ...string) {
	y := of(b)
	var sum cost
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		if before != nil {
			before(y)
		}
		b.StartTimer()
		sum = sum.and(y.measure(b, args...))
	}
	n := float64(b.N)
	b.ReportMetric(sum.cpu.Seconds()/n, "cpu-s/op")
	b.ReportMetric(sum.peak, "peak-MiB")
	b.ReportMetric(float64(sum.requests)/n, "requests/op")
}

// cost is what a run took: time of the processors and of the wall, the most
// memory in MiB, and requests to the platform.
type cost struct {
	cpu, wall time.Duration
	peak      float64
	requests  int
}

func (c cost) and(d cost) cost {
	return cost{c.cpu + d.cpu, c.wall + d.wall, max(c.peak, d.peak), c.requests + d.requests}
}

// measureProgram runs a program to its end, which has to be a good one.
func measureProgram(tb testing.TB, cmd *exec.Cmd) cost {
	tb.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%v: %v\n%s", cmd.Args, err, said.Bytes())
	}
	c := cost{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: time.Since(begun)}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = float64(usage.Maxrss) / 1024 // of this process, where it has more: so it keeps little
	}
	return c
}

// yard is a project of made-up manifests with the platform that it belongs to,
// which is a process of its own and writes a line for each request.
type yard struct {
	dir     string
	program *exec.Cmd
	vars    []string
	n       int
	log     string
	// changed is the share of its CDNs that the platform has otherwise.
	changed int
	slowed  time.Duration
}

// command is a run of the program in the project.
func (y *yard) command(tb testing.TB, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(tb.Context(), y.program.Path, args...)
	cmd.Args = slices.Concat(y.program.Args, args)
	cmd.Dir = y.dir
	cmd.Env = append([]string{"HOME=" + y.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, y.vars...)
	return cmd
}

func (y *yard) measure(tb testing.TB, args ...string) cost {
	tb.Helper()
	before := y.requests(tb)
	c := measureProgram(tb, y.command(tb, args...))
	c.requests = y.requests(tb) - before
	if args[0] == "apply" {
		y.changed = 0
	}
	return c
}

// must runs the program and returns what it prints.
func (y *yard) must(tb testing.TB, args ...string) string {
	tb.Helper()
	var out bytes.Buffer
	cmd := y.command(tb, args...)
	cmd.Stdout = &out
	measureProgram(tb, cmd)
	return out.String()
}

// requests counts those that the platform was sent so far.
func (y *yard) requests(tb testing.TB) int {
	if y.log == "" {
		return 0
	}
	text, err := os.ReadFile(y.log)
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// change lets a share of the CDNs be otherwise at the platform; an apply puts them
// right again.
func (y *yard) change(tb testing.TB, percent int) {
	if percent == y.changed {
		return
	}
	y.must(tb, "sandbox", "fill", "--cdns", strconv.Itoa(y.n), "--dir", ".", "--changed", strconv.Itoa(percent))
	y.changed = percent
}

// slow lets the platform take so long for each answer.
func (y *yard) slow(tb testing.TB, latency time.Duration) {
	if latency == y.slowed {
		return
	}
	y.must(tb, "sandbox", "fault", "--clear")
	if latency > 0 {
		y.must(tb, "sandbox", "fault", "* *: delay "+latency.String()+" x*")
	}
	y.slowed = latency
}

// fill makes the project of n CDNs, which the sandbox of its folder knows.
func (y *yard) fill(tb testing.TB) {
	tb.Helper()
	y.configure(tb, "")
	y.must(tb, "sandbox", "fill", "--cdns", strconv.Itoa(y.n), "--dir", ".")
}

// begin gives the project a ledger, which knows all of it.
func (y *yard) begin(tb testing.TB) {
	tb.Helper()
	_, id, ok := strings.Cut(y.must(tb, "ledger", "init"), "id: ")
	if !ok {
		tb.Fatal("ledger init printed no id")
	}
	y.configure(tb, strings.TrimRight(id, "}\n"))
	y.must(tb, "apply", "--auto-approve")
}

func (y *yard) configure(tb testing.TB, id string) {
	tb.Helper()
	text := fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90}\n"+
		"manifests: [cdns]\nledger: {store: \"file:ledger\", id: %q}\n", id)
	if err := os.WriteFile(filepath.Join(y.dir, "trueup.yaml"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
