package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/cli"
	"trueup/internal/sandbox"
)

// ownSandbox is a folder with the examples in it, and a platform of its own.
func ownSandbox(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runIn runs the program in dir, as in a pipe and in CI, and returns the exit
// code and what it printed to both streams.
func runIn(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := cli.Main(t.Context(), args, cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir,
		Getenv: func(name string) string { return map[string]string{"CI": "true", "USER": "you"}[name] },
		Now:    func() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) },
		Sleep:  func(context.Context, time.Duration) error { return nil },
	})
	return code, out.String()
}

// console is a block of a page that shows commands and what they print.
type console struct {
	line  int
	steps []consoleStep
}

type consoleStep struct {
	command string
	output  []string
}

// consoles reads the console blocks of a page.
func consoles(page string) []console {
	var blocks []console
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case line == "```console":
			inside = true
			blocks = append(blocks, console{line: i + 1})
		case line == "```":
			inside = false
		case inside:
			block := &blocks[len(blocks)-1]
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				block.steps = append(block.steps, consoleStep{command: command})
			} else if n := len(block.steps); n > 0 {
				block.steps[n-1].output = append(block.steps[n-1].output, line)
			}
		}
	}
	return blocks
}

// arguments are those of a command that starts the program; what stands in
// single quotes is one of them.
func arguments(command string) ([]string, bool) {
	for _, program := range []string{"go run . ", "trueup "} {
		if rest, ok := strings.CutPrefix(command, program); ok {
			var args []string
			for i, part := range strings.Split(rest, "'") {
				if i%2 == 1 {
					args = append(args, part)
					continue
				}
				args = append(args, strings.Fields(part)...)
			}
			return args, true
		}
	}
	return nil, false
}

// TestDocumentation runs the console blocks of the documentation: those of one
// page one after the other on one sandbox. `echo $?` shows the last exit code,
// and a line of three dots stands for lines that are left out.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range append(pages, "README.md") {
		dir, code := ownSandbox(t), 0
		for _, block := range consoles(readText(t, page)) {
			for _, s := range block.steps {
				var got string
				args, isProgram := arguments(s.command)
				switch {
				case isProgram:
					code, got = runIn(t, dir, args...)
				case s.command == "echo $?":
					got = fmt.Sprintln(code)
				default:
					t.Fatalf("%s:%d: %q does not start the program", page, block.line, s.command)
				}
				ran++
				want := strings.Join(s.output, "\n")
				if !shows(want, steady(got)) {
					t.Errorf("%s:%d: $ %s\nprints\n%s\nand the page says\n%s", page, block.line, s.command, steady(got), want)
				}
			}
		}
	}
	if ran < 8 {
		t.Errorf("only %d commands ran", ran)
	}
}

// shows reports whether want is got, but for what three dots leave out.
func shows(want, got string) bool {
	parts := strings.Split("\n"+want+"\n", "\n...\n")
	rest := "\n" + strings.Trim(got, "\n") + "\n"
	for i, part := range parts {
		part = "\n" + strings.Trim(part, "\n") + "\n"
		if part == "\n\n" {
			continue
		}
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		rest = rest[at+len(part)-1:]
	}
	return strings.HasSuffix(want, "...") || strings.TrimSpace(rest) == ""
}

func TestShows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a", "a\nb\n", false},
		{"b", "a\nb\n", false},
		{"a\n...", "a\nb\n", true},
		{"...\nb", "a\nb\n", true},
		{"a\n...\nc", "a\nb\nc\n", true},
		{"a\n...\nd", "a\nb\nc\n", false},
		{"", "a\n", false},
		{"", "", true},
	} {
		if got := shows(c.want, c.got); got != c.ok {
			t.Errorf("shows(%q, %q) = %v", c.want, c.got, got)
		}
	}
}

