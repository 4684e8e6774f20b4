//go:build linux

package ci

import (
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
)

// pin is an action at one commit, and the tag that this commit has.
type pin struct{ commit, tag string }

// pins are the actions that may be used. No other is: what these do not do, trueup
// or the runner's own programs do.
var pins = map[string]pin{
	"actions/cache/restore":         {"55cc8345863c7cc4c66a329aec7e433d2d1c52a9", "v6.1.0"},
	"actions/cache/save":            {"55cc8345863c7cc4c66a329aec7e433d2d1c52a9", "v6.1.0"},
	"actions/checkout":              {"3d3c42e5aac5ba805825da76410c181273ba90b1", "v7.0.1"},
	"actions/setup-go":              {"b7ad1dad31e06c5925ef5d2fc7ad053ef454303e", "v7.0.0"},
	"actions/upload-artifact":       {"bbbca2ddaa5d8feaa63e36b76fdaad77386f024f", "v7.0.0"},
	"actions/download-artifact":     {"3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c", "v8"},
	"golangci/golangci-lint-action": {"ba0d7d2ec06a0ea1cb5fa41b2e4a3ab91d21278a", "v9.3.0"},
}

// grants are the most that each job of the workflows for users may have. A plan
// reads; what writes to the host sees neither a user's files nor a platform's token.
var grants = map[string]map[string]map[string]string{
	"plan.yml": {
		"plan":    {"contents": "read"},
		"comment": {"contents": "read", "pull-requests": "write"},
	},
	"apply.yml": {
		"settings": {},
		"apply":    {"contents": "write"},
	},
	"fleet-plan.yml": {
		"find":   {"contents": "read"},
		"plan":   {"contents": "read"},
		"result": {"contents": "read", "pull-requests": "write"},
	},
	"fleet-apply.yml": {
		"settings": {},
		"find":     {"contents": "read"},
		"apply":    {"contents": "write"},
		"result":   {"contents": "read"},
	},
	"schedule.yml": {
		"settings": {},
		"settle":   {"contents": "write"},
		"drift":    {"contents": "read"},
		"issue":    {"contents": "read", "issues": "write"},
	},
}

// ownGrants are the jobs of this repository's own workflows that write.
var ownGrants = map[string]map[string]map[string]string{
	"release.yml": {"release": {"contents": "write"}},
}

// workflow is what these tests look at.
type workflow struct {
	// On is a name, a list or a map.
	On          any                    `yaml:"on"`
	Permissions map[string]string      `yaml:"permissions"`
	Concurrency workflowGroup          `yaml:"concurrency"`
	Env         map[string]string      `yaml:"env"`
	Jobs        map[string]workflowJob `yaml:"jobs"`
}

type workflowGroup struct {
	Group  string `yaml:"group"`
	Cancel bool   `yaml:"cancel-in-progress"`
}

// names are one name or several.
type names []string

func (n *names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*n = names{node.Value}
		return nil
	}
	return node.Decode((*[]string)(n))
}

type workflowJob struct {
	Needs       names             `yaml:"needs"`
	Environment string            `yaml:"environment"`
	Uses        string            `yaml:"uses"`
	With        map[string]string `yaml:"with"`
	Secrets     yaml.Node         `yaml:"secrets"`
	Permissions map[string]string `yaml:"permissions"`
	Concurrency workflowGroup     `yaml:"concurrency"`
	Timeout     int               `yaml:"timeout-minutes"`
	Env         map[string]string `yaml:"env"`
	Steps       []workflowStep    `yaml:"steps"`
}

type workflowStep struct {
	Name  string            `yaml:"name"`
	If    string            `yaml:"if"`
	Uses  string            `yaml:"uses"`
	With  map[string]string `yaml:"with"`
	Env   map[string]string `yaml:"env"`
	Shell string            `yaml:"shell"`
	Run   string            `yaml:"run"`
}

// ofTrueup reports whether the step checks trueup out, and not a user's repository.
func (s workflowStep) ofTrueup() bool { return s.With["path"] == ".trueup-source" }

