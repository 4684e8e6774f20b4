//go:build linux

package ci

import (
	"errors"
	"fmt"
	"io"
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

	"go.yaml.in/yaml/v4"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/long"
)

// The template for GitLab is run by gitlab-ci-local, as it stands: each job in a clone
// of its own, with the variables that a project's settings and the host give to it.

// pipeline is one run of the template.
type pipeline struct {
	s    *harness.Script
	host *harness.CodeHost
	// dir is the clone in which the pipeline starts.
	dir, source string
	fleet       bool
	machine     harness.Machine
	// vars are those of every job, and scoped those of the environment trueup.
	vars, scoped map[string]string
	// inputs are those of the caller that a script chooses.
	inputs map[string]string
}

// cmdPipeline runs the template as its host would:
//
//	pipeline SOURCE [fleet] [NAME=VALUE…]
//
// SOURCE is merge_request_event, push, web or schedule; a value is of a variable, or of
// an input if the name is in lower case. With fleet, it is the template for many projects,
// as docs/fleets.md includes it. That of CI_COMMIT_SHA may be any name of a commit. The branch change is to be
// merged into main, and the remote is remote.git. The variables of the script are
// those of the environment trueup, and protected; what is named READ is of every job,
// and has the value of its namesake. TRUEUP_PROJECTS is a file in the script, and of the type File.
func cmdPipeline(s *harness.Script, args []string) error {
	if len(args) == 0 {
		return harness.ErrUsage
	}
	p := &pipeline{s: s, host: s.Value(harness.CodeHostKey{}).(*harness.CodeHost), source: args[0], inputs: map[string]string{"directory": "."}}
	p.host.Run++
	p.dir = s.MkAbs(fmt.Sprintf(".pipelines/%d", p.host.Run))
	var err error
	if p.machine, err = s.Machine(); err != nil {
		return err
	}
	if err := p.predefine(); err != nil {
		return err
	}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		switch {
		case a == "fleet":
			p.fleet = true
		case name == strings.ToLower(name):
			p.inputs[name] = value
		default:
			p.vars[name] = value
		}
	}
	return errors.Join(p.prepare(), p.run(), p.machine.Check())
}

// predefine sets what the host and the settings of the project give to a pipeline:
// protected variables only where the branch is the default one.
func (p *pipeline) predefine() error {
	branch := map[bool]string{true: "change", false: "main"}[p.source == "merge_request_event"]
	head, err := p.git("-C", "remote.git", "rev-parse", "refs/heads/"+branch)
	if err != nil {
		return err
	}
	base, err := p.git("-C", "remote.git", "merge-base", "refs/heads/main", head)
	if err != nil {
		return err
	}
	p.scoped = map[string]string{}
	p.vars = map[string]string{
		"GITLAB_CI": "true", "CI_API_V4_URL": p.host.Web.URL + "/api/v4", "CI_PROJECT_PATH": "acme/site", "CI_JOB_TOKEN": "of-the-job",
		"CI_PIPELINE_ID": strconv.Itoa(p.host.Run), "CI_PIPELINE_SOURCE": p.source, "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_SHA": head,
		"TRUEUP_DELIVERY_READ_URL": p.s.Getenv("TRUEUP_DELIVERY_URL"), "TRUEUP_FORGE_TOKEN": harness.HostToken,
		"TRUEUP_DELIVERY_READ_TOKEN": harness.Canary + "-reader", "TRUEUP_READ_WORKSPACE": p.s.Getenv("TRUEUP_WORKSPACE"),
	}
	if p.source == "merge_request_event" {
		p.host.Pull("7", head)
		maps.Copy(p.vars, map[string]string{
			"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
			"CI_MERGE_REQUEST_PROJECT_PATH": "acme/site", "CI_MERGE_REQUEST_PROJECT_ID": "1", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1", "CI_COMMIT_BRANCH": "",
		})
		return nil
	}
	p.vars["CI_COMMIT_BRANCH"] = "main"
	for _, name := range []string{"TRUEUP_DELIVERY_URL", "TRUEUP_DELIVERY_TOKEN", "TRUEUP_WORKSPACE", "TRUEUP_LEDGER"} {
		if value := p.s.Getenv(name); value != "" {
			p.scoped[name] = value
		}
	}
	return nil
}

