package crash

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"trueup/internal/e2e/servers"
)

// engineEnv is the number of rounds on each store, and switches the test on. engineSeedEnv is the seed of the first one.
// The same seed draws the same kills; the timing of the processes differs.
const (
	engineEnv     = "TRUEUP_ROUNDS"
	engineSeedEnv = "TRUEUP_ROUNDS_SEED"
)

const (
	// engineKills is the share of pods that are killed, engineRequests about how many requests one sends, and engineMoment
	// the longest time from one of them to its end.
	engineKills, engineRequests, engineMoment = 0.3, 24, 40 * time.Millisecond
	// engineJobs is how many Jobs a round may need. In the last ones nobody kills pods.
	engineJobs, engineCalmJobs = 6, 3
	// engineLife is the number of rounds that one fleet lives.
	engineLife = 10
	// engineWait is how long apply waits by default for what other runs claimed, and enginePause the first pause of a
	// Job between two tries of an index. Each one is twice as long as the last.
	engineWait, enginePause = time.Minute, 10 * time.Second
)

// TestEngine stands in for Kubernetes. It runs the Job of deploy/kubernetes with processes of the real program as pods,
// kills them at random times, and starts others by the Job's policy. A person answers what trueup asks, and starts the Job
// again for indexes that failed. Each index succeeds in the end, and the platform's log has each purge once.
func TestEngine(t *testing.T) {
	if os.Getenv(engineEnv) == "" {
		t.Skip(engineEnv + " names no number of rounds")
	}
	program := buildProgram(t)
	for _, store := range []string{inFiles, "git:refs/trueup"} {
		scheme, _, _ := strings.Cut(store, ":")
		t.Run(scheme, func(t *testing.T) {
			playEngine(t, program, func() string { return store })
		})
	}
	for _, scheme := range servers.Schemes() {
		t.Run(scheme, func(t *testing.T) {
			playEngine(t, program, func() string { return servers.Store(t, scheme) })
		})
	}
}

// playEngine has fleets applied in rounds, with other purges in each. A fleet lives some rounds only: trueup sends no
// purge if the platform's clock, which the rounds advance, is a day from the machine's.
func playEngine(t *testing.T, program string, store func() string) {
	start, first := time.Now(), attackNumber(engineSeedEnv, 1)
	tally := map[string]int{}
	for left, seed := attackNumber(engineEnv, 1), uint64(first); left > 0 && !t.Failed(); left -= engineLife {
		e := &engine{job: readEngineJob(t), tally: tally}
		e.engineWorld = newEngineWorld(t, program, store(), e.job.Spec.Completions)
		for n := 0; n < min(left, engineLife) && !t.Failed(); n++ {
			e.round(seed)
			seed++
		}
		e.close()
	}
	var figures []string
	for _, column := range []string{
		"rounds", "purges", "jobs", "pods", "killed", "lost with the node", "drained", "tries again", "out of tries",
		"failed indexes", "settled --posted", "settled --repost", "doubled", "missing",
	} {
		figures = append(figures, fmt.Sprintf("%s %d", column, tally[column]))
	}
	fmt.Printf("%s from seed %d in %s: %s\n", t.Name(), first, time.Since(start).Round(time.Second), strings.Join(figures, ", "))
}

// engine is the Job of a fleet, and what it did.
type engine struct {
	*engineWorld
	job   engineJob
	mu    sync.Mutex
	tally map[string]int
	trace []string
}

func (e *engine) round(seed uint64) {
	e.trace = nil
	e.release(seed)
	e.apply()
	e.judge()
	e.tally["rounds"]++
	if e.t.Failed() {
		e.t.Logf("%s=%d\n%s", engineSeedEnv, seed, strings.Join(e.trace, "\n"))
	}
}

// engineJob is what an engine reads of a Job.
type engineJob struct {
	Spec struct {
		Completions, BackoffLimitPerIndex int
		PodFailurePolicy                  struct {
			Rules []struct {
				Action      string
				OnExitCodes struct{ Values []int }
			}
		}
		Template struct {
			Spec struct{ Containers []struct{ Args []string } }
		}
	}
}

// fails reports whether an exit code fails an index at once.
func (j engineJob) fails(code int) bool {
	for _, rule := range j.Spec.PodFailurePolicy.Rules {
		if rule.Action == "FailIndex" && slices.Contains(rule.OnExitCodes.Values, code) {
			return true
		}
	}
	return false
}

// args are the arguments of a pod.
func (j engineJob) args(index int, projects, results string) []string {
	args := []string{"each", "--shard", fmt.Sprintf("%d/%d", index+1, j.Spec.Completions)}
	for _, a := range j.Spec.Template.Spec.Containers[0].Args {
		args = append(args, strings.NewReplacer("/work/projects", projects, "/results", results).Replace(a))
	}
	return args
}

func readEngineJob(t *testing.T) engineJob {
	t.Helper()
	var list struct{ Items []engineJob }
	text, err := os.ReadFile("deploy/kubernetes/jobs.yaml")
	if err = errors.Join(err, yaml.Unmarshal(text, &list)); err != nil || len(list.Items) == 0 {
		t.Fatal(err)
	}
	return list.Items[0]
}

