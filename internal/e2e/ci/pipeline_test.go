//go:build linux

package ci

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"trueup/internal/e2e/harness"
)

// A simulated pipeline takes the jobs of the template for GitLab as they stand,
// and runs their commands by bash, each in a clone of its own, with the variables
// that a project's settings and the host give to that kind of pipeline.

// pipeline is one run of the template.
type pipeline struct {
	s       *harness.Script
	host    *harness.CodeHost
	dir     string
	machine harness.Machine
	left    string
	// vars are those of every job, and scoped those of the environment trueup.
	vars, scoped map[string]string
	// base is what the jobs extend.
	base gitlabJob
	jobs map[string]gitlabJob
	done map[string]string
}

// cmdPipeline runs the template as its host would:
//
//	pipeline SOURCE [NAME=VALUE…]
//
// SOURCE is merge_request_event, push or schedule; a value is of a variable, and
// that of CI_COMMIT_SHA may be any name of a commit. The branch change is to be
// merged into main, and the remote is remote.git. The variables of the script are
// those of the environment trueup, and protected; what is named READ is of every job,
// and has the value of its namesake. The value of left is a folder that an earlier
// job left behind as the folder of those that check nothing out.
func cmdPipeline(s *harness.Script, args []string) error {
	if len(args) == 0 {
		return harness.ErrUsage
	}
	p := &pipeline{s: s, host: s.Value(harness.CodeHostKey{}).(*harness.CodeHost), vars: map[string]string{}, scoped: map[string]string{}, done: map[string]string{}}
	p.host.Run++
	p.dir = s.MkAbs(fmt.Sprintf(".pipelines/%d", p.host.Run))
	var err error
	if p.machine, err = s.Machine(); err != nil {
		return err
	}
	if err := errors.Join(p.readJobs(), p.predefine(args[0])); err != nil {
		return err
	}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		if name == "CI_COMMIT_SHA" {
			var err error
			if value, err = p.git("-C", "remote.git", "rev-parse", value); err != nil {
				return err
			}
		}
		if name == "left" {
			p.left = s.MkAbs(value)
			continue
		}
		p.vars[name] = value
	}
	for len(p.jobs) > 0 {
		if err := p.runNext(); err != nil {
			return err
		}
	}
	return p.machine.Check()
}

// hostTrueup makes the project that hosts trueup, and returns the commit of it.
func (p *pipeline) hostTrueup() (string, error) {
	dir := p.s.MkAbs("tools/trueup.git")
	if _, err := os.Stat(dir); err != nil {
		if err := copyTrueup(p.s, dir, "install.sh", "go.mod"); err != nil {
			return "", err
		}
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "trueup"}} {
			if _, err := p.git(append([]string{"-C", dir}, args...)...); err != nil {
				return "", err
			}
		}
	}
	return p.git("-C", dir, "rev-parse", "HEAD")
}

// readJobs reads the template, with its inputs filled in by their defaults.
func (p *pipeline) readJobs() error {
	commit, err := p.hostTrueup()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(p.s.Getenv("ROOT"), gitlabFile))
	if err != nil {
		return err
	}
	head, body, _ := strings.Cut(string(text), "\n---\n")
	var inputs gitlabInputs
	if err := yaml.Unmarshal([]byte(head), &inputs); err != nil {
		return err
	}
	for name, input := range inputs.Spec.Inputs {
		value := map[string]string{"project": "tools/trueup", "commit": commit}[name]
		if input.Default != nil {
			value = fmt.Sprint(input.Default)
		}
		body = strings.ReplaceAll(body, "$[[ inputs."+name+" ]]", value)
	}
	if err := yaml.Unmarshal([]byte(body), &p.jobs); err != nil {
		return err
	}
	p.base = p.jobs[".trueup"]
	maps.Copy(p.vars, p.base.Variables)
	delete(p.jobs, ".trueup")
	return nil
}

