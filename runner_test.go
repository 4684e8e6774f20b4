package main

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
)

// A simulated runner takes the steps of a shipped workflow as they stand, and
// runs their commands by bash, each with the variables that the step maps and no
// others, in a checkout of its own. Actions that are not ours it plays: a
// checkout, and files that are kept from job to job.

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
	s    *script
	host *codeHost
	// given are the inputs, and what the script says of the run: event, head,
	// fork, run, attempt.
	given map[string]string
	// caller is the workflow that calls, nil where none does.
	caller *runnerCall
	// dir is the folder of the run, and event what its file says.
	dir   string
	event pullEvent
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
}

// cmdWorkflow runs a shipped workflow as its host would:
//
//	workflow FILE EVENT [NAME=VALUE…]
//
// FILE is a shipped one, or with its folders one of the script's own repository
// that calls such. A value is an input, or one of head (a commit of the pull
// request that the run is of), fork, run and attempt; @NAME is an output of the
// run before. What the steps print is printed; summary.md and outputs hold what
// they wrote for the host, artifacts what they keep.
func cmdWorkflow(s *script, args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	r := &runner{
		s: s, host: s.Value(codeHostKey{}).(*codeHost), given: map[string]string{"event": args[1]},
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
	if err := r.begin(); err != nil {
		return err
	}
	for len(r.jobs) < len(w.Jobs) {
		if err := r.runNext(w.Jobs); err != nil {
			return err
		}
	}
	return nil
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
	r.host.run++
	if n := r.given["run"]; n != "" {
		var err error
		if r.host.run, err = strconv.Atoi(n); err != nil {
			return err
		}
	}
	r.dir = r.s.MkAbs(fmt.Sprintf(".runs/%d", r.host.run))
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
	r.event = pullEvent{number: 7, base: base, head: newest, fork: r.given["fork"] != ""}
	if of := r.given["head"]; of != "" {
		if r.event.head, err = r.git("rev-parse", of); err != nil {
			return err
		}
	}
	tree, err := r.git("merge-tree", "--write-tree", base, r.event.head)
	if err != nil {
		return err
	}
	merge, err := r.git("commit-tree", tree, "-p", base, "-p", r.event.head, "-m", "merge")
	if err != nil {
		return err
	}
	_, err = r.git("update-ref", "refs/pull/7/merge", merge)
	return errors.Join(err, writeEvent(filepath.Join(r.dir, "event.json"), r.event))
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
	// What the token of a run may do, the job says; a fork's may only read.
	writes := j.Permissions["pull-requests"] == "write" || j.Permissions["issues"] == "write"
	r.host.Token(hostToken, hostBot, writes && !r.event.fork, false)
	for n, step := range j.Steps {
		due, err := r.due(step.If, j.result, r.names(j))
		if err == nil && due {
			err = r.runStep(j, n, step)
		}
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			j.result, err = fmt.Sprintf("failure, exit code %d", failed.ExitCode()), nil
		}
		if err != nil {
			return fmt.Errorf("step %q%s: %w", step.Name, step.Uses, err)
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

// due tells whether a condition holds; one that asks for no state of the job
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

// names are what expressions of a job can ask for.
func (r *runner) names(j *runnerState) lookup {
	known := map[string]any{
		"github.event_name": r.given["event"], "github.token": hostToken, "github.run_id": strconv.Itoa(r.host.run),
		"github.ref": r.ref(), "runner.temp": filepath.Join(j.dir, "temp"),
		"job.workflow_repository": "tools/trueup", "job.workflow_sha": scriptBase,
	}
	return func(name string) (any, error) {
		if value, found := known[name]; found {
			return value, nil
		}
		part := strings.Split(name, ".")
		switch {
		case part[0] == "inputs" && r.inputs[part[1]] != nil:
			return r.inputs[part[1]], nil
		case part[0] == "vars":
			return r.s.Getenv(part[1]), nil
		case part[0] == "secrets":
			return r.secret(part[1]), nil
		case part[0] == "steps" && len(part) == 4 && part[2] == "outputs":
			return j.steps[part[1]][part[3]], nil
		case part[0] == "needs" && len(part) == 4 && part[1] == j.Needs:
			return r.jobs[j.Needs].outputs[part[3]], nil
		}
		return nil, fmt.Errorf("the simulated runner does not know %s", name)
	}
}

// secret is a secret of the repository; a caller names those that it gives. The
// tokens that may only read are the others.
func (r *runner) secret(name string) string {
	if r.event.fork {
		return ""
	}
	if r.caller != nil {
		name = r.caller.secret(name)
	}
	return r.s.Getenv(strings.Replace(name, "_READ_", "_", 1))
}

func (r *runner) ref() string {
	if r.event.number > 0 {
		return "refs/pull/7/merge"
	}
	return "refs/heads/main"
}

func (r *runner) runStep(j *runnerState, n int, step runnerStep) error {
	with := map[string]string{}
	for name, value := range step.With {
		var err error
		if with[name], err = filled(value, r.names(j)); err != nil {
			return err
		}
	}
	action, _, _ := strings.Cut(step.Uses, "@")
	switch action {
	case "":
		return r.runCommands(j, n, step)
	case "actions/checkout":
		return r.checkout(j, with)
	case "actions/upload-artifact":
		return r.keep(j, step, with)
	case "actions/download-artifact":
		return r.fetch(with)
	case "./.trueup-source":
		return nil // the program that is tested is on the path already
	}
	return fmt.Errorf("the simulated runner does not know the action %s", step.Uses)
}

// runCommands runs what a step runs, as the host's own runner does it.
func (r *runner) runCommands(j *runnerState, n int, step runnerStep) error {
	if step.Shell != "bash" {
		return fmt.Errorf("the shell is %q", step.Shell)
	}
	file := filepath.Join(j.dir, fmt.Sprintf("step%d.sh", n))
	output, summary := file+".output", file+".summary"
	for name, text := range map[string]string{file: step.Run, output: "", summary: ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", file)
	cmd.Dir = filepath.Join(j.dir, "work")
	cmd.Env = append(r.process(), r.environment(j, output, summary)...)
	for name, value := range step.Env {
		value, err := filled(value, r.names(j))
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = r.s.Stdout(), r.s.Stdout()
	err := cmd.Run()
	set, readErr := readOutputs(output)
	if step.ID != "" {
		j.steps[step.ID] = set
	}
	return errors.Join(err, readErr, collect(output, r.s.MkAbs("outputs")), collect(summary, r.s.MkAbs("summary.md")))
}

// process are the variables that every process of a script needs.
func (r *runner) process() []string {
	env := []string{"CI=true", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "GORACE", transcriptVar, clockVar} {
		env = append(env, name+"="+r.s.Getenv(name))
	}
	return env
}

// environment is what the host's runner says to a step.
func (r *runner) environment(j *runnerState, output, summary string) []string {
	attempt := r.given["attempt"]
	if attempt == "" {
		attempt = "1"
	}
	env := []string{
		"GITHUB_ACTIONS=true", "GITHUB_API_URL=" + r.host.web.URL + "/api/v3", "GITHUB_SERVER_URL=https://github.example",
		"GITHUB_REPOSITORY=acme/site", "GITHUB_EVENT_NAME=" + r.given["event"], "GITHUB_REF=" + r.ref(),
		"GITHUB_RUN_ID=" + strconv.Itoa(r.host.run), "GITHUB_RUN_NUMBER=" + strconv.Itoa(r.host.run), "GITHUB_RUN_ATTEMPT=" + attempt,
		"GITHUB_OUTPUT=" + output, "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_WORKSPACE=" + filepath.Join(j.dir, "work"),
		"RUNNER_TEMP=" + filepath.Join(j.dir, "temp"),
	}
	if r.event.number > 0 {
		env = append(env, "GITHUB_BASE_REF=main", "GITHUB_HEAD_REF=change", "GITHUB_EVENT_PATH="+filepath.Join(r.dir, "event.json"))
	}
	return env
}
