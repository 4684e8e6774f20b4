package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/e2e/harness"
)

// helps has the text of help of each command, by its path below trueup.
func helps(t *testing.T) map[string]string {
	t.Helper()
	page := harness.ReadText(t, filepath.Join("docs", "reference", "commands.md"))
	texts := map[string]string{}
	for _, section := range strings.Split(page, "\n## trueup ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		texts[name] = text
	}
	return texts
}

// commandIn returns the command at the start of some words, and what follows it.
func commandIn(words []string, texts map[string]string) (command string, rest []string) {
	for n := min(len(words), 2); n > 0; n-- {
		if name := strings.Join(words[:n], " "); texts[name] != "" {
			return name, words[n:]
		}
	}
	return "", words
}

// TestExitCodesOfCommandsAreDocumented: help lists each exit code that a script or a console sees.
func TestExitCodesOfCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	texts, seen := helps(t), 0
	check := func(file, code, command string) {
		name, _ := commandIn(strings.Fields(command), texts)
		if name == "" {
			return
		}
		seen++
		_, list, has := strings.Cut(texts[name], "Exit codes:\n")
		if code != "130" && (has || code != "0" && code != "1") && !strings.Contains(list, "\n  "+code+" ") {
			t.Errorf("%s: trueup %s ends with %s, which its help does not list", file, command, code)
		}
	}
	for _, page := range pages(t) {
		steps := stepsOf(harness.ReadText(t, page))
		for i, step := range steps {
			if command, ours := strings.CutPrefix(step.text, "trueup "); ours && i+1 < len(steps) && steps[i+1].text == "echo $?" {
				check(page, strings.Join(steps[i+1].prints, ""), command)
			}
		}
	}
	exits := regexp.MustCompile(`(?m)^exits (\d+) trueup (.*)$`)
	err := filepath.WalkDir(filepath.Join("internal", "e2e"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".txtar" {
			for _, m := range exits.FindAllStringSubmatch(harness.ReadText(t, path), -1) {
				check(path, m[1], m[2])
			}
		}
		return err
	})
	if err != nil || seen < 300 {
		t.Errorf("%d exit codes were seen: %v", seen, err)
	}
}

// TestNamedFlagsAndCodesExist: a flag or an exit code that a page names without its command is one of ours.
func TestNamedFlagsAndCodesExist(t *testing.T) {
	t.Parallel()
	reference := harness.ReadText(t, filepath.Join("docs", "reference", "commands.md"))
	// Flags of git, which pages name beside ours.
	others := []string{"--filter", "--help"}
	flags, codes := regexp.MustCompile("`(--[a-z][a-z-]*)"), regexp.MustCompile(`(?i)\bexit(?: code|s| is)? (\d+)\b`)
	for _, page := range pages(t) {
		text := harness.ReadText(t, page)
		for _, m := range flags.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(others, m[1]) && !regexp.MustCompile("\\| `(-., )?"+m[1]+"[ `]").MatchString(reference) {
				t.Errorf("%s: no command has the flag %s", page, m[1])
			}
		}
		for _, m := range codes.FindAllStringSubmatch(text, -1) {
			if number, err := strconv.Atoi(m[1]); err != nil || diag.ExitName(number) == "" {
				t.Errorf("%s: %q is no exit code", page, m[0])
			}
		}
	}
}
