//go:build linux

package ci

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"trueup/internal/e2e/harness"
)

// names are what expressions of a job can ask for.
func (r *runner) names(j *runnerState) lookup {
	known := map[string]any{
		"github.event_name": r.given["event"], "github.token": harness.HostToken, "github.run_id": strconv.Itoa(r.host.Run), "github.run_attempt": r.attempt(),
		"github.ref": r.ref(), "runner.temp": filepath.Join(j.dir, "temp"),
		"job.workflow_repository": "tools/trueup", "job.workflow_sha": harness.ScriptBase,
		"github.action_path": filepath.Join(j.dir, "work", ".trueup-source"), "github.action_repository": "",
		"github.server_url": "https://github.example", "runner.tool_cache": filepath.Join(j.dir, "tools"),
		"github.repository": "acme/site", "github.event.pull_request.head.repo.full_name": map[bool]string{false: "acme/site", true: "mallory/site"}[r.event.Fork],
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
			return r.variable(j, part[1])
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

// variable is a variable of the environment of a job, where it has one, or else of
// the repository.
func (r *runner) variable(j *runnerState, name string) (string, error) {
	environment, err := filled(j.Environment, r.names(j))
	if err != nil {
		return "", err
	}
	if environment != "" && r.s.Getenv(name) != "" {
		return r.s.Getenv(name), nil
	}
	if plain := strings.Replace(name, "READ_", "", 1); plain != name {
		return r.s.Getenv(plain), nil
	}
	return r.s.Getenv("repository_" + name), nil
}

// secret is a secret of the repository; a caller names those that it gives. The
// tokens that may only read are the others.
func (r *runner) secret(name string) string {
	if r.event.Fork {
		return ""
	}
	if r.caller != nil {
		name = r.caller.secret(name)
	}
	return r.s.Getenv(strings.Replace(name, "_READ_", "_", 1))
}

func (r *runner) ref() string {
	if r.event.Number > 0 {
		return "refs/pull/7/merge"
	}
	return "refs/heads/main"
}

// runSteps runs what is due of the steps of a job or of an action.
func (r *runner) runSteps(j *runnerState, steps []runnerStep) error {
	for _, step := range steps {
		due, err := r.due(step.If, j.result, r.names(j))
		if err == nil && due {
			err = r.runStep(j, step)
		}
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			j.result, err = fmt.Sprintf("failure, exit code %d", failed.ExitCode()), nil
		}
		if err != nil {
			return fmt.Errorf("step %q%s: %w", step.Name, step.Uses, err)
		}
	}
	return nil
}

func (r *runner) runStep(j *runnerState, step runnerStep) error {
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
		return r.runCommands(j, step)
	case "actions/checkout":
		return r.checkout(j, with)
	case "actions/setup-go":
		return nil // the machine has one
	case "actions/cache/restore":
		return r.uncache(with)
	case "actions/cache/save":
		return r.cache(with)
	case "actions/upload-artifact":
		return r.keep(j, step, with)
	case "actions/download-artifact":
		return r.fetch(with)
	}
	if strings.HasPrefix(action, "./") {
		return r.runAction(j, filepath.Join(j.dir, "work", action, "action.yml"), with)
	}
	return fmt.Errorf("the simulated runner does not know the action %s", step.Uses)
}

// runCommands runs what a step runs, as the host's own runner does it.
func (r *runner) runCommands(j *runnerState, step runnerStep) error {
	if step.Shell != "bash" {
		return fmt.Errorf("the shell is %q", step.Shell)
	}
	dir, err := os.MkdirTemp(j.dir, "step")
	if err != nil {
		return err
	}
	file, output, summary, path := filepath.Join(dir, "run.sh"), filepath.Join(dir, "output"), filepath.Join(dir, "summary"), filepath.Join(dir, "path")
	for name, text := range map[string]string{file: step.Run, output: "", summary: "", path: ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", file)
	cmd.Dir = filepath.Join(j.dir, "work")
	cmd.Env = append(r.process(), r.environment(j)...)
	cmd.Env = append(cmd.Env, "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_PATH="+path, "PATH="+j.path+r.machine.Path)
	for name, value := range step.Env {
		value, err := filled(value, r.names(j))
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = r.s.Stdout(), r.s.Stdout()
	err = cmd.Run()
	set, readErr := readOutputs(output)
	if step.ID != "" {
		j.steps[step.ID] = set
	}
	added, pathErr := os.ReadFile(path)
	for dir := range strings.FieldsSeq(string(added)) {
		j.path = dir + string(filepath.ListSeparator) + j.path
	}
	return errors.Join(err, readErr, pathErr, collect(output, r.s.MkAbs("outputs")), collect(summary, r.s.MkAbs("summary.md")))
}

// attempt is how often the run was started.
func (r *runner) attempt() string { return cmp.Or(r.given["attempt"], "1") }

// process are the variables that every process of a script needs.
func (r *runner) process() []string {
	env := []string{"CI=true", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "GORACE", harness.TranscriptVar, harness.ClockVar} {
		env = append(env, name+"="+r.s.Getenv(name))
	}
	return env
}

// environment is what the host's runner says to a step.
func (r *runner) environment(j *runnerState) []string {
	env := []string{
		"GITHUB_ACTIONS=true", "GITHUB_API_URL=" + r.host.Web.URL + "/api/v3", "GITHUB_SERVER_URL=https://github.example",
		"GITHUB_REPOSITORY=acme/site", "GITHUB_EVENT_NAME=" + r.given["event"], "GITHUB_REF=" + r.ref(),
		"GITHUB_RUN_ID=" + strconv.Itoa(r.host.Run), "GITHUB_RUN_NUMBER=" + strconv.Itoa(r.host.Run), "GITHUB_RUN_ATTEMPT=" + r.attempt(),
		"GITHUB_WORKSPACE=" + filepath.Join(j.dir, "work"), "RUNNER_TEMP=" + filepath.Join(j.dir, "temp"),
		"GITHUB_ACTION_PATH=" + filepath.Join(j.dir, "work", ".trueup-source"),
	}
	if r.event.Number > 0 {
		env = append(env, "GITHUB_BASE_REF=main", "GITHUB_HEAD_REF=change", "GITHUB_EVENT_PATH="+filepath.Join(r.dir, "event.json"))
	}
	return env
}
