package cli

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/diag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpFitsTheTerminal: no line of any command's help is broken by the
// terminal, which does so within words, but for one that shows how to call it; a
// pipe gets whole lines.
func TestHelpFitsTheTerminal(t *testing.T) {
	help := func(width int, args ...string) string {
		var out bytes.Buffer
		env := config.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Cwd: t.TempDir(), Width: width}
		if code := Main(t.Context(), append(args, "--help"), env); code != diag.ExitOK {
			t.Errorf("%v: exit %d", args, code)
		}
		return out.String()
	}
	var all func(cmd *cobra.Command, args ...string)
	all = func(cmd *cobra.Command, args ...string) {
		text := help(80, args...)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 81 && !strings.HasPrefix(line, "  trueup ") {
				t.Errorf("%v: %q", args, line)
			}
		}
		if whole := help(0, args...); strings.Join(strings.Fields(whole), " ") != strings.Join(strings.Fields(text), " ") {
			t.Errorf("%v: the words differ:\n%s\n%s", args, whole, text)
		}
		for _, below := range cmd.Commands() {
			all(below, append(args, below.Name())...)
		}
	}
	all(newRoot(command.NewRun(config.Env{})))
	help(1)
}

func TestTextsAreBrokenBetweenWords(t *testing.T) {
	for text, want := range map[string]string{
		"one two\nthree four": "one two\nthree four",
		"one\ntwo three":      "one two\nthree",
		"one\n\ntwo":          "one\n\ntwo",
		"a\n  b ccccc ddd":    "a\n  b ccccc\n      ddd",
		"aaaaaaaaaaaaaaa b":   "aaaaaaaaaaaaaaa b",
		"äääääääääöö b":       "äääääääääöö b",
		"":                    "",
	} {
		if got := command.WrapText(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTextsHaveLines: what no terminal breaks, such as a page in a file, is broken
// in the source; exit codes are a paragraph of their own; each command of ours
// has a text, and each text a command.
func TestTextsHaveLines(t *testing.T) {
	files, err := helpTexts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for _, f := range files {
		texts[f.Name()] = true
	}
	for _, cmd := range shownCommands(newRoot(command.NewRun(config.Env{}))) {
		if before, _, has := strings.Cut(cmd.Long, "Exit codes:"); has && !strings.HasSuffix(before, "\n\n") {
			t.Errorf("%s: exit codes stand in another paragraph", cmd.CommandPath())
		}
		delete(texts, strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "trueup "), " ", "-")+".txt")
		if !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if cmd.Short == "" {
			t.Errorf("%s has no text", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long) {
			if len(line) > 125 && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: a line of %d: %s", cmd.CommandPath(), len(line), line)
			}
		}
	}
	if len(texts) > 0 {
		t.Errorf("texts of no command: %v", slices.Sorted(maps.Keys(texts)))
	}
}

// TestHelpShowsUsefulFlags, and none that does nothing in the command.
func TestHelpShowsUsefulFlags(t *testing.T) {
	for line, want := range map[string]string{
		"plan --help":          "Flags=accept base-ref detailed-exitcode drift help offline out prune target; Global Flags=chdir output profile quiet report sandbox verbose",
		"version --help":       "Flags=help; Global Flags=output quiet report verbose",
		"validate --help":      "Flags=help; Global Flags=chdir output quiet report verbose",
		"ledger show --help":   "Flags=help; Global Flags=chdir output profile quiet report sandbox verbose",
		"show --help":          "Flags=help; Global Flags=chdir output quiet report verbose",
		"ledger settle --help": "Flags=accept help target; Global Flags=chdir output profile quiet report sandbox verbose",
	} {
		code, text, _ := ran(t, t.TempDir(), strings.Fields(line)...)
		var parts []string
		for _, part := range []string{"Flags", "Global Flags"} {
			_, section, has := strings.Cut(text, "\n"+part+":\n")
			section, _, _ = strings.Cut(section, "\n\n")
			var names []string
			for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(section, -1) {
				names = append(names, m[1])
			}
			if has {
				parts = append(parts, part+"="+strings.Join(names, " "))
			}
		}
		if got := strings.Join(parts, "; "); got != want || code != diag.ExitOK {
			t.Errorf("%s: exit %d\n%s, want\n%s", line, code, got, want)
		}
	}
}

// TestFewCommandsAndFlags: all of them are more than anybody remembers.
func TestFewCommandsAndFlags(t *testing.T) {
	root := newRoot(command.NewRun(config.Env{}))
	if n := len(root.Commands()); n > 23 {
		t.Errorf("%d commands", n)
	}
	for _, name := range []string{"plan", "apply"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		cmd.InitDefaultHelpFlag()
		var names []string
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		}
		if len(names) > 18 {
			t.Errorf("%s has %d flags: %q", name, len(names), names)
		}
	}
}

// TestFlagsThatDoNothingAreRefused.
func TestFlagsThatDoNothingAreRefused(t *testing.T) {
	for _, line := range []string{"help -o json", "completion bash -o json", "ledger export --report json=x", "version --sandbox", "show x --profile p", "comment x --sandbox"} {
		code, _, said := ran(t, t.TempDir(), strings.Fields(line)...)
		if code != diag.ExitError || !strings.Contains(said, " does nothing in trueup ") {
			t.Errorf("%s: exit %d, %s", line, code, said)
		}
	}
	for _, line := range []string{"version --sand", "help --out", "completion bash --out", "ledger export --rep"} {
		if offered, _ := completed(t, config.Env{Cwd: t.TempDir()}, strings.Fields(line)...); len(offered) > 0 {
			t.Errorf("%s: completion offers %q", line, offered)
		}
	}
}
