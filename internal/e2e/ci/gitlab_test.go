//go:build linux

package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"trueup/internal/e2e/harness"
)

// gitlabFile is the template for GitLab.
var gitlabFile = filepath.Join("templates", "trueup.gitlab-ci.yml")

// gitlabFleetFile is the template for many projects.
var gitlabFleetFile = filepath.Join("templates", "trueup-fleet.gitlab-ci.yml")

// gitlabJob is what these tests look at.
type gitlabJob struct {
	Extends       string                       `yaml:"extends"`
	Stage         string                       `yaml:"stage"`
	Needs         []string                     `yaml:"needs"`
	Timeout       string                       `yaml:"timeout"`
	Rules         []gitlabRule                 `yaml:"rules"`
	Interruptible bool                         `yaml:"interruptible"`
	ResourceGroup string                       `yaml:"resource_group"`
	Cache         struct{ Key, Policy string } `yaml:"cache"`
	AllowFailure  any                          `yaml:"allow_failure"`
	Variables     map[string]string            `yaml:"variables"`
	Environment   gitlabEnvironment            `yaml:"environment"`
	Script        []string                     `yaml:"script"`
	Trigger       struct {
		Include  []struct{ Artifact, Job string }
		Strategy string
	} `yaml:"trigger"`
	Artifacts struct {
		When    string            `yaml:"when"`
		Paths   []string          `yaml:"paths"`
		Reports map[string]string `yaml:"reports"`
	} `yaml:"artifacts"`
}

// gitlabEnvironment is the environment whose variables a job gets.
type gitlabEnvironment struct {
	Name   string `yaml:"name"`
	Action string `yaml:"action"`
}

// gitlabRule says in which pipelines a job runs.
type gitlabRule struct {
	If   string `yaml:"if"`
	When string `yaml:"when"`
}

type gitlabInputs struct {
	Spec struct {
		Inputs map[string]struct {
			Description string   `yaml:"description"`
			Default     any      `yaml:"default"`
			Regex       string   `yaml:"regex"`
			Type        string   `yaml:"type"`
			Options     []string `yaml:"options"`
		} `yaml:"inputs"`
	} `yaml:"spec"`
}

// readGitLab reads the head of a template, which says what it takes, and its
// jobs, whose names are without the input that they begin with.
func readGitLab(t *testing.T, file string) (gitlabInputs, map[string]gitlabJob) {
	t.Helper()
	var head gitlabInputs
	var body map[string]gitlabJob
	documents := yaml.NewDecoder(bytes.NewReader([]byte(harness.ReadText(t, file))))
	documents.KnownFields(false)
	if err := errors.Join(documents.Decode(&head), documents.Decode(&body)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		t.Fatalf("%s has a third document: %v", file, err)
	}
	jobs := map[string]gitlabJob{}
	for name, j := range body {
		jobs[strings.Replace(name, "$[[ inputs.name ]]", "", 1)] = j
	}
	return head, jobs
}

// The pipelines in which a job of the template runs.
const (
	inMerge    = `$CI_PIPELINE_SOURCE == "merge_request_event"`
	inOwnMerge = inMerge + ` && $CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID`
	onDefault  = `$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH`
	onPush     = onDefault + ` && $CI_PIPELINE_SOURCE != "schedule"`
	onSchedule = onDefault + ` && $CI_PIPELINE_SOURCE == "schedule"`
)

// gitlabJobs are the jobs of the template: where they run, what they get of
// by earlier jobs, and which tokens their commands are given.
var gitlabJobs = map[string]struct {
	rules, needs []string
	environment  string
	tokens       []string
	command      string
}{
	"-plan":    {[]string{inMerge}, nil, "", gitlabReads, "trueup plan "},
	"-comment": {[]string{inOwnMerge}, []string{"-plan"}, "", []string{"TRUEUP_FORGE_TOKEN"}, "trueup comment --required "},
	"-apply":   {[]string{onPush}, nil, "start", gitlabWrites, "trueup apply --auto-approve=\"$TRUEUP_AUTO_APPROVE\" "},
	"-settle":  {[]string{onSchedule}, nil, "access", gitlabWrites, "trueup ledger settle "},
	"-drift":   {[]string{onSchedule}, nil, "", gitlabReads, "trueup drift "},
	"-issue":   {[]string{onSchedule}, []string{"-drift"}, "", []string{"TRUEUP_FORGE_TOKEN"}, "trueup comment --required "},
}

