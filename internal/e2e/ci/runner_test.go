//go:build linux

package ci

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/e2e/harness"
)

// A shipped workflow is run by act, as it stands, in a job on this machine. Of the
// actions that are not ours, testdata/actions has stand-ins. act knows no environments,
// and gives every job one token of the host.

// trueupCommit is the commit at which workflows are called.
const trueupCommit = "0123456789abcdef0123456789abcdef01234567"

// runner is one run of a workflow.
type runner struct {
	s    *harness.Script
	host *harness.CodeHost
	// given are the inputs, and what the script says of the run: event, head, fork, run, attempt, full.
	given   map[string]string
	machine harness.Machine
	// dir is the folder of the run, and event what its file says.
	dir   string
	event harness.PullEvent
	// file is the shipped workflow that is called.
	file string
}

// cmdWorkflow runs a shipped workflow in act:
//
//	workflow FILE EVENT [NAME=VALUE…]
//
// FILE is a shipped one, which the file that init writes calls, or that docs/fleets.md
// shows, or with its folders one of the script's own repository that calls such. A value is an input, or one of
// head (a commit of the pull request that the run is of), fork, run, attempt, and full
// (the host takes no artifacts whose names match it); @NAME is an output of the run before. What the steps
// print is printed; summary.md and outputs hold what they wrote for the host, artifacts
// what they keep.
//
// The variables of the script are those of the host, for plans with READ in their names,
// and the secrets. TRUEUP_PROJECTS has what the file of that name in the script says. If there are some with repository_ before their name, it is only
// those: without environments in act, the input environment is passed only then.
func cmdWorkflow(s *harness.Script, args []string) error {
	if len(args) < 2 {
		return harness.ErrUsage
	}
	r := &runner{s: s, host: s.Value(harness.CodeHostKey{}).(*harness.CodeHost), given: map[string]string{"event": args[1]}}
	for _, a := range args[2:] {
		name, value, _ := strings.Cut(a, "=")
		if of, found := strings.CutPrefix(value, "@"); found {
			m := regexp.MustCompile(`(?m)^` + of + `=(.*)$`).FindStringSubmatch(s.ReadFile("outputs"))
			if m == nil {
				return fmt.Errorf("the run before had no output %s", of)
			}
			value = m[1]
		}
		r.given[name] = value
	}
	var err error
	if r.machine, err = s.Machine(); err != nil {
		return err
	}
	if err := errors.Join(r.begin(), r.writeCaller(args[0])); err != nil {
		return err
	}
	return errors.Join(r.act(), r.machine.Check())
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
	// What a run keeps is its own.
	if err := errors.Join(os.RemoveAll(r.dir), os.RemoveAll(r.s.MkAbs("artifacts")), os.MkdirAll(filepath.Join(r.dir, "home"), 0o700)); err != nil {
		return err
	}
	base, err := r.git("rev-parse", "refs/heads/main")
	if err != nil {
		return err
	}
	r.event = harness.PullEvent{Base: base, Head: base, Fork: r.given["fork"] != ""}
	of := base
	if r.given["event"] == "pull_request" {
		if of, err = r.merge(); err != nil {
			return err
		}
	}
	r.host.Token(harness.HostToken, harness.HostBot, !r.event.Fork, false)
	_, err = r.git("worktree", "add", "-qf", "--detach", filepath.Join(r.dir, "site"), of)
	return errors.Join(err, harness.WriteEvent(filepath.Join(r.dir, "event.json"), r.event))
}

// merge is the host's merge of the pull request.
func (r *runner) merge() (string, error) {
	newest, err := r.git("rev-parse", "refs/heads/change")
	if err != nil {
		return "", err
	}
	r.host.Pull("7", newest)
	r.event.Number = 7
	if r.event.Head, err = r.git("rev-parse", cmp.Or(r.given["head"], newest)); err != nil {
		return "", err
	}
	tree, err := r.git("merge-tree", "--write-tree", r.event.Base, r.event.Head)
	if err != nil {
		return "", err
	}
	merge, err := r.git("commit-tree", tree, "-p", r.event.Base, "-p", r.event.Head, "-m", "merge")
	if err != nil {
		return "", err
	}
	_, err = r.git("update-ref", "refs/pull/7/merge", merge)
	return merge, err
}

// writeCaller writes the workflow that calls the shipped one, with the inputs of the run.
func (r *runner) writeCaller(name string) error {
	event := any(r.given["event"])
	text, err := r.git("show", "main:"+name)
	if strings.Contains(name, "/") {
		event = nil
	} else {
		text, err = r.shown(name)
	}
	if err != nil {
		return err
	}
	var caller map[string]any
	if err := yaml.Unmarshal([]byte(text), &caller); err != nil {
		return err
	}
	if event != nil {
		caller["on"] = event
	}
	for _, j := range caller["jobs"].(map[string]any) {
		job := j.(map[string]any)
		r.file, _, _ = strings.Cut(path.Base(job["uses"].(string)), "@")
		job["with"] = r.inputs(job["with"].(map[string]any))
	}
	out, err := yaml.Marshal(caller)
	return errors.Join(err, os.WriteFile(filepath.Join(r.dir, "caller.yml"), out, 0o600))
}

