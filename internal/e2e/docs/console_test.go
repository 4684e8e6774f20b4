//go:build linux

package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/long"
)

// A page of the documentation is played as a reader would: from top to bottom,
// in a folder of its own, by a real shell with the program on its PATH, once at a
// terminal and once into a pipe. There are three kinds of blocks, and all others
// are only read:
//
//   - ```console: each line after "$ " is a command, lines after "> " go on with
//     it (a here-document), and the rest is what it prints on both streams.
//     Three dots stand for lines that are left out. A command that fails is
//     followed by `echo $?`.
//   - any block right below a line that is nothing but `FILE`: is that file.
//   - ```diff right below a line In `FILE`: changes the one place of the file.
type pageStep struct {
	line   int
	action action
	// text is a command, the content of a file, or a change of it.
	text string
	file string
	// prints is what a command prints.
	prints []string
}

type action int

const (
	runCommand action = iota
	writeFile
	changeFile
)

// above is the line above a block that names its file.
var above = regexp.MustCompile("^(In )?`([^` ]+)`:$")

// stepsOf reads what a reader does with a page.
func stepsOf(page string) []pageStep {
	var steps []pageStep
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		fence, begins := strings.CutPrefix(lines[i], "```")
		if !begins {
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```")
		if end == i {
			break
		}
		block, at := lines[i+1:end], i+1
		named := above.FindStringSubmatch(lastText(lines[:i]))
		switch {
		case fence == "console":
			steps = append(steps, commandsOf(block, at)...)
		case named != nil && named[1] == "":
			steps = append(steps, pageStep{line: at, action: writeFile, file: named[2], text: strings.Join(block, "\n") + "\n"})
		case named != nil && fence == "diff":
			steps = append(steps, pageStep{line: at, action: changeFile, file: named[2], text: strings.Join(block, "\n") + "\n"})
		}
		i = end
	}
	return steps
}

// lastText is the last line that is not empty.
func lastText(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if line != "" {
			return line
		}
	}
	return ""
}

// commandsOf reads a console block that begins after a line.
func commandsOf(block []string, line int) []pageStep {
	var steps []pageStep
	for i, text := range block {
		n := len(steps) - 1
		switch {
		case strings.HasPrefix(text, "$ "):
			steps = append(steps, pageStep{line: line + 1 + i, text: text[2:]})
		case n < 0:
		case steps[n].prints == nil && (strings.HasPrefix(text, "> ") || text == ">"):
			steps[n].text += "\n" + strings.TrimPrefix(strings.TrimPrefix(text, ">"), " ")
		default:
			steps[n].prints = append(steps[n].prints, text)
		}
	}
	return steps
}

// pages are the pages of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, filepath.Join("internal", "generate", "agents.md"))
	err = filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDocumentation plays each page of the documentation; with TRUEUP_LONG at a terminal, too. One that speaks of
// examples/ begins in a folder that has the repository's.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	played := 0
	for _, page := range pages(t) {
		text := harness.ReadText(t, page)
		steps := stepsOf(text)
		if page == tutorial || page == hundred || page == cookbook || !slices.ContainsFunc(steps, func(s pageStep) bool { return s.action == runCommand }) {
			continue
		}
		played++
		eachWay(t, filepath.ToSlash(page), long.IsSet(), func(t *testing.T, s *shell) {
			if strings.Contains(text, "examples/") {
				if err := os.CopyFS(filepath.Join(s.dir, "examples"), os.DirFS("examples")); err != nil {
					t.Fatal(err)
				}
			}
			play(t, s, page, steps)
		})
	}
	if played < 6 {
		t.Errorf("only %d pages were played", played)
	}
}

// TestNoOutputIsUntested: what a page shows of a terminal is a console block, which is run. A block without a language
// is a file.
func TestNoOutputIsUntested(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		lines, inside := strings.Split(harness.ReadText(t, page), "\n"), false
		for i, line := range lines {
			if !strings.HasPrefix(line, "```") {
				continue
			}
			if inside = !inside; inside && line == "```" && !above.MatchString(lastText(lines[:i])) {
				t.Errorf("%s:%d: make it a console block, or name its file or language", page, i+1)
			}
		}
	}
}