// steps are those of all jobs, and a called workflow like a step.
func (w workflow) steps() []workflowStep {
	var all []workflowStep
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		all = append(all, workflowStep{Uses: w.Jobs[name].Uses})
		all = append(all, w.Jobs[name].Steps...)
	}
	return all
}

// triggers are the names of the events that start it.
func (w workflow) triggers() []string {
	switch on := w.On.(type) {
	case string:
		return []string{on}
	case map[string]any:
		return slices.Sorted(maps.Keys(on))
	}
	return nil
}

// readWorkflows reads the workflows of a folder.
func readWorkflows(t *testing.T, dir string) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.y*ml"))
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
	if err := yaml.Unmarshal([]byte(harness.ReadText(t, file)), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// checkScript holds commands to what a shell understands, and to text that nobody
// outside can write: what comes from there reaches them as a variable.
func checkScript(t *testing.T, where, script string) {
	t.Helper()
	for _, never := range []string{"${{", "$[[", "set -x", "set -o xtrace", "eval "} {
		if strings.Contains(script, never) {
			t.Errorf("%s: %s stands in a command\n%s", where, never, script)
		}
	}
	if m := regexp.MustCompile(`(?m)^.*(echo|printf|cat <<).*\$\{?\w*(TOKEN|SECRET).*$`).FindString(script); m != "" {
		t.Errorf("%s: a token is printed: %s", where, m)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("the syntax of commands needs bash, which is not here")
	}
	cmd := exec.CommandContext(t.Context(), bash, "-n")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s\n%s", where, err, out, script)
	}
}

// checkSteps holds steps to pinned actions, to a shell that ends at the
// first failure, and checkouts to keep the host's token only where git needs it.
func checkSteps(t *testing.T, file string, steps []workflowStep) {
	t.Helper()
	for _, s := range steps {
		if s.Run != "" {
			checkScript(t, file, s.Run)
			if s.Shell != "bash" && strings.Contains(strings.TrimSpace(s.Run), "\n") {
				t.Errorf("%s: %q goes on after a failure within a pipe", file, s.Name)
			}
		}
		action, commit, _ := strings.Cut(s.Uses, "@")
		if s.Uses == "" || strings.HasPrefix(s.Uses, "./") {
			continue
		}
		if pins[action].commit != commit || commit == "" {
			t.Errorf("%s: %s is not pinned as the table in this test says", file, s.Uses)
		}
		if keeps := s.With["persist-credentials"]; action == "actions/checkout" && keeps != "false" && (keeps != "true" || s.ofTrueup()) {
			t.Errorf("%s: a checkout says persist-credentials: %q", file, keeps)
		}
	}
}

// said are the only things that an expression may take from outside: nothing that
// a pull request says, such as a title or the name of a branch. github.ref is the
// one that is checked out, and no command sees it.
var said = regexp.MustCompile(`^(inputs\.[\w-]+|vars\.\w+|secrets\.\w+|(steps|needs|jobs)\.\w+\.outputs\.[\w-]+|needs\.\w+\.result|matrix\.shard|job\.workflow_(repository|sha)|` +
	`runner\.(temp|tool_cache)|github\.(token|event_name|ref|run_id|run_attempt|server_url|action_path|action_repository|event\.pull_request\.(number|base\.sha)))$`)

// ofFork is true or false, whatever name the fork has.
const ofFork = "github.event.pull_request.head.repo.full_name != github.repository"

