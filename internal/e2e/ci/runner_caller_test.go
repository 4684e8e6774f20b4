//go:build linux

package ci

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// runnerCall is how a user's workflow calls a shipped one.
type runnerCall struct {
	Uses        string            `yaml:"uses"`
	With        map[string]string `yaml:"with"`
	Secrets     map[string]string `yaml:"secrets"`
	Permissions map[string]string `yaml:"permissions"`
}

// readCaller reads a workflow of the script's repository, on its main branch, which
// calls a shipped one in its only job.
func (r *runner) readCaller(file string) (*runnerCall, error) {
	text, err := r.git("show", "main:"+file)
	if err != nil {
		return nil, err
	}
	var w struct {
		On   any                   `yaml:"on"`
		Jobs map[string]runnerCall `yaml:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		return nil, err
	}
	if event := r.given["event"]; !slices.Contains(workflow{On: w.On}.triggers(), event) {
		return nil, fmt.Errorf("%s does not start on %s", file, event)
	}
	calls := slices.Collect(maps.Values(w.Jobs))
	if len(calls) != 1 {
		return nil, fmt.Errorf("%s has %d jobs", file, len(calls))
	}
	maps.Copy(r.given, calls[0].With)
	return &calls[0], nil
}

// file is the name of the workflow that is called.
func (c *runnerCall) file() string {
	name, _, _ := strings.Cut(path.Base(c.Uses), "@")
	return name
}

// secret is the name under which the caller has a secret, nothing if it gives none.
func (c *runnerCall) secret(name string) string {
	value := strings.Trim(c.Secrets[name], "${} ")
	return strings.TrimPrefix(value, "secrets.")
}

// grants refuses a job that asks for more than the caller has, as the host does
// before anything starts.
func (c *runnerCall) grants(jobs map[string]runnerJob) error {
	for name, j := range jobs {
		for scope, level := range j.Permissions {
			if got := c.Permissions[scope]; got != level && got != "write" {
				return fmt.Errorf("the job %s asks for %s: %s, and is only allowed %q", name, scope, level, got)
			}
		}
	}
	return nil
}