// shown is the caller of a shipped workflow that init writes, or that docs/fleets.md shows.
func (r *runner) shown(name string) (string, error) {
	file := filepath.Join("internal", "generate", "ci", "github", "trueup-"+name)
	if strings.HasPrefix(name, "fleet-") {
		file = filepath.Join("docs", "fleets.md")
	}
	text, err := os.ReadFile(filepath.Join(r.s.Getenv("ROOT"), file))
	shown := string(text)
	for _, block := range blocks(shown) {
		if strings.Contains(block, "/"+name+"@COMMIT") {
			shown = block
		}
	}
	return strings.NewReplacer("OWNER", "acme", "COMMIT", trueupCommit).Replace(shown), err
}

// inputs are those of the caller, and of the script.
func (r *runner) inputs(with map[string]any) map[string]any {
	with["trueup-repository"], with["trueup-commit"] = "acme/trueup", trueupCommit
	for _, name := range []string{"directory", "drift", "expect", "environment", "workspace"} {
		if value, found := r.given[name]; found {
			with[name] = value
		}
	}
	for _, name := range []string{"disk-is-kept", "only-changed", "require-whole"} {
		if r.given[name] != "" {
			with[name] = r.given[name] == "true"
		}
	}
	if r.given["environment"] == "" || len(r.ofRepository()) == 0 {
		delete(with, "environment")
	}
	return with
}

// settings are the names of the variables that a host may have.
var settings = []string{"DELIVERY_URL", "COMPUTE_URL", "WORKSPACE", "LEDGER", "ALLOW_OVERRIDES"}

// ofRepository are the variables that the script gives to the repository alone.
func (r *runner) ofRepository() map[string]string {
	set := map[string]string{}
	for _, name := range settings {
		if value := r.s.Getenv("repository_TRUEUP_" + name); value != "" {
			set["TRUEUP_"+name] = value
		}
	}
	return set
}

// arguments are those of act: what the host knows, and what it keeps secret.
func (r *runner) arguments() []string {
	args := []string{
		r.given["event"], "-C", filepath.Join(r.dir, "site"), "-W", filepath.Join(r.dir, "caller.yml"), "-e", filepath.Join(r.dir, "event.json"),
		"-P", "ubuntu-latest=-self-hosted", "--json", "--use-new-action-cache", "--action-offline-mode", "--no-skip-checkout", "--no-cache-server", "--concurrent-jobs", "1",
		"--local-repository", "acme/trueup@" + trueupCommit + "=" + r.s.Getenv("ROOT"), "-s", "GITHUB_TOKEN=" + harness.HostToken,
	}
	for name, pin := range pins {
		repository := strings.Join(strings.Split(name, "/")[:2], "/")
		args = append(args, "--local-repository", repository+"@"+pin.commit+"="+filepath.Join(r.s.Getenv("ROOT"), "internal", "e2e", "ci", "testdata", repository))
	}
	vars := r.ofRepository()
	read := map[bool]string{true: "READ_"}[strings.HasSuffix(r.file, "plan.yml")]
	if len(vars) == 0 {
		for _, name := range settings {
			area, of, _ := strings.Cut(name, "_URL")
			vars["TRUEUP_"+map[bool]string{true: area + "_" + read + "URL" + of, false: read + name}[area != name]] = r.s.Getenv("TRUEUP_" + name)
		}
	}
	vars["TRUEUP_DOWNLOAD"] = r.s.Getenv("TRUEUP_DOWNLOAD")
	if file := r.s.Getenv("TRUEUP_PROJECTS"); file != "" {
		vars["TRUEUP_"+read+"PROJECTS"] = r.s.ReadFile(file)
	}
	for name, value := range vars {
		args = append(args, "--var", name+"="+value)
	}
	for _, area := range []string{"DELIVERY", "COMPUTE"} {
		token := r.s.Getenv("TRUEUP_" + area + "_TOKEN")
		if token == "" || r.event.Fork {
			continue
		}
		args = append(args, "-s", "TRUEUP_"+area+"_READ_TOKEN="+token)
		if read == "" {
			args = append(args, "-s", "TRUEUP_"+area+"_TOKEN="+token)
		}
	}
	return args
}

