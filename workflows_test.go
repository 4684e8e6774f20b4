package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pins are the actions that may be used, each at one commit. No other is: what
// these do not do, trueup or the runner's own programs do.
var pins = map[string]string{
	"actions/checkout":              "3d3c42e5aac5ba805825da76410c181273ba90b1", // v7.0.1
	"actions/setup-go":              "b7ad1dad31e06c5925ef5d2fc7ad053ef454303e", // v7.0.0
	"actions/upload-artifact":       "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f", // v7.0.0
	"actions/download-artifact":     "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c", // v8
	"golangci/golangci-lint-action": "ba0d7d2ec06a0ea1cb5fa41b2e4a3ab91d21278a", // v9.3.0
	"goreleaser/goreleaser-action":  "f06c13b6b1a9625abc9e6e439d9c05a8f2190e94", // v7.2.3
}

// workflow is what these tests look at.
type workflow struct {
	// On is a name, a list or a map.
	On          any               `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Concurrency struct {
		Group  string `yaml:"group"`
		Cancel bool   `yaml:"cancel-in-progress"`
	} `yaml:"concurrency"`
	Jobs map[string]struct {
		Uses        string            `yaml:"uses"`
		Permissions map[string]string `yaml:"permissions"`
		Steps       []workflowStep    `yaml:"steps"`
	} `yaml:"jobs"`
}

type workflowStep struct {
	Uses string `yaml:"uses"`
	Run  string `yaml:"run"`
}

func (w workflow) steps() []workflowStep {
	var all []workflowStep
	for _, j := range w.Jobs {
		all = append(all, workflowStep{Uses: j.Uses})
		all = append(all, j.Steps...)
	}
	return all
}

func readWorkflows(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(".github", "workflows", "*.y*ml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	all := map[string]workflow{}
	for _, f := range files {
		var w workflow
		readYAML(t, f, &w)
		all[filepath.Base(f)] = w
	}
	return all
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// checkSteps holds steps to pinned actions, and commands to text that nobody
// outside can write: every expression reaches a command as a variable.
func checkSteps(t *testing.T, file string, steps []workflowStep) {
	t.Helper()
	for _, s := range steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression stands in a command: pass it by env\n%s", file, s.Run)
		}
		if s.Uses == "" || strings.HasPrefix(s.Uses, "./") {
			continue
		}
		action, commit, _ := strings.Cut(s.Uses, "@")
		if pins[action] == "" || pins[action] != commit {
			t.Errorf("%s: %s is not pinned as the table in this test says", file, s.Uses)
		}
	}
}

func TestWorkflowsAreSafe(t *testing.T) {
	t.Parallel()
	for file, w := range readWorkflows(t) {
		checkSteps(t, file, w.steps())
		if len(w.Permissions) == 0 {
			t.Errorf("%s: permissions are not set at the top", file)
		}
		triggers, err := yaml.Marshal(w.On)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.On.(map[string]any)) == 0 || bytes.Contains(triggers, []byte("pull_request_target")) {
			t.Errorf("%s: triggers are\n%s", file, triggers)
		}
		for name, job := range w.Jobs {
			for scope, level := range job.Permissions {
				if level == "write" && w.Permissions[scope] != "write" {
					t.Errorf("%s: job %s takes %s: write, which the top does not show", file, name, scope)
				}
			}
		}
	}
}

func TestActionIsSafe(t *testing.T) {
	t.Parallel()
	var action struct {
		Runs struct {
			Steps []workflowStep `yaml:"steps"`
		} `yaml:"runs"`
	}
	readYAML(t, "action.yml", &action)
	if len(action.Runs.Steps) == 0 {
		t.Fatal("action.yml has no steps")
	}
	checkSteps(t, "action.yml", action.Runs.Steps)
}

// TestWorkflowsForUsers: plan can read only; apply never runs twice at a time,
// is never cancelled by another, and gets the runner's signals itself.
func TestWorkflowsForUsers(t *testing.T) {
	t.Parallel()
	all := readWorkflows(t)
	plan, apply := all["plan.yml"], all["apply.yml"]
	for scope, level := range plan.Permissions {
		if level != "read" {
			t.Errorf("plan.yml takes %s: %s", scope, level)
		}
	}
	if apply.Concurrency.Group != "trueup-apply" || apply.Concurrency.Cancel {
		t.Errorf("apply.yml: concurrency is %+v", apply.Concurrency)
	}
	for file, command := range map[string]string{"plan.yml": "exec trueup plan", "apply.yml": "exec trueup apply --auto-approve"} {
		w := all[file]
		if _, ok := w.On.(map[string]any)["workflow_call"]; !ok {
			t.Errorf("%s cannot be called", file)
		}
		found := false
		for _, s := range w.steps() {
			found = found || strings.Contains(s.Run, command)
		}
		if !found {
			t.Errorf("%s does not say %q", file, command)
		}
	}
}

// TestPinsNameTheirTag: a commit says nothing to a reader, so its tag follows it.
func TestPinsNameTheirTag(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`uses: [\w-]+/[\w/-]+@[0-9a-f]{40} # v\d`)
	files, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "action.yml") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			text := lines.Text()
			if strings.Contains(text, "uses: ") && !strings.Contains(text, "uses: ./") && !pinned.MatchString(text) {
				t.Errorf("%s: %s", f, strings.TrimSpace(text))
			}
		}
	}
}
