//go:build linux

package ci

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/e2e/harness"
)

// A simulated runner takes the steps of a shipped workflow as they stand, and
// runs their commands by bash, each with the variables that the step maps and no
// others, in a checkout of its own. So does it with those of our action, which it
// finds where the workflow says. Actions that are not ours it plays: a checkout, and
// files that are kept from job to job.

// runnerStep is a step of a job.
type runnerStep struct {
	ID    string            `yaml:"id"`
	Name  string            `yaml:"name"`
	If    string            `yaml:"if"`
	Uses  string            `yaml:"uses"`
	Run   string            `yaml:"run"`
	Shell string            `yaml:"shell"`
	Env   map[string]string `yaml:"env"`
	With  map[string]string `yaml:"with"`
}

// runnerJob is a job of a workflow.
type runnerJob struct {
	Needs       string            `yaml:"needs"`
	If          string            `yaml:"if"`
	Environment string            `yaml:"environment"`
	Permissions map[string]string `yaml:"permissions"`
	Outputs     map[string]string `yaml:"outputs"`
	Steps       []runnerStep      `yaml:"steps"`
}

// runnerWorkflow is a workflow that others call.
type runnerWorkflow struct {
	On struct {
		Call struct {
			Inputs map[string]struct {
				Default any `yaml:"default"`
			} `yaml:"inputs"`
		} `yaml:"workflow_call"`
	} `yaml:"on"`
	Jobs map[string]runnerJob `yaml:"jobs"`
}

// runner is one run of a workflow.
type runner struct {
	s    *harness.Script
	host *harness.CodeHost
	// given are the inputs, and what the script says of the run: event, head,
	// fork, run, attempt, left.
	given   map[string]string
	machine harness.Machine
	// caller is the workflow that calls, nil where none does.
	caller *runnerCall
	// dir is the folder of the run, and event what its file says.
	dir   string
	event harness.PullEvent
	// inputs, and the outcome and outputs of jobs.
	inputs map[string]any
	jobs   map[string]*runnerState
}

// runnerState is a job that runs or has run.
type runnerState struct {
	runnerJob
	dir     string
	result  string
	outputs map[string]string
	steps   map[string]map[string]string
	// path are the folders with programs that steps have added.
	path    string
	actions []loadedAction
}

// cmdWorkflow runs a shipped workflow as its host would:
//
//	workflow FILE EVENT [NAME=VALUE…]
//
// FILE is a shipped one, or with its folders one of the script's own repository
// that calls such. A value is an input, or one of head (a commit of the pull
// request that the run is of), fork, run and attempt, and left (what .trueup-source
// links to on a runner that kept its disk); @NAME is an output of the run before.
// What the steps print is printed; summary.md and outputs hold what they wrote for
// the host, artifacts what they keep.
//
// The variables of the script are those of the host's environment trueup, and the
// secrets; with repository_ before its name, a variable is one of the repository.
// What is named READ is of the repository, and has the value of its namesake.
func cmdWorkflow(s *harness.Script, args []string) error {
	if len(args) < 2 {
		return harness.ErrUsage
	}
	r := &runner{
		s: s, host: s.Value(harness.CodeHostKey{}).(*harness.CodeHost), given: map[string]string{"event": args[1]},
		inputs: map[string]any{}, jobs: map[string]*runnerState{},
	}
	for _, a := range args[2:] {
		name, value, _ := strings.Cut(a, "=")
		if of, found := strings.CutPrefix(value, "@"); found {
			said, err := readOutputs(s.MkAbs("outputs"))
			if err != nil {
				return err
			}
			value = said[of]
		}
		r.given[name] = value
	}
	w, err := r.read(args[0])
	if err != nil {
		return err
	}
	for name, input := range w.On.Call.Inputs {
		r.inputs[name] = input.Default
		if value, found := r.given[name]; found {
			r.inputs[name] = value
		}
	}
	if r.machine, err = s.Machine(); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	for len(r.jobs) < len(w.Jobs) {
		if err := r.runNext(w.Jobs); err != nil {
			return err
		}
	}
	return r.machine.Check()
}

// read reads a shipped workflow, or the one that a workflow of the script's own
// repository calls.
func (r *runner) read(name string) (w runnerWorkflow, err error) {
	if strings.Contains(name, "/") {
		if r.caller, err = r.readCaller(name); err != nil {
			return w, err
		}
		name = r.caller.file()
	}
	text, err := os.ReadFile(filepath.Join(r.s.Getenv("ROOT"), ".github", "workflows", name))
	if err == nil {
		err = yaml.Unmarshal(text, &w)
	}
	if err == nil && r.caller != nil {
		err = r.caller.grants(w.Jobs)
	}
	return w, err
}

