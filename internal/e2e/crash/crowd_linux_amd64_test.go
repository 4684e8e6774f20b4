package crash

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/e2e/long"
	"trueup/internal/e2e/servers"
)

// A crowd is many runs of the same tree at once.
const (
	crowdRuns   = 20
	crowdPurges = 100
)

// TestCrowd: twenty processes apply the same tree with a hundred purges at once.
// The platform sees each name exactly once, and every process ends with 0, or 5
// where another one was still at it.
func TestCrowd(t *testing.T) {
	long.SkipUnlessSet(t)
	program := buildProgram(t)
	t.Run("file", func(t *testing.T) { newCrowd(t, program, inFiles).apply() })
	t.Run("git", func(t *testing.T) {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("git is not installed")
		}
		newCrowd(t, program, inGit).apply()
	})
	for _, scheme := range servers.Schemes() {
		t.Run(scheme, func(t *testing.T) { newCrowd(t, program, servers.Store(t, scheme)).apply() })
	}
}

// crowd is a world whose project has many purges to send.
type crowd struct {
	*crashWorld
	store string
}

// newCrowd makes a project whose objects are live, but for its purges.
func newCrowd(t *testing.T, program, store string) crowd {
	t.Helper()
	w := crowd{newCrashWorld(t, program, store), store}
	t.Cleanup(w.close)
	cdn, _, _ := strings.Cut(crashManifests, "---\n")
	w.write("project/manifests/all.yaml", cdn)
	bucket, _, _ := strings.Cut(store, "?")
	w.project(bucket, "")
	if code, out := w.run(apply()...); code != 0 {
		t.Fatalf("the first apply: exit %d\n%s", code, out)
	}
	var purges strings.Builder
	for i := range crowdPurges {
		fmt.Fprintf(&purges, "---\napiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-%03d}\nspec: {hostname: shop.example.com, paths: [/%d]}\n", i, i)
	}
	w.write("project/manifests/all.yaml", cdn+purges.String())
	return w
}

// homes are the folders in which the runs start: for a ledger in git a clone
// for each, as runners have.
func (w crowd) homes() []string {
	homes := make([]string, crowdRuns)
	for i := range homes {
		homes[i] = w.path("project")
		if !strings.HasPrefix(w.store, "git:") {
			continue
		}
		homes[i] = w.path(fmt.Sprintf("runner-%02d", i))
		cmd := exec.CommandContext(w.t.Context(), "git", "clone", "-q", "--depth=1", "file://"+w.path("remote.git"), homes[i])
		cmd.Env = w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("clone: %v\n%s", err, out)
		}
		for _, name := range []string{"trueup.yaml", "manifests/all.yaml"} {
			data, err := os.ReadFile(w.path("project/" + name))
			if err != nil {
				w.t.Fatal(err)
			}
			w.write(fmt.Sprintf("runner-%02d/%s", i, name), string(data))
		}
	}
	return homes
}

func (w crowd) apply() {
	w.t.Helper()
	homes := w.homes()
	start := time.Now()
	var wg sync.WaitGroup
	codes := make([]int, crowdRuns)
	outs := make([]string, crowdRuns)
	for i, home := range homes {
		wg.Go(func() {
			cmd, out := w.command(apply()...)
			cmd.Dir = home
			codes[i], outs[i] = exitCode(w.t, cmd.Run()), out.String()
		})
	}
	wg.Wait()
	ended := map[int]int{}
	for i, code := range codes {
		ended[code]++
		if code != 0 && code != 5 {
			w.t.Errorf("run %d: exit %d\n%s", i, code, outs[i])
		}
	}
	w.t.Logf("%d runs of %d purges on %s: %s, exits %v", crowdRuns, crowdPurges, w.store, time.Since(start).Round(time.Millisecond), ended)
	if code, out := w.run(apply()...); code != 0 {
		w.t.Errorf("one run more: exit %d\n%s", code, out)
	}
	w.sawEachOnce()
}

// sawEachOnce demands that the platform was sent each name once, and did it.
func (w crowd) sawEachOnce() {
	w.t.Helper()
	executed, err := w.server.CountExecutedPurges()
	if err != nil {
		w.t.Fatal(err)
	}
	requests, err := w.server.Requests()
	if err != nil {
		w.t.Fatal(err)
	}
	sent := 0
	for _, r := range requests {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/purges") {
			sent++
		}
	}
	if len(executed) != crowdPurges || sent != crowdPurges {
		w.t.Errorf("%d purges were executed, %d were sent", len(executed), sent)
	}
	for name, n := range executed {
		if n != 1 {
			w.t.Errorf("%s was executed %d times", name, n)
		}
	}
}