// environment is what the host says to every step, and what the stand-ins need.
func (r *runner) environment() []string {
	env := []string{
		"GITHUB_API_URL=" + r.host.Web.URL + "/api/v3", "GITHUB_SERVER_URL=https://github.example", "GITHUB_REPOSITORY=acme/site",
		"GITHUB_RUN_ID=" + strconv.Itoa(r.host.Run), "GITHUB_RUN_NUMBER=" + strconv.Itoa(r.host.Run), "GITHUB_RUN_ATTEMPT=" + cmp.Or(r.given["attempt"], "1"),
		"GITHUB_REF=" + map[bool]string{true: "refs/pull/7/merge", false: "refs/heads/main"}[r.event.Number > 0],
		"STAND_IN_ROOT=" + r.s.Getenv("ROOT"), "STAND_IN_ORIGIN=file://" + r.s.MkAbs("."), "STAND_IN_KEPT=" + r.s.MkAbs("."), "STAND_IN_FULL=" + r.given["full"],
	}
	return append(env, r.process()...)
}

// process are the variables that every process of a script needs.
func (r *runner) process() []string {
	env := []string{"CI=true", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "GORACE", harness.TranscriptVar, harness.ClockVar} {
		env = append(env, name+"="+r.s.Getenv(name))
	}
	return env
}

// logged is a line of act's log.
type logged struct {
	JobID  string `json:"jobID"`
	Matrix struct {
		Shard string `json:"shard"`
	} `json:"matrix"`
	Msg       string `json:"msg"`
	Raw       string `json:"raw"`
	Output    bool   `json:"raw_output"`
	Command   string `json:"command"`
	Name      string `json:"name"`
	Arg       string `json:"arg"`
	Content   string `json:"content"`
	JobResult string `json:"jobResult"`
}

// record is what a run printed and left for the host.
type record struct {
	printed, outputs, summary strings.Builder
	// results and codes are those of the jobs that ran, with their shards.
	results, codes map[string]string
}

var exitCode = regexp.MustCompile(`^exit status (\d+)$`)

func (r *record) add(l logged) {
	job := strings.TrimSpace(l.JobID + " " + l.Matrix.Shard)
	switch code := exitCode.FindStringSubmatch(l.Msg); {
	case l.Output:
		r.printed.WriteString(l.Msg)
	case l.Command == "set-output":
		r.outputs.WriteString(l.Name + "=" + l.Arg + "\n")
	case l.Command == "summary":
		r.summary.WriteString(l.Content)
	case l.Raw != "":
		r.printed.WriteString(strings.TrimSuffix(l.Raw, "\n") + "\n")
	case l.JobResult != "":
		r.results[job] = l.JobResult
	case code != nil:
		r.codes[job] = ", exit code " + code[1]
	}
}

// tell prints what became of a job, of each shard if it has some.
func (r *record) tell(job string) {
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(r.results)), func(name string) bool {
		return name != job && !strings.HasPrefix(name, job+" ")
	})
	if len(all) == 0 {
		r.printed.WriteString("job " + job + ": skipped\n")
	}
	for _, name := range all {
		result := r.results[name]
		if result == "failure" {
			result += r.codes[name]
		}
		r.printed.WriteString("job " + name + ": " + result + "\n")
	}
}

// act runs the workflow, and prints what its steps print and what became of each job.
func (r *runner) act() error {
	cmd := exec.Command("act", r.arguments()...)
	for _, e := range r.environment() {
		if name, _, _ := strings.Cut(e, "="); name != "PATH" && name != "HOME" {
			cmd.Args = append(cmd.Args, "--env", e)
		}
	}
	cmd.Env = []string{"PATH=" + r.machine.Path, "HOME=" + filepath.Join(r.dir, "home")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, runErr := cmd.Output()
	did := record{results: map[string]string{}, codes: map[string]string{}}
	for lines := json.NewDecoder(bytes.NewReader(out)); lines.More(); {
		var l logged
		if err := lines.Decode(&l); err != nil {
			return fmt.Errorf("act: %w: %s%s", err, out, stderr.Bytes())
		}
		did.add(l)
	}
	if len(did.results) == 0 {
		return fmt.Errorf("act ran no job: %w: %s%s", runErr, out, stderr.Bytes())
	}
	jobs, err := r.jobs()
	for _, name := range jobs {
		did.tell(name)
	}
	_, printErr := io.WriteString(r.s.Stdout(), did.printed.String())
	return errors.Join(err, printErr, os.WriteFile(r.s.MkAbs("outputs"), []byte(did.outputs.String()), 0o600),
		os.WriteFile(r.s.MkAbs("summary.md"), []byte(did.summary.String()), 0o600))
}

// jobs are those of the shipped workflow.
func (r *runner) jobs() ([]string, error) {
	var w workflow
	text, err := os.ReadFile(filepath.Join(r.s.Getenv("ROOT"), ".github", "workflows", r.file))
	err = errors.Join(err, yaml.Unmarshal(text, &w))
	return slices.Sorted(maps.Keys(w.Jobs)), err
}

// copyTrueup copies files of trueup's own source to a folder.
func copyTrueup(s *harness.Script, to string, names ...string) error {
	var errs []error
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.Getenv("ROOT"), name))
		file := filepath.Join(to, name)
		errs = append(errs, err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600))
	}
	return errors.Join(errs...)
}