// cookbook is played by a test of its own.
var cookbook = filepath.Join("docs", "cookbook.md")

// TestCookbook plays each recipe on its own, in a copy of a repository with the CDN that the page begins with.
func TestCookbook(t *testing.T) {
	t.Parallel()
	start, rest, _ := strings.Cut(harness.ReadText(t, cookbook), "\n## ")
	recipes, line := strings.Split(rest, "\n## "), strings.Count(start, "\n")+1
	if len(recipes) > 15 {
		t.Errorf("the page has %d recipes", len(recipes))
	}
	made := startShell(t, false)
	runAll(t, made, emptyBakery)
	play(t, made, cookbook, stepsOf(start))
	runAll(t, made, []string{"git add . && git commit -q -m Shop && git push -q -u origin main", "trueup apply --auto-approve -q"})
	copied := fmt.Sprintf("cp -a %s/. ~; cp -a %s .; cd bakery; git remote set-url origin ~/origin.git", made.home, made.dir)
	for _, recipe := range recipes {
		name, _, _ := strings.Cut(recipe, "\n")
		steps := stepsOf(strings.Repeat("\n", line) + recipe)
		line += strings.Count(recipe, "\n") + 1
		eachWay(t, name, long.IsSet(), func(t *testing.T, s *shell) {
			runAll(t, s, []string{emptyBakery[0], copied})
			play(t, s, cookbook, steps)
		})
	}
}

// emptyBakery makes a repository with a remote and a project on the sandbox, which its commands use from then on.
var emptyBakery = []string{
	"trueup() { case $1 in sandbox | validate) command trueup \"$@\" ;; *) command trueup \"$@\" --sandbox ;; esac; }",
	"git init -q --bare ~/origin.git; git init -q bakery; cd bakery; git remote add origin ~/origin.git",
	"trueup init --workspace bakery --uuid 0b6f7d52-93b4-4a0f-8f3e-5c1f2f8f7a01 --manifests none --auto-approve",
}

// runAll runs commands that no page shows.
func runAll(t *testing.T, s *shell, commands []string) {
	t.Helper()
	for _, command := range commands {
		if code, printed, err := s.run(command); err != nil || code != 0 {
			t.Fatalf("$ %s\nends with %d, %v:\n%s", command, code, err, printed)
		}
	}
}

// eachWay runs a test in a shell whose output goes into a pipe, which is compared exactly, and perhaps in one at a terminal.
func eachWay(t *testing.T, name string, terminal bool, run func(t *testing.T, s *shell)) {
	t.Helper()
	for _, way := range []string{"pipe", "terminal"} {
		if way == "terminal" && !terminal {
			continue
		}
		t.Run(name+" "+way, func(t *testing.T) {
			t.Parallel()
			run(t, startShell(t, way == "terminal"))
		})
	}
}

// tutorial is played by a test of its own.
var tutorial = filepath.Join("docs", "tutorial.md")

// TestFirstHour plays the tutorial, and counts: at most five commands of ours and
// 900 words lead from forty objects that were made by hand to an applied change.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	page := harness.ReadText(t, tutorial)
	steps := stepsOf(page)
	var ours []string
	for _, step := range steps {
		if step.action == runCommand && strings.HasPrefix(step.text, "trueup ") && !strings.HasPrefix(step.text, "trueup sandbox ") {
			ours = append(ours, step.text)
		}
	}
	if last := ours[len(ours)-1]; !strings.HasPrefix(last, "trueup apply") {
		t.Errorf("the page ends with %s, and not with apply", last)
	}
	if words := len(strings.Fields(page)); len(ours) > 5 || words > 900 {
		t.Errorf("it takes %d words and %d commands:\n%s", words, len(ours), strings.Join(ours, "\n"))
	}
	eachWay(t, "", true, func(t *testing.T, s *shell) {
		begin := time.Now()
		play(t, s, tutorial, steps)
		t.Logf("the first hour took %d commands of ours and %.1f seconds", len(ours), time.Since(begin).Seconds())
	})
}