// TestExpressionsTakeNothingOfAPullRequest reads all of them, wherever they stand.
func TestExpressionsTakeNothingOfAPullRequest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	expressions := 0
	for _, f := range append(files, "action.yml") {
		for _, m := range regexp.MustCompile(`\$\{\{(.*?)\}\}`).FindAllStringSubmatch(harness.ReadText(t, f), -1) {
			expressions++
			text := strings.Replace(regexp.MustCompile(`'[^']*'`).ReplaceAllString(m[1], ""), ofFork, "", 1)
			for _, name := range regexp.MustCompile(`[A-Za-z_][\w.-]*`).FindAllString(text, -1) {
				if name != "cancelled" && name != "always" && name != "fromJSON" && !said.MatchString(name) {
					t.Errorf("%s: ${{%s}}: %s is not what these tests know as harmless", f, m[1], name)
				}
			}
		}
	}
	if expressions < 50 {
		t.Errorf("only %d expressions were looked at", expressions)
	}
}

func TestWorkflowsAreSafe(t *testing.T) {
	t.Parallel()
	for file, w := range readWorkflows(t, filepath.Join(".github", "workflows")) {
		checkSteps(t, file, w.steps())
		on := w.triggers()
		if len(on) == 0 || slices.Contains(on, "pull_request_target") || slices.Contains(on, "workflow_run") {
			t.Errorf("%s: triggers are %v", file, on)
		}
		if w.Permissions == nil {
			t.Errorf("%s: permissions are not set at the top", file)
		}
		for scope, level := range w.Permissions {
			if level != "read" {
				t.Errorf("%s: every job takes %s: %s", file, scope, level)
			}
		}
		if len(w.Env) > 0 {
			t.Errorf("%s: every step gets %v", file, w.Env)
		}
		for name, job := range w.Jobs {
			if job.Uses == "" && (job.Timeout < 1 || job.Timeout > 360) {
				t.Errorf("%s: job %s has %d minutes", file, name, job.Timeout)
			}
			if len(job.Env) > 0 {
				t.Errorf("%s: every step of %s gets %v", file, name, job.Env)
			}
			for scope, level := range job.Permissions {
				if level == "write" && grants[file][name][scope] != "write" && ownGrants[file][name][scope] != "write" {
					t.Errorf("%s: job %s takes %s: write", file, name, scope)
				}
			}
		}
	}
}

// actionFile is what these tests look at of action.yml.
type actionFile struct {
	Inputs  map[string]struct{ Description string } `yaml:"inputs"`
	Outputs map[string]struct{ Value string }       `yaml:"outputs"`
	Runs    struct {
		Using string         `yaml:"using"`
		Steps []workflowStep `yaml:"steps"`
	} `yaml:"runs"`
}

func readAction(t *testing.T) (action actionFile) {
	t.Helper()
	readYAML(t, "action.yml", &action)
	return action
}

// TestActionIsSafe: it installs by install.sh alone, which TestInstall tries.
func TestActionIsSafe(t *testing.T) {
	t.Parallel()
	action := readAction(t)
	steps := action.Runs.Steps
	if action.Runs.Using != "composite" || len(steps) != 4 || len(action.Outputs) != 1 || action.Inputs["download"].Description == "" {
		t.Fatalf("action.yml is %+v", action)
	}
	checkSteps(t, "action.yml", steps)
	for i, line := range map[int]string{0: `sh "$GITHUB_ACTION_PATH/install.sh" --download "$RUNNER_TEMP/trueup"`, 2: `sh "$GITHUB_ACTION_PATH/install.sh" --build "$RUNNER_TEMP/trueup"`} {
		if !strings.Contains(steps[i].Run, line) {
			t.Errorf("action.yml: step %q does not say %s", steps[i].Name, line)
		}
	}
	if due := "${{ steps.download.outputs.build == 'true' }}"; steps[1].If != due || steps[2].If != due {
		t.Errorf("action.yml: Go is installed if %s, trueup is built if %s", steps[1].If, steps[2].If)
	}
	for _, part := range []string{`>>"$GITHUB_PATH"`, `echo "version=$version" >>"$GITHUB_OUTPUT"`} {
		if !strings.Contains(steps[3].Run, part) {
			t.Errorf("action.yml does not say %s", part)
		}
	}
}

// platformTokens are the secrets with which the platform is reached.
var platformTokens = regexp.MustCompile(`secrets\.(TRUEUP_(DELIVERY|COMPUTE)|AWS)_`)

