package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"trueup/internal/config"
	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/servers"
	"trueup/internal/sandbox"
)

// A shard has engineProjects projects, and each of them enginePurges purges in a round.
const engineProjects, enginePurges = 2, 5

// engineWorld is a platform and a fleet on it.
type engineWorld struct {
	*crashWorld
	// projects are the names of the projects of each index.
	projects [][]string
	random   *rand.Rand
	purges   map[string]string // the projects of the round's purges

	striking sync.Mutex
	// pods are the last ones, by the workspaces of their projects.
	pods map[string]*pod
}

// newEngineWorld makes a fleet with a ledger below the store for each project.
func newEngineWorld(t *testing.T, program, store string, shards int) *engineWorld {
	t.Helper()
	e := &engineWorld{projects: make([][]string, shards), pods: map[string]*pod{}}
	var workspaces []sandbox.WorkspaceKey
	for i := range e.projects {
		for n := 0; len(e.projects[i]) < engineProjects; n++ {
			name := fmt.Sprintf("p%d-%d", i, n)
			if (config.Shard{Index: i + 1, Of: shards}).Has(name) {
				e.projects[i] = append(e.projects[i], name)
				workspaces = append(workspaces, sandbox.WorkspaceKey{Name: name, UUID: workspaceOf(name)})
			}
		}
	}
	e.crashWorld = newPlatform(t, program, workspaces)
	e.server.OnRequest(e.requested)
	switch scheme, _, _ := strings.Cut(store, ":"); scheme {
	case "file": // which trueup refuses in CI, where the disk is lost
	case "git":
		e.repository()
		e.env = append(e.env, "CI=true")
	default:
		e.env = append(append(e.env, "CI=true"), servers.Environ()...)
	}
	var pins strings.Builder
	for _, name := range slices.Concat(e.projects...) {
		fmt.Fprintf(&pins, "- {path: %s, workspace: %s, ledger: %q}\n", name, workspaceOf(name), servers.Below(store, name))
	}
	e.write("pins.yaml", pins.String())
	e.env = append(e.env, "TRUEUP_PROJECTS="+e.path("pins.yaml"))
	var making sync.WaitGroup
	for _, projects := range e.projects {
		making.Go(func() {
			for _, name := range projects {
				if err := os.MkdirAll(e.path("project/"+name+"/manifests"), 0o755); err != nil {
					t.Error(err)
				}
				text := strings.NewReplacer("acme", name, sandbox.WorkspaceUUID, workspaceOf(name)).Replace(harness.ProjectText)
				e.projectIn("project/"+name, servers.Below(store, name), text)
			}
		})
	}
	making.Wait()
	return e
}

// workspaceOf is the workspace of a project.
func workspaceOf(project string) string { return uuid.NewSHA1(uuid.Nil, []byte(project)).String() }

// release gives each project purges of a round, in the place of older ones.
func (e *engineWorld) release(seed uint64) {
	e.t.Helper()
	e.random, e.purges = rand.New(rand.NewPCG(seed, 2)), map[string]string{}
	cdn, _, _ := strings.Cut(crashManifests, "---\n")
	for _, project := range slices.Concat(e.projects...) {
		text := strings.ReplaceAll(cdn, "shop", project)
		for n := range enginePurges {
			name := fmt.Sprintf("%s-%d-%d", project, seed, n)
			e.purges[name] = project
			text += fmt.Sprintf("---\napiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: %s}\nspec: {hostname: %s.example.com, paths: [/%d]}\n", name, project, n)
		}
		e.write("project/"+project+"/manifests/all.yaml", text)
	}
	if err := errors.Join(e.server.ResetRequests(), os.RemoveAll(e.path("results"))); err != nil {
		e.t.Fatal(err)
	}
}

// sent counts the purges in the platform's log.
func (e *engineWorld) sent() map[string]int {
	e.t.Helper()
	requests, err := e.server.Requests()
	if err != nil {
		e.t.Fatal(err)
	}
	sent := map[string]int{}
	for _, r := range requests {
		var obj map[string]any
		if r.Method != http.MethodPost || !strings.HasSuffix(r.Path, "/purges") {
			continue
		}
		if err := json.Unmarshal([]byte(r.Body), &obj); err != nil {
			e.t.Errorf("the body of a purge: %v", err)
		}
		sent[nameIn(obj)]++
	}
	return sent
}

// blow is what befalls a pod, a moment after it has sent some requests.
type blow struct {
	kind     string
	signal   syscall.Signal
	requests int
	moment   time.Duration
}

// disrupts reports whether the pod's node goes away, which costs no try.
func (b blow) disrupts() bool { return b.kind != "killed" }

func (e *engineWorld) drawBlow() blow {
	kinds := []blow{{kind: "killed", signal: syscall.SIGKILL}, {kind: "lost with the node", signal: syscall.SIGKILL}, {kind: "drained", signal: syscall.SIGTERM}}
	b := kinds[e.random.IntN(len(kinds))]
	b.requests, b.moment = e.random.IntN(engineRequests+1), time.Duration(e.random.Int64N(int64(engineMoment)))
	return b
}

// pod is a process of an index, and the blow that it waits for.
type pod struct {
	blow
	cmd *exec.Cmd
	// seen counts its requests. struck says that the blow met a living process.
	seen   int
	struck bool
}

// requested strikes the pod that sends a request, once it has sent enough.
func (e *engineWorld) requested(_, path string) {
	e.striking.Lock()
	defer e.striking.Unlock()
	for workspace, p := range e.pods {
		if !strings.Contains(path, workspace) {
			continue
		}
		p.seen++
		e.aim(p)
	}
}

// aim strikes a pod a moment later, if it has sent as many requests as it may.
func (e *engineWorld) aim(p *pod) {
	if p.seen == p.requests && p.kind != "" {
		time.AfterFunc(p.moment, func() { e.strike(p) })
	}
}

func (e *engineWorld) strike(p *pod) {
	e.striking.Lock()
	defer e.striking.Unlock()
	p.struck = p.cmd.Process.Signal(p.signal) == nil
	if p.struck && p.signal == syscall.SIGKILL {
		killGroup(p.cmd.Process.Pid)
	}
}

// runPod runs a pod of an index in a container of its own, as it were: with a new home, and no file of an earlier one.
func (e *engineWorld) runPod(index int, p *pod, args []string) (code int, out string) {
	home, err := os.MkdirTemp(e.path("tmp"), "pod")
	if err != nil {
		e.t.Error(err)
	}
	cmd, said := e.command(args...)
	p.cmd, cmd.Env = cmd, slices.Concat(e.env, []string{"HOME=" + home, "TMPDIR=" + home})
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, 5*time.Second
	e.striking.Lock()
	for _, project := range e.projects[index] {
		e.pods[workspaceOf(project)] = p
	}
	if err := cmd.Start(); err != nil {
		e.t.Error(err)
	}
	e.aim(p)
	e.striking.Unlock()
	if err = cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	code = exitCode(e.t, err)
	// A blow that has met the process has then noted it.
	e.striking.Lock()
	defer e.striking.Unlock()
	if err := os.RemoveAll(home); err != nil && code != killed {
		e.t.Error(err)
	}
	return code, said.String()
}