// hundred is played by a test of its own.
var hundred = filepath.Join("docs", "howto", "a-hundred-projects.md")

// TestAHundredProjects plays the page about the way to many projects. To read it, at 200 words a minute, and to do
// what it says takes ten minutes at most.
func TestAHundredProjects(t *testing.T) {
	t.Parallel()
	page := harness.ReadText(t, hundred)
	steps, begin := stepsOf(page), time.Now()
	play(t, startShell(t, false), hundred, steps)
	took := time.Since(begin)
	reading := time.Duration(len(strings.Fields(page))) * time.Minute / 200
	t.Logf("from one project to a hundred: %s to read, and %.1f seconds of commands", reading.Round(time.Second), took.Seconds())
	if last := steps[len(steps)-1].prints; took+reading > 10*time.Minute || last[len(last)-1] != "Plan of 100 projects: nothing to do, 100 unchanged." {
		t.Errorf("it takes %s, and ends with %q", took+reading, last)
	}
}

// TestFirstPlan does what the README says, on a served sandbox in place of a
// platform: at most 400 words lead to an empty plan of what is live there.
func TestFirstPlan(t *testing.T) {
	t.Parallel()
	readme := harness.ReadText(t, "README.md")
	before, _, ok := strings.Cut(readme, "\ntrueup plan ")
	if words := len(strings.Fields(before)); !ok || words > 400 {
		t.Errorf("the README takes %d words to the first plan", words)
	}
	if lines := strings.Count(readme, "\n"); lines > 120 {
		t.Errorf("the README has %d lines", lines)
	}
	block := readme[strings.LastIndex(before, "```sh\n")+len("```sh\n"):]
	block, _, _ = strings.Cut(block, "```")
	s, pulled := startShell(t, false), false
	for _, command := range slices.Concat(servedSandbox, strings.Split(strings.TrimSpace(block), "\n")) {
		// The platform's address is the sandbox's, and flags answer what init asks.
		command = regexp.MustCompile(`^export (TRUEUP_\w+_URL)=\S+`).ReplaceAllString(command, "export $1=$$$1")
		command = strings.Replace(command, "trueup init ", "trueup init --auto-approve --workspace acme --uuid acme-1 ", 1)
		code, printed, err := s.run(command)
		if err != nil || code != 0 {
			t.Fatalf("$ %s\nends with %d, %v:\n%s", command, code, err, printed)
		}
		pulled = pulled || strings.Contains(printed, "written  CDN/shop ")
		if strings.HasPrefix(command, "trueup plan") && !strings.Contains(printed, "Plan: nothing to do") {
			t.Errorf("the first plan is not empty:\n%s", printed)
		}
	}
	if !pulled {
		t.Error("init wrote no manifest of what is live")
	}
}

// TestPurgeOfADeploy plays the jobs that the page about deploys has for CI: each run posts a purge, also the same job of the
// same commit.
func TestPurgeOfADeploy(t *testing.T) {
	t.Parallel()
	page := filepath.Join("docs", "howto", "purge-on-deploy.md")
	text := harness.ReadText(t, page)
	s := startShell(t, false)
	play(t, s, page, stepsOf(text))
	commands := regexp.MustCompile(`(?m)^ *(?:run:|-) (trueup new purge .*)$`).FindAllStringSubmatch(text, -1)
	if len(commands) != 2 {
		t.Fatalf("the page has %d jobs", len(commands))
	}
	for i, job := range []string{
		"CI=true GITHUB_ACTIONS=true GITHUB_SHA=$(git rev-parse HEAD) GITHUB_RUN_ATTEMPT=1 GITHUB_RUN_ID",
		"CI=true GITLAB_CI=true CI_COMMIT_SHA=$(git rev-parse HEAD) CI_JOB_ID",
	} {
		for run := 100 * (i + 1); run < 100*(i+1)+2; run++ {
			command := fmt.Sprintf("(export %s=%d; set -eo pipefail; trueup() { command trueup \"$@\" --sandbox; }\n%s)", job, run, commands[i][1])
			code, printed, err := s.run(command)
			if err != nil || code != 0 || !regexp.MustCompile(fmt.Sprintf(`posted +Purge/[0-9a-f]{8}-%d-`, run)).MatchString(printed) {
				t.Errorf("$ %s\nends with %d, %v:\n%s", command, code, err, printed)
			}
		}
	}
}