// runsOnPlatform are the commands that reach it, and ask nobody.
var runsOnPlatform = regexp.MustCompile(`(?s)trueup (each .* -- )?(plan|apply --auto-approve=\S+|drift|ledger settle) `)

// TestWorkflowsForUsers: each job has just the rights that it needs, and each token
// reaches just the step that uses it.
func TestWorkflowsForUsers(t *testing.T) {
	t.Parallel()
	all := readWorkflows(t, filepath.Join(".github", "workflows"))
	for file, jobs := range grants {
		w := all[file]
		if !slices.Equal(w.triggers(), []string{"workflow_call"}) || len(w.Permissions) != 0 || len(w.Jobs) != len(jobs) {
			t.Errorf("%s: triggers %v, permissions %v, %d jobs", file, w.triggers(), w.Permissions, len(w.Jobs))
		}
		for name, grant := range jobs {
			job := w.Jobs[name]
			if !maps.Equal(job.Permissions, grant) {
				t.Errorf("%s: job %s takes %v, and needs %v", file, name, job.Permissions, grant)
			}
			if name == "settings" {
				checkSettings(t, file, w)
				continue
			}
			checkUserSteps(t, file+": "+name, job.Steps)
		}
	}
}

// ofEnvironment are the variables that must not be those of the repository where a
// token may write.
var ofEnvironment = regexp.MustCompile(`vars\.TRUEUP_\w+`)

// checkSettings holds the job without an environment to see each variable that the
// jobs with one take, before any of them starts.
func checkSettings(t *testing.T, file string, w workflow) {
	t.Helper()
	settings := w.Jobs["settings"]
	if settings.Environment != "" || len(settings.Needs) > 0 || len(settings.Steps) != 1 {
		t.Fatalf("%s: settings is %+v", file, settings)
	}
	seen := settings.Steps[0]
	for name, job := range w.Jobs {
		if job.Environment != "" && !slices.Contains(job.Needs, "settings") {
			t.Errorf("%s: job %s does not wait for settings", file, name)
		}
		for _, s := range job.Steps {
			for variable, value := range s.Env {
				if ofEnvironment.MatchString(value) && (seen.Env[variable] != value || !strings.Contains(seen.Run, " "+variable)) {
					t.Errorf("%s: settings does not look at %s, which job %s takes", file, value, name)
				}
			}
		}
	}
}