// prepare makes the clone, the pipeline of it and the project that hosts trueup.
func (p *pipeline) prepare() error {
	var err error
	if p.vars["CI_COMMIT_SHA"], err = p.git("-C", "remote.git", "rev-parse", p.vars["CI_COMMIT_SHA"]); err != nil {
		return err
	}
	commit, err := p.hostTrueup()
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", p.dir},
		{"-C", p.dir, "remote", "add", "origin", "https://gitlab.example/acme/site.git"},
		{"-C", p.dir, "fetch", "-q", "file://" + filepath.ToSlash(p.s.MkAbs("remote.git")), p.vars["CI_COMMIT_SHA"]},
		{"-C", p.dir, "checkout", "-q", "--detach", "FETCH_HEAD"},
	} {
		if _, err := p.git(args...); err != nil {
			return err
		}
	}
	// Pipelines share what they cache.
	state, cache := filepath.Join(p.dir, ".gitlab-ci-local"), p.s.MkAbs(".pipelines/cache")
	err = errors.Join(os.MkdirAll(state, 0o700), os.MkdirAll(cache, 0o700), os.Symlink(cache, filepath.Join(state, "cache")))
	caller, callerErr := p.caller()
	if err := errors.Join(err, callerErr); err != nil {
		return err
	}
	var inputs []string
	for name, value := range p.inputs {
		text := strconv.Quote(value)
		if value == "true" {
			text = value
		}
		inputs = append(inputs, name+": "+text)
	}
	// It looks for the host in the address of the remote, so only the jobs have the settings of that.
	maps.Copy(p.vars, p.gitSettings())
	scoped := map[string]map[string]any{}
	for _, of := range []struct {
		scope string
		vars  map[string]string
	}{{"*", p.vars}, {"trueup", p.scoped}} {
		for name, value := range of.vars {
			if scoped[name] == nil {
				scoped[name] = map[string]any{"values": map[string]string{}}
			}
			scoped[name]["values"].(map[string]string)[of.scope] = value
		}
	}
	if file := p.s.Getenv("TRUEUP_PROJECTS"); file != "" {
		pins := p.s.ReadFile(file)
		scoped["TRUEUP_PROJECTS"] = map[string]any{"type": "file", "values": map[string]string{"trueup": pins}}
		scoped["TRUEUP_READ_PROJECTS"] = map[string]any{"type": "file", "values": map[string]string{"*": pins}}
	}
	variables, err := yaml.Marshal(scoped)
	return errors.Join(err, os.WriteFile(p.dir+".variables.yml", variables, 0o600), os.WriteFile(filepath.Join(p.dir, ".gitlab-ci.yml"),
		[]byte(strings.NewReplacer("OWNER", "tools", "COMMIT", commit, `directory: "."`, strings.Join(inputs, ", ")).Replace(caller)), 0o600))
}

// caller is the file that init writes, or that docs/fleets.md shows.
func (p *pipeline) caller() (string, error) {
	file := filepath.Join("internal", "generate", "ci", "gitlab", ".gitlab-ci.yml")
	if p.fleet {
		file = filepath.Join("docs", "fleets.md")
	}
	text, err := os.ReadFile(filepath.Join(p.s.Getenv("ROOT"), file))
	if all := blocks(string(text)); p.fleet && len(all) > 0 {
		return all[slices.IndexFunc(all, func(block string) bool { return strings.Contains(block, "file: templates/") })], err
	}
	return string(text), err
}

