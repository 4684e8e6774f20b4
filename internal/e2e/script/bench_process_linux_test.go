package script

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/internal/e2e/sample"
)

// benchEnv switches on the benchmarks of whole runs. It names a folder with the
// program, trueup, and with what it is compared with: kubeconform, and the bare
// probe of the same work, floor, with its platform, server. .ci/bench makes it.
const benchEnv = "TRUEUP_BENCH"

// The sizes, in CDNs, and how slow the platform is at each.
const (
	few, many, most, huge = 100, 1000, 10_000, 30_000

	benchLatency = 20 * time.Millisecond
)

// BenchmarkProcess measures whole runs, as processes of their own, against a
// platform that is one too. Time is that of the wall, cpu-s what system and
// program used of the processors.
func BenchmarkProcess(b *testing.B) {
	all := newYards(b)
	for _, n := range []int{few, many, most, huge} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for _, r := range rows() {
				r.benchmark(b, all, n)
			}
		})
	}
}

// row is a run that is measured at several sizes, on a project where a share of the CDNs changed outside git.
type row struct {
	name    string // of the command's arguments
	changed int    // percent
	to      int    // the largest size
	slow    int    // the largest size at which the platform is slow, too
	of      func(all *yards, tb testing.TB, n int) *yard
}

func rows() []row {
	sandbox, inGit, inBucket := (*yards).sandbox, (*yards).inGit, (*yards).inBucket
	return []row{
		{"validate", 0, huge, 0, sandbox},
		{"fmt --check", 0, most, 0, sandbox},
		{"plan", 0, huge, most, sandbox},
		{"plan, ledger in git", 0, most, 0, inGit},
		{"plan, ledger in a bucket", 0, most, 0, inBucket},
		{"plan, new CDNs", 0, many, many, (*yards).unknown},
		{"drift", 0, most, 0, sandbox},
		{"pull cdns --dir -, no manifests", 0, most, 0, (*yards).unwritten},
		{"apply", 0, most, most, sandbox},
		{"plan", 1, most, most, sandbox},
		{"apply", 1, most, most, sandbox},
		{"plan", 100, huge, many, sandbox},
		{"plan --out plan.json", 100, most, 0, sandbox},
		{"plan -o html", 100, most, 0, sandbox},
		{"plan -o json", 100, most, 0, sandbox},
		{"drift", 100, most, 0, sandbox},
		{"pull cdns --diff", 100, most, 0, sandbox},
		{"apply", 100, most, few, sandbox},
	}
}

// benchmark measures the row at one size.
func (r row) benchmark(b *testing.B, all *yards, n int) {
	for _, latency := range []time.Duration{0, benchLatency} {
		if n > r.to || latency > 0 && n > r.slow {
			continue
		}
		b.Run(fmt.Sprintf("work=%s/changed=%d%%/latency=%dms", r.name, r.changed, latency.Milliseconds()), func(b *testing.B) {
			y := r.of(all, b, n)
			var sum cost
			for range b.N {
				y.slow(b, latency)
				sum = sum.and(r.measure(b, y))
			}
			sum.report(b)
			for unit, most := range goalsOf(n, r, latency) {
				b.ReportMetric(most, unit+"-goal")
			}
		})
	}
}

// measure measures the row once.
func (r row) measure(tb testing.TB, y *yard) cost {
	tb.Helper()
	// What an earlier row wrote, no list would be trusted with.
	y.copy(tb, "begun", "ledger")
	y.change(tb, r.changed)
	line, _, _ := strings.Cut(r.name, ",")
	args := strings.Fields(line)
	if args[0] == "apply" {
		args = append(args, "--auto-approve")
	}
	return y.measure(tb, args...)
}

// cost is what a run took: time of the processors and of the wall, the most
// memory in MiB, requests to the platform, and bytes that it printed.
type cost struct {
	cpu, wall time.Duration
	peak      float64
	requests  int
	printed   int
}

func (c cost) and(d cost) cost {
	return cost{c.cpu + d.cpu, c.wall + d.wall, max(c.peak, d.peak), c.requests + d.requests, c.printed + d.printed}
}