func checkUserSteps(t *testing.T, where string, steps []workflowStep) {
	t.Helper()
	own, trueup, used, told, found := 0, 0, 0, 0, 0
	for _, s := range steps {
		if strings.Contains(s.Run, " --list --matrix") {
			found++
		}
	}
	for i, s := range steps {
		switch {
		case strings.HasPrefix(s.Uses, "actions/checkout@") && s.ofTrueup():
			trueup++
			if next := steps[i+1]; next.With["download"] != "${{ vars.TRUEUP_DOWNLOAD }}" {
				t.Errorf("%s: trueup is not downloaded from the mirror that a variable names: %v", where, next.With)
			}
			if s.With["repository"] != "${{ inputs.trueup-repository || job.workflow_repository }}" || s.With["ref"] != "${{ inputs.trueup-commit || job.workflow_sha }}" ||
				s.With["token"] != "${{ secrets.TRUEUP_SOURCE_TOKEN || github.token }}" {
				t.Errorf("%s: trueup is of another commit than the workflow: %v", where, s.With)
			}
			// The runner reads the action again when the job ends, so nothing may be
			// checked out over it either.
			if i == 0 || !strings.Contains(steps[i-1].Run, ".trueup-source") || steps[i+1].Uses != "./.trueup-source" {
				t.Errorf("%s: what the repository has at .trueup-source is not looked at right before the checkout", where)
			}
		case strings.HasPrefix(s.Uses, "actions/checkout@"):
			if own++; trueup > 0 || s.With["persist-credentials"] != strconv.FormatBool(found == 0) {
				t.Errorf("%s: the repository is checked out over trueup's source, or no ledger in it can be reached: %v", where, s.With)
			}
		case runsOnPlatform.MatchString(s.Run):
			used++
			pin := "TRUEUP_LEDGER"
			if strings.Contains(s.Run, "trueup each ") {
				pin = "TRUEUP_PROJECTS"
			}
			if !strings.Contains(s.Env[pin], "vars."+pin) {
				t.Errorf("%s: step %q takes no pin from vars.%s", where, s.Name, pin)
			}
		case strings.Contains(s.Run, "trueup comment "), strings.Contains(s.Run, "trueup show "):
			told = 1
		}
		for name, value := range s.Env {
			secret := name
			if strings.Contains(s.Run, "trueup drift ") {
				secret = strings.Replace(name, "_TOKEN", "_READ_TOKEN", 1)
			}
			if platformTokens.MatchString(value) && (!runsOnPlatform.MatchString(s.Run) || value != "${{ secrets."+secret+" }}") {
				t.Errorf("%s: step %q gets %s of %s", where, s.Name, name, value)
			}
			if strings.Contains(value, "github.token") && !strings.Contains(s.Run, "trueup comment ") {
				t.Errorf("%s: step %q gets the host's token", where, s.Name)
			}
		}
	}
	if used+found+told != 1 || own != used+found || trueup != 1 {
		t.Errorf("%s: %d checkouts of the repository, %d of trueup, %d steps with the platform, %d with results, %d that find projects", where, own, trueup, used, told, found)
	}
	if told == 0 && !strings.Contains(steps[0].Run, "[[ -z $REPOSITORY || ! $COMMIT =~ ^[0-9a-f]{40}$ ]]") {
		t.Errorf("%s: where trueup comes from is not looked at first", where)
	}
}

// TestApplyIsNeitherCancelledNorDropped: what writes runs once at a time for each
// folder, gets the runner's signals itself, and waits for nothing that could be
// taken for it.
func TestApplyIsNeitherCancelledNorDropped(t *testing.T) {
	t.Parallel()
	all := readWorkflows(t, filepath.Join(".github", "workflows"))
	groups := map[string]bool{}
	for file, name := range map[string]string{"apply.yml": "apply", "schedule.yml": "settle", "fleet-apply.yml": "apply"} {
		job := all[file].Jobs[name]
		group := job.Concurrency
		if strings.HasPrefix(file, "fleet-") { // the jobs of a run share it
			group = all[file].Concurrency
		}
		if group.Cancel || !strings.HasSuffix(group.Group, "-${{ inputs.directory }}") || groups[group.Group] {
			t.Errorf("%s: concurrency is %+v", file, group)
		}
		groups[group.Group] = true
		for _, s := range job.Steps {
			if runsOnPlatform.MatchString(s.Run) && !regexp.MustCompile(`(?m)^exec trueup `).MatchString(s.Run) {
				t.Errorf("%s: the signal of a runner does not reach %s", file, s.Run)
			}
		}
	}
	for file, plan := range map[string]workflowGroup{"plan.yml": all["plan.yml"].Jobs["plan"].Concurrency, "fleet-plan.yml": all["fleet-plan.yml"].Concurrency} {
		if !plan.Cancel || !strings.Contains(plan.Group, "github.event.pull_request.number || github.run_id") || !strings.HasSuffix(plan.Group, "-${{ inputs.directory }}") {
			t.Errorf("%s: concurrency is %+v", file, plan)
		}
	}
	for _, s := range all["apply.yml"].Jobs["apply"].Steps {
		if s.With["persist-credentials"] == "true" && s.With["ref"] != "${{ github.ref }}" {
			t.Error("apply.yml: an old run that is started again would apply an old commit")
		}
	}
}