// hostTrueup makes the project that hosts trueup, and returns the commit of it.
func (p *pipeline) hostTrueup() (string, error) {
	dir := p.s.MkAbs("tools/trueup.git")
	if _, err := os.Stat(dir); err != nil {
		if err := copyTrueup(p.s, dir, "go.mod", "install.sh", gitlabFile, gitlabFleetFile); err != nil {
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

var (
	// Before the name of a job of a child pipeline stands the name of the one that starts it.
	printedLine = regexp.MustCompile(`^\s*(?:\[\S+\] -> )?(\S+(?:: \[\S+\])?) +> ?(.*)$`)
	finishedJob = regexp.MustCompile(`^(?:\[\S+\] -> )?(\S+(?:: \[\S+\])?) +finished in .*?(?:(FAIL|WARN) (\d+))? *$`)
)

// run runs the jobs, and prints what they print and what became of each.
func (p *pipeline) run() error {
	args := []string{
		"--variables-file", "../" + filepath.Base(p.dir) + ".variables.yml", "--home", p.dir + ".home",
		"--force-shell-executor", "--shell-isolation", "--color=false", "--no-json-schema-validation", "--concurrency=1",
	}
	// By itself it takes the folder of an image.
	args = append(args, "--variable", "CI_PROJECT_DIR="+filepath.Join(p.dir, ".gitlab-ci-local", "builds", "$CI_JOB_NAME"))
	git := p.gitSettings()
	cmd := exec.Command("gitlab-ci-local", args...)
	cmd.Env = append((&runner{s: p.s}).process(), "PATH="+p.machine.Path, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0="+git["GIT_CONFIG_KEY_0"], "GIT_CONFIG_VALUE_0="+git["GIT_CONFIG_VALUE_0"], "GCL_IGNORE_PREDEFINED_VARS="+strings.Join(slices.Collect(maps.Keys(p.vars)), ","))
	cmd.Dir = p.dir
	out, runErr := cmd.CombinedOutput()
	if err := os.Remove(p.dir + ".variables.yml"); err != nil { // it has tokens
		return err
	}
	var text strings.Builder
	ended := 0
	for line := range strings.Lines(string(out)) {
		if m := printedLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			text.WriteString(m[2] + "\n")
		}
		if m := finishedJob.FindStringSubmatch(strings.TrimSpace(line)); m != nil && m[1] != "pipeline" {
			ended++
			result := map[string]string{"": "success", "FAIL": "failed, exit code " + m[3], "WARN": "warning, exit code " + m[3]}[m[2]]
			text.WriteString("job " + m[1] + ": " + result + "\n")
		}
	}
	if ended == 0 {
		return fmt.Errorf("gitlab-ci-local ran no job: %w\n%s", runErr, out)
	}
	_, err := io.WriteString(p.s.Stdout(), text.String())
	return err
}

// gitSettings let git find the host's repositories in the script's folder. On this
// machine it also runs the hooks of a work tree.
func (p *pipeline) gitSettings() map[string]string {
	at := "file://" + filepath.ToSlash(p.s.MkAbs("."))
	set := map[string]string{}
	for i, setting := range [][2]string{
		{"url." + at + "/tools/.insteadOf", "https://gitlab.example/tools/"},
		{"core.hooksPath", ".githooks"},
		{"url." + at + "/remote.git.insteadOf", "https://gitlab.example/acme/site.git"},
	} {
		n := strconv.Itoa(i)
		set["GIT_CONFIG_KEY_"+n], set["GIT_CONFIG_VALUE_"+n], set["GIT_CONFIG_COUNT"] = setting[0], setting[1], strconv.Itoa(i+1)
	}
	return set
}

func (p *pipeline) git(args ...string) (string, error) { return (&runner{s: p.s}).git(args...) }

func TestMain(m *testing.M) { harness.RunMain(m, nil) }

// TestCIScripts runs testdata: the shipped workflows and pipelines, from a change to an apply.
func TestCIScripts(t *testing.T) {
	long.SkipUnlessSet(t)
	t.Parallel()
	// go test's cache knows what this process opens, and not what the runners do.
	harness.ReadText(t, "install.sh")
	harness.ReadText(t, "action.yml")
	err := filepath.WalkDir(harness.FromRoot(t, "internal/e2e/ci/testdata/actions"), func(_ string, _ fs.DirEntry, err error) error { return err })
	if err != nil {
		t.Fatal(err)
	}
	harness.RunScripts(t, "internal/e2e/ci/testdata", true, map[string]harness.Command{"workflow": cmdWorkflow, "pipeline": cmdPipeline})
}