// The tokens of the platform for those that write, and for those that read.
var (
	gitlabWrites = []string{"TRUEUP_DELIVERY_TOKEN", "TRUEUP_COMPUTE_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
	gitlabReads  = []string{
		"TRUEUP_DELIVERY_TOKEN=${TRUEUP_DELIVERY_READ_TOKEN:-}", "TRUEUP_COMPUTE_TOKEN=${TRUEUP_COMPUTE_READ_TOKEN:-}",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	}
)

func TestGitLabTemplate(t *testing.T) {
	t.Parallel()
	_, jobs := readGitLab(t, gitlabFile)
	if len(jobs) != len(gitlabJobs)+1 || jobs["."].Timeout == "" || jobs["."].Stage == "" || jobs["."].Needs == nil || len(jobs["."].Needs) > 0 {
		t.Fatalf("the template has %v", slices.Sorted(maps.Keys(jobs)))
	}
	for name, want := range gitlabJobs {
		j, ok := jobs[name]
		if !ok || j.Extends != ".$[[ inputs.name ]]" {
			t.Errorf("job %s: %+v", name, j)
			continue
		}
		var rules, needs []string
		for _, r := range j.Rules {
			rules = append(rules, r.If)
		}
		for _, n := range j.Needs {
			needs = append(needs, strings.TrimPrefix(n, "$[[ inputs.name ]]"))
		}
		if !slices.Equal(rules, want.rules) || !slices.Equal(needs, want.needs) {
			t.Errorf("job %s runs if %q, after %q", name, rules, needs)
		}
		if e := (gitlabEnvironment{"$[[ inputs.environment ]]", strings.TrimPrefix(want.environment, "start")}); want.environment == "" && j.Environment != (gitlabEnvironment{}) || want.environment != "" && j.Environment != e {
			t.Errorf("job %s gets the variables of %+v", name, j.Environment)
		}
		checkJobScript(t, name, j.Script, want.tokens, want.command)
	}
}

// withheld are the variables that no program but trueup is given.
var withheld = regexp.MustCompile(`^(TRUEUP_\w*TOKEN|AWS_SE\w+)`)

// checkFilled holds the commands of a job to what a shell understands, and returns them. Of inputs they have only such
// whose forms, which the template demands, leave no room for more than a name.
func checkFilled(t *testing.T, name string, lines []string) string {
	t.Helper()
	head, _ := readGitLab(t, gitlabFleetFile)
	single, _ := readGitLab(t, gitlabFile)
	maps.Copy(single.Spec.Inputs, head.Spec.Inputs)
	script := strings.Join(lines, "\n")
	filled := script
	for input, is := range single.Spec.Inputs {
		leaves := func(c rune) bool { return regexp.MustCompile(is.Regex).MatchString("a" + string(c) + "a") }
		if is.Type == "boolean" || len(is.Options) > 0 || is.Regex != "" && !slices.ContainsFunc([]rune("\"'`$\\;&|<>(){}!\n "), leaves) {
			filled = strings.ReplaceAll(filled, "$[[ inputs."+input+" ]]", "NAME")
		}
	}
	checkScript(t, name, filled)
	return script
}

// checkJobScript holds a job to a trueup that it installs outside the work tree, and to
// hand over no token but its own, and none before trueup is installed.
func checkJobScript(t *testing.T, name string, lines, tokens []string, command string) {
	t.Helper()
	script := checkFilled(t, name, lines)
	before, after, installed := strings.Cut(script, ` sh "$built/source/install.sh" "$built"`+"\n"+`export PATH="$built:$PATH"`)
	if !installed || !strings.Contains(before, "built=$(mktemp -d)\n") || !strings.HasSuffix(before, "\nTRUEUP_DOWNLOAD=${TRUEUP_DOWNLOAD:-$releases}") || !strings.Contains(after, command) {
		t.Errorf("job %s: %s", name, script)
	}
	given := map[string]bool{}
	kept := map[string]bool{}
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "export" {
			continue
		}
		for _, word := range words[1:] {
			switch {
			case !withheld.MatchString(word):
			case words[1] == "-n":
				kept[word] = true
			case !strings.Contains(after, line):
				t.Errorf("job %s: %s is given to what installs trueup", name, word)
			default:
				given[word] = true
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(given)), slices.Sorted(slices.Values(tokens)); !slices.Equal(got, want) {
		t.Errorf("job %s hands over %q, want %q", name, got, want)
	}
	for _, n := range slices.Concat(gitlabWrites, []string{"TRUEUP_DELIVERY_READ_TOKEN", "TRUEUP_COMPUTE_READ_TOKEN", "TRUEUP_FORGE_TOKEN"}) {
		if !kept[n] {
			t.Errorf("job %s gives %s to every program", name, n)
		}
	}
}

// TestGitLabTemplateWritesOneAtATime: what writes is not interrupted, and has a
// group of its own; what only tells people fails nothing.
func TestGitLabTemplateWritesOneAtATime(t *testing.T) {
	t.Parallel()
	_, jobs := readGitLab(t, gitlabFile)
	for name, j := range jobs {
		writes := name == "-apply" || name == "-settle"
		group := ""
		if writes {
			group = "$[[ inputs.name ]]" + name
		}
		if name != "." && (j.Interruptible == writes || j.ResourceGroup != group) {
			t.Errorf("job %s: interruptible %v, group %q", name, j.Interruptible, j.ResourceGroup)
		}
	}
	for name, j := range jobs {
		policy, reads := map[string]string{"-apply": "", "-settle": "pull"}[name]
		if (j.Cache.Key != "") != reads || j.Cache.Policy != policy {
			t.Errorf("job %s: what was seen of the ledger is in the cache %+v", name, j.Cache)
		}
	}
	if jobs["-comment"].AllowFailure != true || fmt.Sprint(jobs["-drift"].AllowFailure) != "map[exit_codes:2]" || jobs["-apply"].AllowFailure != nil {
		t.Errorf("failures are allowed to %v, %v, %v", jobs["-comment"].AllowFailure, jobs["-drift"].AllowFailure, jobs["-apply"].AllowFailure)
	}
	plan := jobs["-plan"].Artifacts
	if plan.When != "always" || plan.Reports["junit"] == "" || plan.Reports["codequality"] == "" {
		t.Errorf("a plan keeps %+v", plan)
	}
	for _, file := range plan.Reports {
		if script := strings.Join(jobs["-plan"].Script, "\n"); !strings.Contains(script, `=$reports/`+filepath.Base(file)+`"`) {
			t.Errorf("no command writes %s", file)
		}
	}
}

// TestGitLabInputs: each input is used, and the caller that init writes or that docs/fleets.md shows gives those
// that it must. Those in a command have a form that fits it.
func TestGitLabInputs(t *testing.T) {
	t.Parallel()
	checkInputs(t, gitlabFile, harness.ReadText(t, filepath.Join("internal", "generate", "ci", "gitlab", ".gitlab-ci.yml")))
	for _, block := range blocks(harness.ReadText(t, filepath.Join("docs", "fleets.md"))) {
		if strings.Contains(block, "file: templates/") {
			checkInputs(t, gitlabFleetFile, block)
			return
		}
	}
	t.Error("docs/fleets.md shows no pipeline")
}

func checkInputs(t *testing.T, file, shown string) {
	t.Helper()
	head, _ := readGitLab(t, file)
	text := harness.ReadText(t, file)
	_, body, _ := strings.Cut(text, "\n---\n")
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\[\[ ?inputs\.([\w-]+) ?\]\]`).FindAllStringSubmatch(body, -1) {
		used[m[1]] = true
	}
	if got := slices.Sorted(maps.Keys(head.Spec.Inputs)); !slices.Equal(got, slices.Sorted(maps.Keys(used))) {
		t.Errorf("%s: inputs are %v, used are %v", file, got, used)
	}
	// The version that go.mod asks for: another one would download it in each job.
	_, version, _ := strings.Cut(harness.ReadText(t, "go.mod"), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	if image := head.Spec.Inputs["image"].Default; image != "golang:"+version {
		t.Errorf("%s: the image is %v, and go.mod asks for Go %s", file, image, version)
	}
	for name, form := range map[string]string{"project": `^[\w.-]+(/[\w.-]+)+$`, "commit": `^[0-9a-f]{40}$`} {
		if got := head.Spec.Inputs[name].Regex; got != form {
			t.Errorf("%s: the input %s may be %s", file, name, got)
		}
	}
	var caller struct {
		Include []struct {
			Project, Ref, File string
			Inputs             map[string]string
		}
	}
	if err := yaml.Unmarshal([]byte(shown), &caller); err != nil {
		t.Fatal(err)
	}
	if len(caller.Include) != 1 || caller.Include[0].File != filepath.ToSlash(file) || caller.Include[0].Ref != "COMMIT" || caller.Include[0].Project != "OWNER/trueup" {
		t.Fatalf("the caller includes %+v", caller.Include)
	}
	given := caller.Include[0].Inputs
	for name, input := range head.Spec.Inputs {
		if input.Description == "" {
			t.Errorf("%s: the input %s says nothing of itself", file, name)
		}
		if input.Default == nil && given[name] == "" {
			t.Errorf("the caller of %s lacks the input %s", file, name)
		}
	}
	for name := range given {
		if _, ok := head.Spec.Inputs[name]; !ok {
			t.Errorf("the caller of %s gives %s, which is no input", file, name)
		}
	}
}
