package script

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/internal/sandbox"
)

const (
	perProject = 50 // CDNs
	fleetSeeds = 20 // different projects, which repeat
)

// fleetYard is a folder of n projects, each with a workspace of its own, and a platform that answers all of them.
type fleetYard struct {
	*yard
	projects int
}

// newFleet makes n projects of seeded manifests. The platform has the same objects in the workspaces of equal projects, so
// that its memory does not grow with their number.
func newFleet(tb testing.TB, program *exec.Cmd, n int) fleetYard {
	tb.Helper()
	y := fleetYard{&yard{dir: tb.TempDir(), program: program}, n}
	lists := make([][]byte, min(n, fleetSeeds))
	models := make([]string, len(lists))
	for i := range models {
		models[i] = filepath.Join(tb.TempDir(), strconv.Itoa(i))
		if err := os.Mkdir(models[i], 0o755); err != nil {
			tb.Fatal(err)
		}
		model := &yard{dir: models[i], program: y.program}
		model.seed(tb, "--dir", ".", "--cdns", strconv.Itoa(perProject), "--seed", strconv.Itoa(i+1))
		lists[i] = listOf(tb, models[i])
	}
	for i := range n {
		dir := filepath.Join(y.dir, "group-"+strconv.Itoa(i%10), "project-"+strconv.Itoa(i))
		if err := os.CopyFS(filepath.Join(dir, "cdns"), os.DirFS(filepath.Join(models[i%len(models)], "cdns"))); err != nil {
			tb.Fatal(err)
		}
		rename(tb, filepath.Join(dir, "cdns"), i)
		text := fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 3c9f2b6e-0d51-4a77-8f0e-%012d}\nmanifests: [cdns]\n", i)
		if err := os.WriteFile(filepath.Join(dir, "trueup.yaml"), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, rest, _ := strings.Cut(r.URL.Path, "/workspaces/3c9f2b6e-0d51-4a77-8f0e-")
		id, _, _ := strings.Cut(rest, "/")
		i, _ := strconv.Atoi(id)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(ofProject(lists[i%len(lists)], i))
	}))
	tb.Cleanup(server.Close)
	y.vars = []string{"TRUEUP_DELIVERY_URL=" + server.URL + sandbox.DeliveryBase, "TRUEUP_DELIVERY_TOKEN=none"}
	return y
}

// ofProject gives the hostnames in a text to a project: two may not have the same.
func ofProject(text []byte, i int) []byte {
	return bytes.ReplaceAll(text, []byte(".example.com"), fmt.Appendf(nil, ".p%d.example.com", i))
}

// rename gives the hostnames in manifests to a project.
func rename(tb testing.TB, dir string, i int) {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		text, wrong := os.ReadFile(name)
		if err = errors.Join(err, wrong); err == nil {
			err = os.WriteFile(name, ofProject(text, i), 0o600)
		}
	}
	if err != nil || len(names) == 0 {
		tb.Fatal(len(names), err)
	}
}

// listOf returns the list of the CDNs that the sandbox of a folder has.
func listOf(tb testing.TB, dir string) []byte {
	tb.Helper()
	server, err := sandbox.Open(sandbox.ServerOptions{Now: time.Now, Dir: filepath.Join(dir, ".trueup", "sandbox")})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	req := httptest.NewRequest(http.MethodGet, sandbox.DeliveryBase+"/global/workspaces/"+sandbox.WorkspaceUUID+"/cdns", nil)
	req.Header.Set("Authorization", "Bearer "+sandbox.DeliveryToken)
	res := httptest.NewRecorder()
	if server.ServeHTTP(res, req); res.Code != http.StatusOK {
		tb.Fatalf("%d %s", res.Code, res.Body)
	}
	return res.Body.Bytes()
}

// oneByOne measures the plans of some projects as processes of their own, without the start of the program.
func (y fleetYard) oneByOne(tb testing.TB, some int) (cpu float64) {
	tb.Helper()
	for i := range some {
		at := *y.yard
		at.dir = filepath.Join(y.dir, "group-"+strconv.Itoa(i%10), "project-"+strconv.Itoa(i))
		cpu += at.measure(tb, "plan").cpu.Seconds() - at.measure(tb, "version").cpu.Seconds()
	}
	return cpu
}

// BenchmarkFleet measures plans of many projects in one process: its time of the processors, as a ratio to plans in
// processes of their own, and the most memory.
func BenchmarkFleet(b *testing.B) {
	all := newYards(b)
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("projects=%d", n), func(b *testing.B) {
			y := newFleet(b, exec.Command(all.tool(b, "trueup")), n)
			some := min(n, 30)
			alone := y.oneByOne(b, some) / float64(some)
			var sum cost
			b.ResetTimer()
			for range b.N {
				sum = sum.and(y.measure(b, "each", "--", "plan"))
			}
			each := sum.cpu.Seconds() / float64(b.N)
			b.ReportMetric(each, "cpu-s/op")
			b.ReportMetric(sum.peak, "peak-MiB")
			b.ReportMetric(each/(alone*float64(n)), "to-one-by-one")
		})
	}
}

// TestBenchFleet: what the benchmark does works, for a few projects.
func TestBenchFleet(t *testing.T) {
	t.Parallel()
	y := newFleet(t, &exec.Cmd{Path: os.Args[0], Args: []string{"trueup"}}, 3)
	if out := y.must(t, "each", "--", "plan", "--detailed-exitcode"); !strings.Contains(out, "Plan of 3 projects: nothing to do, 150 unchanged") {
		t.Errorf("%s", out)
	}
	y.oneByOne(t, 1)
}