// predefine sets what the host and the settings of the project give to a pipeline:
// protected variables only where the branch is the default one.
func (p *pipeline) predefine(source string) error {
	branch := map[bool]string{true: "change", false: "main"}[source == "merge_request_event"]
	head, err := p.git("-C", "remote.git", "rev-parse", "refs/heads/"+branch)
	if err != nil {
		return err
	}
	base, err := p.git("-C", "remote.git", "merge-base", "refs/heads/main", head)
	if err != nil {
		return err
	}
	set := map[string]string{
		"CI": "true", "GITLAB_CI": "true", "CI_API_V4_URL": p.host.Web.URL + "/api/v4", "CI_PROJECT_PATH": "acme/site",
		"CI_SERVER_URL": "https://gitlab.example", "CI_JOB_TOKEN": "of-the-job",
		"CI_PIPELINE_ID": strconv.Itoa(p.host.Run), "CI_PIPELINE_SOURCE": source, "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_SHA": head,
		"TRUEUP_DELIVERY_READ_URL": p.s.Getenv("TRUEUP_DELIVERY_URL"), "TRUEUP_FORGE_TOKEN": harness.HostToken,
		"TRUEUP_DELIVERY_READ_TOKEN": harness.Canary + "-reader",
	}
	if source == "merge_request_event" {
		p.host.Pull("7", head)
		set["CI_MERGE_REQUEST_IID"], set["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"], set["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = "7", "main", base
		set["CI_MERGE_REQUEST_PROJECT_PATH"], set["CI_MERGE_REQUEST_PROJECT_ID"], set["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] = "acme/site", "1", "1"
	} else {
		set["CI_COMMIT_BRANCH"] = "main"
		for _, name := range []string{"TRUEUP_DELIVERY_URL", "TRUEUP_DELIVERY_TOKEN", "TRUEUP_WORKSPACE", "TRUEUP_LEDGER"} {
			if value := p.s.Getenv(name); value != "" {
				p.scoped[name] = value
			}
		}
	}
	maps.Copy(p.vars, set)
	return nil
}

// runNext runs the first job of which all that it needs have run.
func (p *pipeline) runNext() error {
	names := slices.Sorted(maps.Keys(p.jobs))
	i := slices.IndexFunc(names, func(name string) bool {
		return !slices.ContainsFunc(p.needs(p.jobs[name]), func(n string) bool { _, ran := p.done[n]; return !ran })
	})
	if i < 0 {
		return fmt.Errorf("jobs need each other: %v", names)
	}
	name := names[i]
	j := p.jobs[name]
	delete(p.jobs, name)
	result, err := p.run(name, j)
	if err != nil {
		return fmt.Errorf("job %s: %w", name, err)
	}
	p.done[name] = result
	if result != "" {
		_, err = fmt.Fprintf(p.s.Stdout(), "job %s: %s\n", name, result)
	}
	return err
}

// needs are the jobs before one, or before what it extends.
func (p *pipeline) needs(j gitlabJob) []string {
	if j.Needs == nil {
		return p.base.Needs
	}
	return j.Needs
}

// run returns what became of a job, nothing where no rule of it holds.
func (p *pipeline) run(name string, j gitlabJob) (string, error) {
	i := slices.IndexFunc(j.Rules, func(r gitlabRule) bool { return p.holds(r.If) })
	if i < 0 {
		return "", nil
	}
	failed := func(n string) bool { return strings.HasPrefix(p.done[n], "failed") }
	if j.Rules[i].When != "always" && slices.ContainsFunc(p.needs(j), failed) {
		return "skipped", nil
	}
	dir := filepath.Join(p.dir, name)
	if err := p.prepare(dir, j); err != nil {
		return "", err
	}
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", strings.Join(j.Script, "\n"))
	cmd.Dir, cmd.Env = dir, append(p.process(), "CI_PROJECT_DIR="+dir, "PATH="+p.machine.Path)
	for _, set := range []map[string]string{p.vars, j.Variables, p.ofEnvironment(j)} {
		for name, value := range set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = p.s.Stdout(), p.s.Stdout()
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return j.outcome(ended.ExitCode()), p.keep(name, j, j.Artifacts.When == "always")
	}
	return "success", errors.Join(err, p.keep(name, j, true))
}

// ofEnvironment are the variables that only the jobs of an environment get.
func (p *pipeline) ofEnvironment(j gitlabJob) map[string]string {
	if j.Environment.Name != "trueup" {
		return nil
	}
	set := maps.Clone(p.scoped)
	set["CI_ENVIRONMENT_NAME"] = j.Environment.Name
	return set
}

// outcome is how the host calls the end of a job that failed.
func (j gitlabJob) outcome(code int) string {
	allowed, ok := j.AllowFailure.(map[string]any)
	if j.AllowFailure == true || ok && allowed["exit_codes"] == code {
		return fmt.Sprintf("warning, exit code %d", code)
	}
	return fmt.Sprintf("failed, exit code %d", code)
}

// clause is a part of a rule.
var clause = regexp.MustCompile(`^\$(\w+) (==|!=) (?:\$(\w+)|"([^"]*)")$`)

// holds evaluates a rule.
func (p *pipeline) holds(rule string) bool {
	for part := range strings.SplitSeq(rule, " && ") {
		m := clause.FindStringSubmatch(part)
		if m == nil {
			return false
		}
		right := m[4]
		if m[3] != "" {
			right = p.vars[m[3]]
		}
		if (p.vars[m[1]] == right) != (m[2] == "==") {
			return false
		}
	}
	return true
}

// prepare makes the folder of a job: a clone, and over it what the jobs before have
// kept. As on the real host, links in the tree are followed on the way to a file, and
// a file takes the place of what has its name.
func (p *pipeline) prepare(dir string, j gitlabJob) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if j.Variables["GIT_STRATEGY"] != "none" {
		depth := "--depth=20"
		if j.Variables["GIT_DEPTH"] == "0" {
			depth = "--no-tags"
		}
		for _, args := range [][]string{
			{"init", "-q", dir},
			{"-C", dir, "remote", "add", "origin", "file://" + filepath.ToSlash(p.s.MkAbs("remote.git"))},
			{"-C", dir, "fetch", "-q", depth, "origin", p.vars["CI_COMMIT_SHA"]},
			{"-C", dir, "checkout", "-q", "--detach", "FETCH_HEAD"},
		} {
			if _, err := p.git(args...); err != nil {
				return err
			}
		}
	} else if p.left != "" {
		if err := overlay(p.left, dir); err != nil {
			return err
		}
	}
	for _, n := range p.needs(j) {
		if err := overlay(p.kept(n), dir); err != nil {
			return err
		}
	}
	return nil
}

// kept is the folder with what a job has kept.
func (p *pipeline) kept(job string) string { return filepath.Join(p.dir, ".kept", job) }

// keep keeps what a job leaves for later ones.
func (p *pipeline) keep(name string, j gitlabJob, due bool) error {
	if !due {
		return nil
	}
	for _, path := range j.Artifacts.Paths {
		from := filepath.Join(p.dir, name, path)
		info, err := os.Stat(from)
		if err != nil {
			continue // the host warns
		}
		if to := filepath.Join(p.kept(name), path); info.IsDir() {
			err = overlay(from, to)
		} else {
			err = overlayFile(from, to, info.Mode())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overlay copies the files of a folder, if there is one, over another.
func overlay(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		info, infoErr := d.Info()
		if err := errors.Join(err, infoErr); err != nil {
			return err
		}
		return overlayFile(path, filepath.Join(to, name), info.Mode())
	})
}

func overlayFile(from, to string, mode fs.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(to, text, mode)
}

// process are the variables that every process of a script needs. Git finds the
// host's own repositories in the script's folder, and on this machine it runs the
// hooks of a work tree.
func (p *pipeline) process() []string {
	return append((&runner{s: p.s}).process(), "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=url.file://"+filepath.ToSlash(p.s.MkAbs("tools"))+"/.insteadOf",
		"GIT_CONFIG_VALUE_0=https://gitlab-ci-token:of-the-job@gitlab.example/tools/",
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=.githooks")
}

func (p *pipeline) git(args ...string) (string, error) { return (&runner{s: p.s}).git(args...) }

func TestMain(m *testing.M) { harness.RunMain(m, nil) }

// TestCIScripts runs testdata: the shipped workflows and pipelines, from a change to an apply.
func TestCIScripts(t *testing.T) {
	t.Parallel()
	harness.RunScripts(t, "internal/e2e/ci/testdata", map[string]harness.Command{"workflow": cmdWorkflow, "pipeline": cmdPipeline})
}