// servedSandbox starts a sandbox with a CDN, keeps its tokens where the README has
// them, and goes to a repository with a remote.
var servedSandbox = []string{
	"mkdir -p platform ~/.config/trueup; cd platform",
	"printf '%s\\n' 'apiVersion: trueup/v1' 'kind: Project' 'workspace: {name: acme, uuid: acme-1}' 'manifests: [examples]' > trueup.yaml",
	"printf 'apiVersion: delivery/v2.1\\nkind: CDN\\nmetadata: {name: shop}\\nspec: {hostname: shop.example.com}\\n' > cdn.yaml",
	"trueup sandbox seed cdn.yaml",
	"trueup sandbox > env 2> requests & until grep -qs COMPUTE_TOKEN env; do sleep 0.1; done; source ./env",
	"umask 077; echo $TRUEUP_DELIVERY_TOKEN > ~/.config/trueup/delivery.token; echo $TRUEUP_COMPUTE_TOKEN > ~/.config/trueup/compute.token",
	"unset TRUEUP_DELIVERY_TOKEN TRUEUP_COMPUTE_TOKEN; cd ..",
	"git init -q --bare origin.git; git init -q repository; cd repository; git remote add origin ../origin.git",
}

// play does what a page says.
func play(t *testing.T, s *shell, page string, steps []pageStep) {
	t.Helper()
	for i, step := range steps {
		switch step.action {
		case writeFile:
			if err := s.write(step.file, step.text); err != nil {
				t.Fatalf("%s:%d: %v", page, step.line, err)
			}
		case changeFile:
			if err := s.change(step.file, step.text); err != nil {
				t.Fatalf("%s:%d: %v", page, step.line, err)
			}
		case runCommand:
			code, printed, err := s.run(step.text)
			if err != nil {
				t.Fatalf("%s:%d: %v\n%s", page, step.line, err, printed)
			}
			got, want := steady(strings.ReplaceAll(printed, s.home, "/home/you")), strings.Join(step.prints, "\n")
			if !s.says(want, got) {
				t.Errorf("%s:%d: $ %s\nprints\n%s\nand the page says\n%s", page, step.line, step.text, got, want)
			}
			if want == "..." {
				t.Errorf("%s:%d: $ %s\nprints\n%s\nof which the page shows nothing", page, step.line, step.text, got)
			}
			asked := i+1 < len(steps) && steps[i+1].text == "echo $?"
			if code != 0 && !asked {
				t.Errorf("%s:%d: $ %s\nfails with %d, which the page does not show:\n%s", page, step.line, step.text, code, got)
			}
		}
	}
}

func TestStepsOf(t *testing.T) {
	t.Parallel()
	page := strings.Join([]string{
		"Text.", "", "`a/b.yaml`:", "", "```yaml", "x: 1", "y: 2", "```", "",
		"In `a/b.yaml`:", "", "```diff", "-x: 1", "+x: 3", " y: 2", "```", "",
		"```yaml", "only: read", "```",
		"```console", "$ cat <<'EOF'", "> a", ">", "> b", "> EOF", "a", "", "b", "$ false", "$ echo $?", "1",
		"$ export PLACE=here; mkdir sub; cd sub", "$ cat ../a/b.yaml; echo $PLACE >&2", "x: 3", "...", "here", "```",
	}, "\n")
	steps := stepsOf(page)
	var what []string
	for _, s := range steps {
		what = append(what, fmt.Sprintf("%d:%d %s", s.line, s.action, s.file))
	}
	if want := []string{"5:1 a/b.yaml", "12:2 a/b.yaml", "22:0 ", "30:0 ", "31:0 ", "33:0 ", "34:0 "}; !slices.Equal(what, want) {
		t.Errorf("steps are\n%q, want\n%q", what, want)
	}
	for _, terminal := range []bool{false, true} {
		play(t, startShell(t, terminal), "page", steps)
	}
}