// TestAFleetIsOfOneCommit: shards apply the commit of the branch that the first job found in the same attempt, whatever
// is pushed meanwhile, and a part of an old run does not start again.
func TestAFleetIsOfOneCommit(t *testing.T) {
	t.Parallel()
	jobs := readWorkflows(t, filepath.Join(".github", "workflows"))["fleet-apply.yml"].Jobs
	for name, ref := range map[string]string{"find": "${{ github.ref }}", "apply": "${{ needs.find.outputs.commit }}"} {
		for _, s := range jobs[name].Steps {
			if strings.HasPrefix(s.Uses, "actions/checkout@") && !s.ofTrueup() && s.With["ref"] != ref {
				t.Errorf("job %s checks out %q", name, s.With["ref"])
			}
		}
	}
	rejects := slices.IndexFunc(jobs["apply"].Steps, func(s workflowStep) bool {
		return s.Env["ATTEMPT"] == "${{ needs.find.outputs.attempt }}" && strings.Contains(s.Run, `[[ $ATTEMPT != "$GITHUB_RUN_ATTEMPT" ]]`)
	})
	if rejects != 1 {
		t.Errorf("step %d rejects a part of an old run", rejects)
	}
}

// TestArtifactsOfTwoDirectoriesHaveTwoNames runs the steps that name them. The job that merges takes the artifacts whose
// names begin with those of its own results.
func TestArtifactsOfTwoDirectoriesHaveTwoNames(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{}
	for name, w := range readWorkflows(t, filepath.Join(".github", "workflows")) {
		for _, s := range w.steps() {
			if strings.Contains(s.Run, "name=trueup-plan") || s.Env["NAME"] == "trueup-"+strings.TrimSuffix(name, ".yml") && s.Env["DIRECTORY"] != "" {
				scripts[name] = s.Run
			}
		}
	}
	if len(scripts) != 3 {
		t.Fatalf("%d workflows name artifacts", len(scripts))
	}
	allowed := regexp.MustCompile(`^((reports|name|results)=trueup-[A-Za-z0-9._-]*\n)+$`)
	for workflow, script := range scripts {
		var seen []string
		for _, directory := range []string{".", "1", "envs/prod", "envs-prod", "envs prod", "envs//prod", "envs/prod/", "Envs/prod", "envs.prod", "envs-prod-1"} {
			output := filepath.Join(t.TempDir(), "output")
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
			cmd.Env = append(cmd.Environ(), "REPOSITORY=acme/trueup", "COMMIT="+strings.Repeat("a", 40), "DIRECTORY="+directory,
				"NAME=trueup-"+strings.TrimSuffix(workflow, ".yml"), "GITHUB_RUN_ATTEMPT=1", "GITHUB_OUTPUT="+output)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", workflow, err, out)
			}
			text, err := os.ReadFile(output)
			if err != nil || !allowed.Match(text) {
				t.Errorf("%s, %s: %q, %v", workflow, directory, text, err)
			}
			for line := range strings.Lines(string(text)) {
				name := strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(name, "results=") {
					name += "-1-of-2"
				}
				for _, other := range seen {
					pattern := strings.TrimSuffix(other, "1-of-2")
					if name == other || pattern != other && strings.HasPrefix(name, pattern) {
						t.Errorf("%s: %s also has the name %s", workflow, directory, other)
					}
				}
				seen = append(seen, name)
			}
		}
	}
}

// TestPinsNameTheirTag: a commit says nothing to a reader, so its tag follows it.
func TestPinsNameTheirTag(t *testing.T) {
	t.Parallel()
	used := regexp.MustCompile(`uses: ([\w-]+(?:/[\w-]+)+)@([0-9a-f]{40}) # (v[\d.]+)$`)
	files, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "action.yml") {
		for text := range strings.Lines(harness.ReadText(t, f)) {
			text = strings.TrimSuffix(text, "\n")
			m := used.FindStringSubmatch(text)
			if strings.Contains(text, "uses: ") && !strings.Contains(text, "uses: ./") && (m == nil || pins[m[1]] != pin{m[2], m[3]}) {
				t.Errorf("%s: %s", f, strings.TrimSpace(text))
			}
		}
	}
}