// count counts, and notes why.
func (e *engine) count(what, format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally[what]++
	e.trace = append(e.trace, what+": "+fmt.Sprintf(format, args...))
}

// apply starts Jobs until every index has succeeded.
func (e *engine) apply() {
	left := make([]int, e.job.Spec.Completions)
	for i := range left {
		left[i] = i
	}
	for n := range engineJobs {
		e.count("jobs", "%d, with the indexes %v", n+1, left)
		if left = e.runJob(left, n < engineJobs-engineCalmJobs); len(left) == 0 {
			return
		}
		e.advance(lease)
		e.answer()
	}
	e.t.Errorf("indexes %v do not succeed", left)
}

// runJob runs a Job until each index has succeeded or failed, and returns those that failed. The pods of one try have
// ended when the next try begins, because the pause between them is longer than a run.
func (e *engine) runJob(indexes []int, kill bool) (failed []int) {
	disturbed := map[int]bool{} // those whose pods were killed after the first try
	for try := 0; len(indexes) > 0; try++ {
		pods, pause := e.try(indexes, kill), enginePause<<try
		e.settle()
		var again []int
		for n, i := range indexes {
			code := pods[n].code
			disturbed[i] = disturbed[i] || try > 0 && pods[n].blows > 0
			if code == 5 {
				pause = enginePause<<try + engineWait
			}
			switch {
			case code == 0:
			case e.job.fails(code):
				e.count("failed indexes", "%d after try %d, exit %d", i, try+1, code)
				failed = append(failed, i)
			case try == e.job.Spec.BackoffLimitPerIndex:
				e.count("out of tries", "index %d, exit %d", i, code)
				failed = append(failed, i)
				if !disturbed[i] {
					e.t.Errorf("index %d was not disturbed after its first try, and had too few: exit %d", i, code)
				}
			default:
				e.count("tries again", "index %d, exit %d", i, code)
				again = append(again, i)
			}
		}
		e.advance(pause)
		indexes = again
	}
	return failed
}

// podEnd is how the last pod of a try ended, and how many blows met the try's pods.
type podEnd struct{ code, blows int }

// try runs a pod of each index at once, and returns how they ended. What is to befall them is drawn first.
func (e *engine) try(indexes []int, kill bool) []podEnd {
	e.t.Helper()
	blows, ends := make([][]blow, len(indexes)), make([]podEnd, len(indexes))
	for n := range indexes {
		for kill && e.random.Float64() < engineKills {
			blows[n] = append(blows[n], e.drawBlow())
		}
	}
	var pods sync.WaitGroup
	for n, i := range indexes {
		pods.Go(func() { ends[n] = e.runIndex(i, blows[n]) })
	}
	pods.Wait()
	return ends
}

// runIndex runs a pod, and others after those that a disruption ends, which cost no try.
func (e *engine) runIndex(index int, blows []blow) (end podEnd) {
	for {
		p := &pod{}
		if len(blows) > 0 {
			p.blow, blows = blows[0], blows[1:]
		}
		code, out := e.runPod(index, p, e.job.args(index, e.path("project"), e.path("results")))
		e.count("pods", "index %d, exit %d", index, code)
		if p.struck && (code == killed || code == 130) {
			end.blows++
			e.count(p.kind, "index %d, %s after request %d", index, p.moment, p.requests)
			if p.disrupts() {
				continue
			}
		}
		if !slices.Contains([]int{0, 1, 5, 6, 130, killed}, code) || code == killed && !p.struck {
			e.t.Errorf("index %d: exit %d\n%s", index, code, out)
		}
		end.code = code
		return end
	}
}

// answer does what a person does about failed indexes: it answers the questions in the result of all shards, if there is
// one, by what the platform's log says.
func (e *engine) answer() {
	sent, answered := e.sent(), map[string]bool{}
	_, out := e.run("show", e.path("results/COMMIT"))
	for _, m := range toResolve.FindAllStringSubmatch(out, -1) {
		name, answer := strings.TrimPrefix(m[1], "Purge/"), "--repost"
		if answered[name] {
			continue
		}
		answered[name] = true
		if sent[name] > 0 {
			answer = "--posted"
		}
		e.count("settled "+answer, "%s", name)
		code, out := e.run("ledger", "resolve", m[1], answer, "--reason", "seen in the log", "-C", e.path("project/"+e.purges[name]))
		e.ends(ended{code, out}, 0)
	}
}

// judge compares the platform's log with the purges of the round, and the results of all shards with each other.
func (e *engine) judge() {
	sent := e.sent()
	e.tally["purges"] += len(e.purges)
	for name := range e.purges {
		switch n := sent[name]; {
		case n == 0:
			e.count("missing", "%s", name)
			e.t.Errorf("%s was never sent", name)
		case n > 1:
			e.count("doubled", "%s", name)
			e.t.Errorf("%s was sent %d times", name, n)
		}
		delete(sent, name)
	}
	if len(sent) > 0 {
		e.t.Errorf("nobody asked for %v", sent)
	}
	code, out := e.run("show", e.path("results/COMMIT"))
	e.ends(ended{code, out}, 0)
}