// git runs git in the script's repository, which is the host's.
func (r *runner) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.s.MkAbs(".")
	cmd.Env = append(r.process(), "GIT_AUTHOR_NAME=host", "GIT_AUTHOR_EMAIL=host@example.com",
		"GIT_COMMITTER_NAME=host", "GIT_COMMITTER_EMAIL=host@example.com")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// begin numbers the run, and makes the merge that a run of a pull request is of.
func (r *runner) begin() error {
	r.host.Run++
	if n := r.given["run"]; n != "" {
		var err error
		if r.host.Run, err = strconv.Atoi(n); err != nil {
			return err
		}
	}
	r.dir = r.s.MkAbs(fmt.Sprintf(".runs/%d", r.host.Run))
	for _, name := range []string{"summary.md", "outputs"} {
		if err := os.WriteFile(r.s.MkAbs(name), nil, 0o600); err != nil {
			return err
		}
	}
	if err := errors.Join(os.RemoveAll(r.dir), os.MkdirAll(r.dir, 0o700)); err != nil {
		return err
	}
	base, err := r.git("rev-parse", "refs/heads/main")
	if err != nil || r.given["event"] != "pull_request" {
		return err
	}
	newest, err := r.git("rev-parse", "refs/heads/change")
	if err != nil {
		return err
	}
	r.host.Pull("7", newest)
	r.event = harness.PullEvent{Number: 7, Base: base, Head: newest, Fork: r.given["fork"] != ""}
	if of := r.given["head"]; of != "" {
		if r.event.Head, err = r.git("rev-parse", of); err != nil {
			return err
		}
	}
	tree, err := r.git("merge-tree", "--write-tree", base, r.event.Head)
	if err != nil {
		return err
	}
	merge, err := r.git("commit-tree", tree, "-p", base, "-p", r.event.Head, "-m", "merge")
	if err != nil {
		return err
	}
	_, err = r.git("update-ref", "refs/pull/7/merge", merge)
	return errors.Join(err, harness.WriteEvent(filepath.Join(r.dir, "event.json"), r.event))
}

// runNext runs a job whose needs have run.
func (r *runner) runNext(jobs map[string]runnerJob) error {
	names := make([]string, 0, len(jobs))
	for name := range jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	i := slices.IndexFunc(names, func(name string) bool {
		return r.jobs[name] == nil && (jobs[name].Needs == "" || r.jobs[jobs[name].Needs] != nil)
	})
	if i < 0 {
		return errors.New("jobs need each other, or one that is not there")
	}
	j := &runnerState{runnerJob: jobs[names[i]], dir: filepath.Join(r.dir, names[i]), result: "success", steps: map[string]map[string]string{}}
	r.jobs[names[i]] = j
	if err := r.runJob(j); err != nil {
		return fmt.Errorf("job %s: %w", names[i], err)
	}
	_, err := fmt.Fprintf(r.s.Stdout(), "job %s: %s\n", names[i], j.result)
	return err
}

func (r *runner) runJob(j *runnerState) error {
	before := "success"
	if j.Needs != "" {
		before = r.jobs[j.Needs].result
	}
	if due, err := r.due(j.If, before, r.names(j)); err != nil || !due {
		j.result = "skipped"
		return err
	}
	for _, dir := range []string{"work", "temp"} {
		if err := os.MkdirAll(filepath.Join(j.dir, dir), 0o700); err != nil {
			return err
		}
	}
	if left := r.given["left"]; left != "" {
		if err := os.Symlink(r.s.MkAbs(left), filepath.Join(j.dir, "work", ".trueup-source")); err != nil {
			return err
		}
	}
	// What the token of a run may do, the job says; a fork's may only read.
	writes := j.Permissions["pull-requests"] == "write" || j.Permissions["issues"] == "write"
	r.host.Token(harness.HostToken, harness.HostBot, writes && !r.event.Fork, false)
	if err := r.runSteps(j, j.Steps); err != nil {
		return err
	}
	for _, a := range j.actions {
		if err := a.unchanged(); err != nil {
			return err
		}
	}
	j.outputs = map[string]string{}
	for name, value := range j.Outputs {
		var err error
		if j.outputs[name], err = filled(value, r.names(j)); err != nil {
			return err
		}
	}
	return nil
}

// due reports whether a condition holds; one that asks for no state of the job
// holds only while nothing has failed.
func (r *runner) due(condition, result string, names lookup) (bool, error) {
	condition = strings.TrimSpace(condition)
	condition = strings.TrimSuffix(strings.TrimPrefix(condition, "${{"), "}}")
	if !strings.Contains(condition, "()") {
		if result != "success" {
			return false, nil
		}
		if condition == "" {
			return true, nil
		}
	}
	value, err := evaluate(condition, func(name string) (any, error) {
		switch name {
		case "success()":
			return result == "success", nil
		case "failure()":
			return strings.HasPrefix(result, "failure"), nil
		case "always()":
			return true, nil
		case "cancelled()":
			return false, nil
		}
		return names(name)
	})
	return truthy(value), err
}