// steady replaces what differs from run to run.
func steady(text string) string {
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`).ReplaceAllString(text, "2026-11-21T09:00:00Z")
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(text, "7c0e2f5b-0d0a-4a53-9a0c-9b6f2f1f3a77")
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestExitCodesAreDocumented compares docs/exit-codes.md with the constants of
// the program, and its table of commands with what their help says.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	source := readText(t, filepath.Join("internal", "cli", "exit.go"))
	page := readText(t, filepath.Join("docs", "exit-codes.md"))
	names := map[string]string{}
	for _, m := range regexp.MustCompile(`(exit\w+): +"([\w-]+)"`).FindAllStringSubmatch(source, -1) {
		names[m[1]] = m[2]
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`\t(exit\w+) += (\d+)\n`).FindAllStringSubmatch(source, -1) {
		want = append(want, m[2]+" "+names[m[1]])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d+) \\| `([\\w-]+)` \\|").FindAllStringSubmatch(page, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if len(want) != 10 || !slices.Equal(want, got) {
		t.Errorf("the page lists\n%q, and the program has\n%q", got, want)
	}
	for _, command := range []string{"validate", "plan", "drift", "apply"} {
		_, help := runIn(t, t.TempDir(), command, "--help")
		_, codes, _ := strings.Cut(help, "Exit codes: ")
		codes, _, _ = strings.Cut(codes, "\n\n")
		row := "| `" + command + "` | " + strings.Join(regexp.MustCompile(`\b\d+\b`).FindAllString(codes, -1), ", ") + " |"
		if codes == "" || !strings.Contains(page, row) {
			t.Errorf("docs/exit-codes.md lacks the row\n%s", row)
		}
	}
}

// TestQuirksAreDocumented: the table of docs/sandbox.md is the program's own;
// with -update it is written anew.
func TestQuirksAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | group | what it does |\n|---|---|---|\n")
	for _, q := range sandbox.Quirks() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", q.Name, q.Group, cell(q.Summary))
	}
	compareTable(t, "quirks", table.String())
}

// TestFaultsAreDocumented: so is that of the effects of faults.
func TestFaultsAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| effect | the platform acts | what it does | example |\n|---|---|---|---|\n")
	for _, e := range sandbox.Effects() {
		acts := "always"
		if e.Either {
			acts = "as said"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | `%s` |\n", cell(e.Form), acts, cell(e.Summary), cell(e.Example))
	}
	compareTable(t, "faults", table.String())
	if page := readText(t, filepath.Join("docs", "sandbox.md")); !strings.Contains(page, strings.Split(sandbox.FaultGrammar, ",")[0]) {
		t.Error("docs/sandbox.md does not show the grammar of faults")
	}
}

// cell is text in a cell of a table.
func cell(text string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(text) }

// compareTable holds a generated table of docs/sandbox.md to what it should be.
func compareTable(t *testing.T, name, table string) {
	t.Helper()
	begin, end := "<!-- "+name+": written by go test . -update -->\n", "<!-- end of "+name+" -->\n"
	file := filepath.Join("docs", "sandbox.md")
	before, rest, ok := strings.Cut(readText(t, file), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the %s", file, name)
	}
	compareFile(t, file, []byte(before+begin+table+end+after))
}

// compareFile holds a generated file to what it should be, or writes it.
func compareFile(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if readText(t, file) != string(want) {
		t.Errorf("%s is stale: run go test . -update", file)
	}
}

// TestDocumentedCommandsExist: the README's table of commands is what the
// program has, and every link between pages leads somewhere.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	_, help := runIn(t, t.TempDir(), "--help")
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	readme := readText(t, "README.md")
	for line := range strings.SplitSeq(list, "\n") {
		name := strings.Fields(line)[0]
		if name != "help" && !strings.Contains(readme, "| `"+name) {
			t.Errorf("README.md does not list the command %s", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)[^`]*` \\|").FindAllStringSubmatch(readme, -1) {
		if !strings.Contains(list, "\n  "+m[1]+" ") && !strings.HasPrefix(list, "  "+m[1]+" ") {
			t.Errorf("README.md lists %s, which the program does not have", m[1])
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", filepath.Join("docs", "*.md")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(readText(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
}