// report reports what the runs of a benchmark cost, each.
func (c cost) report(b *testing.B) {
	n := float64(b.N)
	b.ReportMetric(c.cpu.Seconds()/n, "cpu-s")
	b.ReportMetric(c.wall.Seconds()/n, "wall-s")
	b.ReportMetric(c.wall.Seconds()/c.cpu.Seconds(), "wall/cpu")
	b.ReportMetric(c.peak, "peak-MiB")
	b.ReportMetric(float64(c.requests)/n, "requests")
	b.ReportMetric(float64(c.printed)/n/1e6, "output-MB")
	b.ReportMetric(0, "ns/op")
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// measureProgram runs a program to its end, which has to be a good one, or to say that something differs.
func measureProgram(tb testing.TB, cmd *exec.Cmd) cost {
	tb.Helper()
	var said bytes.Buffer
	var printed counter
	if cmd.Stdout == nil {
		cmd.Stdout = &printed
	}
	cmd.Stderr = &said
	begun := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 2 {
		tb.Fatalf("%v: %v\n%s", cmd.Args, err, said.Bytes())
	}
	c := cost{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: time.Since(begun), printed: int(printed)}
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
	// platform is the project that the platform belongs to, where that is another.
	platform *yard
}

// command is a run of the program in the project.
func (y *yard) command(tb testing.TB, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(tb.Context(), y.program.Path, args...)
	cmd.Args = slices.Concat(y.program.Args, args)
	cmd.Dir = y.dir
	cmd.Env = append([]string{"HOME=" + y.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "TRUEUP_WRITES_PER_SECOND=100000"}, y.vars...)
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
	if y = cmp.Or(y.platform, y); percent == y.changed {
		return
	}
	y.seed(tb, "--cdns", strconv.Itoa(y.n), "--changed", strconv.Itoa(percent))
	y.changed = percent
}

// slow lets the platform take so long for each answer.
func (y *yard) slow(tb testing.TB, latency time.Duration) {
	if y = cmp.Or(y.platform, y); latency == y.slowed {
		return
	}
	y.must(tb, "sandbox", "fault", "--clear")
	if latency > 0 {
		y.must(tb, "sandbox", "fault", "* *: delay="+latency.String()+" x*")
	}
	y.slowed = latency
}

// seed puts the live objects of a made-up project on the sandbox of its folder.
func (y *yard) seed(tb testing.TB, args ...string) {
	tb.Helper()
	if err := sample.Fill(y.dir, append(args, "--live", "live")); err != nil {
		tb.Fatal(err)
	}
	y.must(tb, "sandbox", "seed", "live")
}

// fill makes the project of n CDNs, which the sandbox of its folder knows. As people do, it writes comments
// and lines --- into their manifests.
func (y *yard) fill(tb testing.TB) {
	tb.Helper()
	y.configure(tb, "")
	y.seed(tb, "--cdns", strconv.Itoa(y.n), "--dir", "filled")
	names, err := filepath.Glob(filepath.Join(y.dir, "filled", "cdns", "*.yaml"))
	if err == nil {
		err = os.Mkdir(filepath.Join(y.dir, "cdns"), 0o755)
	}
	for _, name := range names {
		var text []byte
		if text, err = os.ReadFile(name); err != nil {
			break
		}
		text = item.ReplaceAll(text, []byte("$1# see the runbook\n$0"))
		text = bytes.Replace(text, []byte(".example.com\n"), []byte(".example.com # public\n"), 1)
		if err = os.WriteFile(filepath.Join(y.dir, "cdns", filepath.Base(name)), slices.Concat([]byte("# made for measurements\n---\n"), text), 0o600); err != nil {
			break
		}
	}
	if err != nil || len(names) != y.n {
		tb.Fatalf("%d manifests, %v", len(names), err)
	}
}

// item matches the first line of an item.
var item = regexp.MustCompile(`(?m)^( +)- [a-z]+: `)

// begin gives the project a ledger, which knows all of it.
func (y *yard) begin(tb testing.TB) {
	tb.Helper()
	y.initLedger(tb)
	y.must(tb, "apply", "--auto-approve")
	y.copy(tb, "ledger", "begun")
}

// copy copies a folder of the project, if it has it, and replaces an earlier copy.
func (y *yard) copy(tb testing.TB, from, to string) {
	tb.Helper()
	const program = `[ ! -d "$1" ] || { rm -rf "$2" && cp -a "$1" "$2"; }`
	cmd := exec.CommandContext(tb.Context(), "sh", "-c", program, "sh", from, to)
	cmd.Dir = y.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
}

func (y *yard) initLedger(tb testing.TB) {
	tb.Helper()
	y.configure(tb, "")
	_, id, ok := strings.Cut(y.must(tb, "ledger", "init"), "id: ")
	if !ok {
		tb.Fatal("ledger init printed no id")
	}
	y.configure(tb, strings.TrimRight(id, "}\n"))
}

func (y *yard) configure(tb testing.TB, id string) {
	tb.Helper()
	text := fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90}\n"+
		"manifests: [cdns]\nledger: {store: \"file:ledger\", id: %q}\n", id)
	if err := os.WriteFile(filepath.Join(y.dir, "trueup.yaml"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
