//go:build linux

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/e2e/harness"
	"trueup/internal/sandbox"
)

// shows reports whether want is got, but for what three dots leave out.
func shows(want, got string) bool {
	return showsParts(want, got, "\n", func(text string) string { return strings.Trim(text, "\n") })
}

// showsParts is shows for texts of which only what normal leaves counts, and whose parts end where sep is.
func showsParts(want, got, sep string, normal func(string) string) bool {
	rest := sep + normal(got) + sep
	for i, part := range strings.Split("\n"+want+"\n", "\n...\n") {
		part = sep + normal(part) + sep
		if part == sep+sep {
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
	text = regexp.MustCompile(`from commit [0-9a-f]{12}, by you@[^,]+`).ReplaceAllString(text, "from commit 3f2c1ab90d17, by you@laptop")
	text = regexp.MustCompile(`answered in [\d.]+m?s`).ReplaceAllString(text, "answered in 1ms")
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(text, "7c0e2f5b-0d0a-4a53-9a0c-9b6f2f1f3a77")
}

// TestExitCodesAreDocumented compares docs/exit-codes.md with the program.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page := harness.ReadText(t, filepath.Join("docs", "exit-codes.md"))
	var want, got []string
	for _, code := range diag.ExitCodes() {
		want = append(want, strconv.Itoa(code.Number)+" "+code.Name)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d+) \\| `([\\w-]+)` \\|").FindAllStringSubmatch(page, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if len(want) != 10 || !slices.Equal(want, got) {
		t.Errorf("the page lists\n%q, and the program has\n%q", got, want)
	}
	readme := harness.ReadText(t, "README.md")
	for _, code := range diag.ExitCodes() {
		if !strings.Contains(readme, fmt.Sprintf("\n| %d | ", code.Number)) {
			t.Errorf("README.md does not list %d", code.Number)
		}
	}
}

// TestQuirksAreDocumented: the table of docs/reference/sandbox.md is the program's own;
// with -update it is written anew.
func TestQuirksAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | what it does |\n|---|---|\n")
	for _, q := range sandbox.Quirks() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", q.Name, cell(q.Summary))
	}
	compareTable(t, "quirks", table.String())
}

// TestFaultsAreDocumented: so is that of faults.
func TestFaultsAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| fault | the platform acts | what it does | example |\n|---|---|---|---|\n")
	for _, e := range sandbox.FaultKinds() {
		acts := "always"
		if e.Either {
			acts = "only `after-commit`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | `%s` |\n", cell(e.Form()), acts, cell(e.Summary), cell(e.Example))
	}
	compareTable(t, "faults", table.String())
	if page := harness.ReadText(t, filepath.Join("docs", "sandbox.md")); !strings.Contains(page, strings.Split(sandbox.Grammar, ",")[0]) {
		t.Error("docs/sandbox.md does not show the grammar of faults")
	}
}

// cell is text in a cell of a table.
func cell(text string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(text) }

// compareTable holds a generated table of docs/reference/sandbox.md to what it should be.
func compareTable(t *testing.T, name, table string) {
	t.Helper()
	begin, end := "<!-- "+name+": written by go test ./internal/e2e/docs -update -->\n", "<!-- end of "+name+" -->\n"
	file := filepath.Join("docs", "reference", "sandbox.md")
	before, rest, ok := strings.Cut(harness.ReadText(t, file), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the %s", file, name)
	}
	compareFile(t, file, []byte(before+begin+table+end+after))
}

// compareFile holds a generated file to what it should be, or writes it.
func compareFile(t *testing.T, file string, want []byte) {
	t.Helper()
	if *harness.Update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if harness.ReadText(t, file) != string(want) {
		t.Errorf("%s is stale: run go test ./internal/e2e/docs -update", file)
	}
}

// TestDocumentedCommandsExist: the README's table of commands is what the
// program has, and every link between pages leads somewhere.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	_, help := harness.RunIn(t, t.TempDir(), "--help")
	help, _, _ = strings.Cut(help, "\nFlags:")
	var has []string
	readme := harness.ReadText(t, "README.md")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`).FindAllStringSubmatch(help, -1) {
		if has = append(has, m[1]); m[1] != "help" && !strings.Contains(readme, "| `"+m[1]) && !strings.Contains(readme, "`, `"+m[1]+" ") {
			t.Errorf("README.md does not list the command %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)[^`]*` \\|").FindAllStringSubmatch(readme, -1) {
		if !slices.Contains(has, m[1]) {
			t.Errorf("README.md lists %s, which the program does not have", m[1])
		}
	}
}

// TestLinksLeadSomewhere: every link of a page is to a file that is there, and
// what it names in a page is one of its headings.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`).FindAllStringSubmatch(harness.ReadText(t, page), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(harness.ReadText(t, target)), m[2]) {
				t.Errorf("%s: %s has no heading %s", page, target, m[2])
			}
		}
	}
}

// anchors are the names of a page's headings, as code hosts make them.
func anchors(page string) []string {
	var names []string
	for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestNamedCommandsExist: a command that a sentence names is one of the
// program's, and has the flags that stand there.
func TestNamedCommandsExist(t *testing.T) {
	t.Parallel()
	dir, helps := t.TempDir(), map[string]string{}
	help := func(command string) string {
		if _, known := helps[command]; !known {
			_, helps[command] = harness.RunIn(t, dir, append(strings.Fields(command), "--help")...)
		}
		return helps[command]
	}
	named := 0
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" {
			continue // what a version had, another may not have
		}
		for _, m := range regexp.MustCompile("`trueup ([^`]+)`").FindAllStringSubmatch(harness.ReadText(t, page), -1) {
			named++
			command := ""
			for _, word := range strings.Fields(m[1]) {
				if !strings.Contains(help(command), "\n  "+word+" ") {
					break
				}
				command = strings.TrimSpace(command + " " + word)
			}
			rest := strings.TrimSpace(strings.TrimPrefix(m[1], command))
			if command == "" && !strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "COMMAND") || strings.Contains(help(command), " COMMAND\n") && regexp.MustCompile(`^[a-z]+\b`).MatchString(rest) {
				t.Errorf("%s: the program has no %q", page, m[0])
			}
			for _, flag := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(rest, -1) {
				if !strings.Contains(help(command), flag) {
					t.Errorf("%s: %q: trueup %s has no %s", page, m[0], command, flag)
				}
			}
		}
	}
	if named < 60 {
		t.Errorf("only %d commands are named", named)
	}
}

// TestIndexHasEveryPage: docs/README.md leads to each page of its folder and of
// the how-to guides; rules and the reference have indexes of their own.
func TestIndexHasEveryPage(t *testing.T) {
	t.Parallel()
	index := harness.ReadText(t, filepath.Join("docs", "README.md"))
	for _, page := range pages(t) {
		name, below := strings.CutPrefix(filepath.ToSlash(page), "docs/")
		if !below || name == "README.md" || strings.Contains(name, "/") && !strings.HasPrefix(name, "howto/") {
			continue
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

func TestMain(m *testing.M) { harness.RunMain(m, nil) }
