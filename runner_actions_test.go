package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// checkout fetches what a run is of, as deep as the step says; the checkout of
// the program's own source it leaves out.
func (r *runner) checkout(j *runnerState, with map[string]string) error {
	if with["repository"] != "" {
		return nil
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
		if _, err := r.git(append([]string{"-C", filepath.Join(j.dir, "work")}, args...)...); err != nil {
			return err
		}
	}
	return nil
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
	r.host.artifacts = append(r.host.artifacts, to)
	if step.ID != "" {
		j.steps[step.ID] = map[string]string{"artifact-id": strconv.Itoa(len(r.host.artifacts))}
	}
	return nil
}

// fetch gets what an earlier job has kept.
func (r *runner) fetch(with map[string]string) error {
	n, err := strconv.Atoi(with["artifact-ids"])
	if err != nil || n < 1 || n > len(r.host.artifacts) {
		return fmt.Errorf("artifact %q does not exist", with["artifact-ids"])
	}
	return copyTo(r.host.artifacts[n-1], with["path"])
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
