package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A simulated pipeline takes the jobs of the template for GitLab as they stand,
// and runs their commands by bash, each in a clone of its own, with the variables
// that a project's settings and the host give to that kind of pipeline.

// pipeline is one run of the template.
type pipeline struct {
	s    *script
	host *codeHost
	dir  string
	// vars are those of every job.
	vars map[string]string
	jobs map[string]gitlabJob
	done map[string]string
}

// cmdPipeline runs the template as its host would:
//
//	pipeline SOURCE [NAME=VALUE…]
//
// SOURCE is merge_request_event, push or schedule; a value is of a variable, and
// that of CI_COMMIT_SHA may be any name of a commit. The branch change is to be
// merged into main, and the remote is remote.git.
func cmdPipeline(s *script, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	p := &pipeline{s: s, host: s.Value(codeHostKey{}).(*codeHost), vars: map[string]string{}, done: map[string]string{}}
	p.host.run++
	p.dir = s.MkAbs(fmt.Sprintf(".pipelines/%d", p.host.run))
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
		p.vars[name] = value
	}
	for len(p.jobs) > 0 {
		if err := p.runNext(); err != nil {
			return err
		}
	}
	return nil
}

// readJobs reads the template, with its inputs filled in by their defaults.
func (p *pipeline) readJobs() error {
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
		value := "tools/trueup"
		if input.Default != nil {
			value = fmt.Sprint(input.Default)
		}
		body = strings.ReplaceAll(body, "$[[ inputs."+name+" ]]", value)
	}
	if err := yaml.Unmarshal([]byte(body), &p.jobs); err != nil {
		return err
	}
	maps.Copy(p.vars, p.jobs[".trueup"].Variables)
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
		"CI": "true", "GITLAB_CI": "true", "CI_API_V4_URL": p.host.web.URL + "/api/v4", "CI_PROJECT_PATH": "acme/site",
		"CI_PIPELINE_ID": strconv.Itoa(p.host.run), "CI_PIPELINE_SOURCE": source, "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_SHA": head,
		"TRUEUP_DELIVERY_URL": p.s.Getenv("TRUEUP_DELIVERY_URL"), "TRUEUP_FORGE_TOKEN": hostToken,
		"TRUEUP_DELIVERY_READ_TOKEN": canary + "-reader",
	}
	if source == "merge_request_event" {
		p.host.Pull("7", head)
		set["CI_MERGE_REQUEST_IID"], set["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"], set["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = "7", "main", base
		set["CI_MERGE_REQUEST_PROJECT_PATH"], set["CI_MERGE_REQUEST_PROJECT_ID"], set["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] = "acme/site", "1", "1"
	} else {
		set["CI_COMMIT_BRANCH"], set["TRUEUP_DELIVERY_TOKEN"] = "main", p.s.Getenv("TRUEUP_DELIVERY_TOKEN")
	}
	maps.Copy(p.vars, set)
	return nil
}

// runNext runs the first job of which all that it needs have run.
func (p *pipeline) runNext() error {
	names := slices.Sorted(maps.Keys(p.jobs))
	i := slices.IndexFunc(names, func(name string) bool {
		return !slices.ContainsFunc(p.jobs[name].needs(name), func(n string) bool { _, ran := p.done[n]; return !ran })
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

// needs are the jobs before one: what it extends needs the one that builds.
func (j gitlabJob) needs(name string) []string {
	if len(j.Needs) == 0 && name != "trueup-build" {
		return []string{"trueup-build"}
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
	if j.Rules[i].When != "always" && slices.ContainsFunc(j.needs(name), failed) {
		return "skipped", nil
	}
	dir := filepath.Join(p.dir, name)
	if err := p.prepare(dir, name, j); err != nil {
		return "", err
	}
	if name == "trueup-build" {
		return "success", nil // the program that is tested is on the path already
	}
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", strings.Join(j.Script, "\n"))
	cmd.Dir, cmd.Env = dir, append(p.process(), "CI_PROJECT_DIR="+dir)
	for _, set := range []map[string]string{p.vars, j.Variables} {
		for name, value := range set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = p.s.Stdout(), p.s.Stdout()
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return j.outcome(ended.ExitCode()), nil
	}
	return "success", err
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

// prepare makes the folder of a job: a clone, and what the jobs before have kept.
func (p *pipeline) prepare(dir, name string, j gitlabJob) error {
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
	}
	ci := filepath.Join(dir, ".trueup", "ci")
	for _, n := range j.needs(name) {
		kept := filepath.Join(p.dir, n, ".trueup", "ci", "reports")
		if _, err := os.Stat(kept); err == nil {
			if err := os.CopyFS(filepath.Join(ci, "reports"), os.DirFS(kept)); err != nil {
				return err
			}
		}
	}
	return errors.Join(os.MkdirAll(ci, 0o700), os.WriteFile(filepath.Join(ci, "trueup"), []byte("#!/bin/sh\nexec trueup \"$@\"\n"), 0o700))
}

// process are the variables that every process of a script needs.
func (p *pipeline) process() []string { return (&runner{s: p.s}).process() }

func (p *pipeline) git(args ...string) (string, error) { return (&runner{s: p.s}).git(args...) }
