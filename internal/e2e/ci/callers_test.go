//go:build linux

package ci

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"trueup/internal/e2e/harness"
)

// callable is what a workflow says of how it is called.
type callable struct {
	On struct {
		Call struct {
			Inputs  map[string]parameter `yaml:"inputs"`
			Secrets map[string]parameter `yaml:"secrets"`
		} `yaml:"workflow_call"`
	} `yaml:"on"`
	Jobs map[string]workflowJob `yaml:"jobs"`
}

type parameter struct {
	Type        string `yaml:"type"`
	Description string `yaml:"description"`
	Required    bool   `yaml:"required"`
}

// blocks are the contents of a page's fenced blocks of YAML.
func blocks(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestCallersAreDocumented: the files that init writes and those of docs/ci.md are
// the same, byte by byte.
func TestCallersAreDocumented(t *testing.T) {
	t.Parallel()
	page := harness.ReadText(t, filepath.Join("docs", "ci.md"))
	files, err := filepath.Glob(filepath.Join("internal", "generate", "ci", "*", "*.yml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("callers: %v, %v", files, err)
	}
	for _, f := range files {
		text := harness.ReadText(t, f)
		if !slices.Contains(blocks(page), text) {
			t.Errorf("docs/ci.md does not show %s as it is:\n%s", f, text)
		}
		if lines := strings.Count(text, "\n"); lines > 15 {
			t.Errorf("%s has %d lines: it is to be read at a glance", f, lines)
		}
	}
}

// TestCallersFitWhatTheyCall: those files, and all that the pages about CI show, pass
// what the workflows take, and grant the rights of their jobs and no others.
func TestCallersFitWhatTheyCall(t *testing.T) {
	t.Parallel()
	called := 0
	pages := ""
	for _, page := range []string{"ci.md", "fleets.md", "howto/approve-a-plan.md"} {
		pages += harness.ReadText(t, filepath.Join("docs", page))
	}
	for _, text := range blocks(pages) {
		if !strings.Contains(text, "jobs:\n") {
			continue
		}
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		for name, job := range w.Jobs {
			if job.Uses == "" {
				continue
			}
			called++
			checkCall(t, name, job)
			if w.Permissions == nil || len(w.Permissions) > 0 || strings.Contains(text, "pull_request_target") {
				t.Errorf("job %s takes more than it says\n%s", name, text)
			}
		}
	}
	if called < 7 {
		t.Errorf("only %d calls were looked at", called)
	}
}

func checkCall(t *testing.T, name string, job workflowJob) {
	t.Helper()
	m := regexp.MustCompile(`^OWNER/trueup/\.github/workflows/([\w-]+\.yml)@COMMIT$`).FindStringSubmatch(job.Uses)
	if m == nil {
		t.Errorf("job %s calls %s", name, job.Uses)
		return
	}
	var to callable
	readYAML(t, filepath.Join(".github", "workflows", m[1]), &to)
	var secrets map[string]string
	if err := job.Secrets.Decode(&secrets); err != nil || len(secrets) == 0 {
		t.Errorf("job %s does not name its secrets: %v", name, err)
	}
	for _, given := range []struct {
		names    []string
		declared map[string]parameter
	}{{slices.Collect(maps.Keys(job.With)), to.On.Call.Inputs}, {slices.Collect(maps.Keys(secrets)), to.On.Call.Secrets}} {
		for _, n := range given.names {
			if _, ok := given.declared[n]; !ok {
				t.Errorf("job %s gives %s, which %s does not take", name, n, m[1])
			}
		}
		for n, p := range given.declared {
			if p.Description == "" {
				t.Errorf("%s: %s says nothing of itself", m[1], n)
			}
			if p.Required && !slices.Contains(given.names, n) {
				t.Errorf("job %s lacks %s", name, n)
			}
		}
	}
	need := map[string]string{}
	for _, j := range to.Jobs {
		for scope, level := range j.Permissions {
			if need[scope] != "write" {
				need[scope] = level
			}
		}
	}
	if !maps.Equal(job.Permissions, need) {
		t.Errorf("job %s grants %v, and %s needs %v", name, job.Permissions, m[1], need)
	}
}

// TestStepsInDocsAreSafe holds the steps that docs/ci.md shows to what the shipped
// ones are held to.
func TestStepsInDocsAreSafe(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, text := range blocks(harness.ReadText(t, filepath.Join("docs", "ci.md"))) {
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Fatal(err)
		}
		for name, job := range w.Jobs {
			if len(job.Steps) == 0 {
				continue
			}
			looked++
			if job.Timeout == 0 {
				t.Errorf("docs/ci.md: job %s has no timeout", name)
			}
			steps := slices.DeleteFunc(job.Steps, func(s workflowStep) bool {
				// An action can't read the variable by itself.
				return s.Uses == "OWNER/trueup@COMMIT" && s.With["download"] == "${{ vars.TRUEUP_DOWNLOAD }}"
			})
			checkSteps(t, "docs/ci.md", steps)
		}
	}
	if looked == 0 {
		t.Error("docs/ci.md shows no steps")
	}
}

// hook is one of .pre-commit-hooks.yaml.
type hook struct {
	ID            string `yaml:"id"`
	Entry         string `yaml:"entry"`
	Language      string `yaml:"language"`
	PassFilenames bool   `yaml:"pass_filenames"`
	AlwaysRun     bool   `yaml:"always_run"`
}

// TestPreCommitHooks: each hook runs a command of the program over all manifests,
// and docs/ci.md shows how to take it.
func TestPreCommitHooks(t *testing.T) {
	t.Parallel()
	var hooks []hook
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	page := harness.ReadText(t, filepath.Join("docs", "ci.md"))
	for _, h := range hooks {
		command, isProgram := harness.Arguments(h.Entry)
		if !isProgram || h.Language != "golang" || h.PassFilenames || !h.AlwaysRun || !strings.Contains(page, "- id: "+h.ID+"\n") {
			t.Errorf("%+v", h)
		}
		if code, out := harness.RunIn(t, t.TempDir(), append(command, "--help")...); code != 0 {
			t.Errorf("%s: exit %d: %s", h.Entry, code, out)
		}
	}
	if len(hooks) == 0 {
		t.Error("there are no hooks")
	}
}
