//go:build linux

package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/e2e/harness"
)

// readOutputs reads the lines NAME=VALUE that a step wrote; a value of several
// lines is none of ours.
func readOutputs(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !found || strings.Contains(name, "<<") {
			return nil, fmt.Errorf("an output is the line %q", line)
		}
		set[name] = value
	}
	return set, nil
}

// collect adds a file to the end of another.
func collect(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// checkout fetches what a run is of, as deep as the step says, or of trueup's own
// source what the action needs. Like the real one it takes away what is in the
// folder, also if that is a link to one.
func (r *runner) checkout(j *runnerState, with map[string]string) error {
	work := filepath.Join(j.dir, "work", with["path"])
	if err := emptied(work); err != nil {
		return err
	}
	if with["repository"] != "" {
		return copyTrueup(r.s, work, "action.yml", "install.sh", "go.mod")
	}
	ref := r.ref()
	if with["ref"] != "" {
		ref = with["ref"]
	}
	refs := []string{"--depth=1", "origin", "+" + ref + ":refs/remotes/run"}
	if with["fetch-depth"] == "0" {
		refs = []string{"origin", "+refs/heads/*:refs/remotes/origin/*", "+" + ref + ":refs/remotes/run"}
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"remote", "add", "origin", "file://" + filepath.ToSlash(r.s.MkAbs("."))},
		append([]string{"fetch", "-q", "--no-tags"}, refs...),
		{"checkout", "-q", "--detach", "refs/remotes/run"},
	} {
		if _, err := r.git(append([]string{"-C", work}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// copyTrueup copies files of trueup's own source to a folder.
func copyTrueup(s *harness.Script, to string, names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, copyTo(filepath.Join(s.Getenv("ROOT"), name), filepath.Join(to, name)))
	}
	return errors.Join(errs...)
}

// emptied makes a folder, or removes what is in it; a link to one is followed.
func emptied(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// runAction runs the steps of an action that lies in the work tree. The real runner
// reads it a second time when the job ends, so what replaces it would run then.
func (r *runner) runAction(j *runnerState, file string, with map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var action struct {
		Runs struct {
			Using string       `yaml:"using"`
			Steps []runnerStep `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		return err
	}
	if action.Runs.Using != "composite" {
		return fmt.Errorf("the action is a %q", action.Runs.Using)
	}
	j.actions = append(j.actions, loadedAction{file, text})
	for name, value := range with {
		r.inputs[name] = value
	}
	return r.runSteps(j, action.Runs.Steps)
}

// loadedAction is an action of the work tree that was run.
type loadedAction struct {
	file string
	text []byte
}

// unchanged fails if other text stands in its place.
func (a loadedAction) unchanged() error {
	now, err := os.ReadFile(a.file)
	if err == nil && !bytes.Equal(now, a.text) {
		err = fmt.Errorf("%s was replaced", a.file)
	}
	return err
}

// keep keeps a file or a folder for later jobs, and says under which number.
func (r *runner) keep(j *runnerState, step runnerStep, with map[string]string) error {
	from := with["path"]
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) && with["if-no-files-found"] == "ignore" {
		return nil
	}
	name := with["name"]
	if name == "" {
		name = filepath.Base(from)
	}
	to := r.s.MkAbs(filepath.Join("artifacts", name))
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := copyTo(from, to); err != nil {
		return err
	}
	r.host.Artifacts = append(r.host.Artifacts, to)
	if step.ID != "" {
		j.steps[step.ID] = map[string]string{"artifact-id": strconv.Itoa(len(r.host.Artifacts))}
	}
	return nil
}

// cache keeps a folder for later runs, under a key that is written once. What a pull
// request writes is apart from what the branch writes.
func (r *runner) cache(with map[string]string) error {
	to := r.s.MkAbs(filepath.Join("caches", url.PathEscape(r.ref()), url.PathEscape(with["key"])))
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if _, err := os.Stat(with["path"]); err != nil {
		return nil // the host warns
	}
	r.host.Caches = append(r.host.Caches, to)
	return copyTo(with["path"], to)
}

// uncache gets the newest folder that was kept under a key of that beginning.
func (r *runner) uncache(with map[string]string) error {
	under := r.s.MkAbs(filepath.Join("caches", url.PathEscape(r.ref()), url.PathEscape(with["restore-keys"])))
	for _, from := range slices.Backward(r.host.Caches) {
		if strings.HasPrefix(from, under) {
			return copyTo(from, with["path"])
		}
	}
	return nil
}

// fetch gets what an earlier job has kept.
func (r *runner) fetch(with map[string]string) error {
	n, err := strconv.Atoi(with["artifact-ids"])
	if err != nil || n < 1 || n > len(r.host.Artifacts) {
		return fmt.Errorf("artifact %q does not exist", with["artifact-ids"])
	}
	return copyTo(r.host.Artifacts[n-1], with["path"])
}

// copyTo copies a file, or a folder of files.
func copyTo(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600))
}
