package cli

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"trueup/internal/exit"

	"github.com/spf13/cobra"
)

// TestHelpFitsTheTerminal: no line of any command's help is broken by the
// terminal, which does so within words, but for one that shows how to call it; a
// pipe gets whole lines.
func TestHelpFitsTheTerminal(t *testing.T) {
	help := func(width int, args ...string) string {
		var out bytes.Buffer
		env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Dir: t.TempDir(), Width: width}
		if code := Main(t.Context(), append(args, "--help"), env); code != exit.OK {
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
	all(newRoot(newApp(Env{})))
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
		if got := fitted(text, 10); got != want {
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
	for _, cmd := range shownCommands(newRoot(newApp(Env{}))) {
		if before, _, has := strings.Cut(cmd.Long, "Exit codes:"); has && !strings.HasSuffix(before, "\n\n") {
			t.Errorf("%s: exit codes stand in another paragraph", cmd.CommandPath())
		}
		delete(texts, strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "trueup "), " ", "-")+".txt")
		if cmd.Short == "" {
			t.Errorf("%s has no text", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long) {
			if len(line) > 125 && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: a line of %d: %s", cmd.CommandPath(), len(line), line)
			}
		}
	}
	delete(texts, "man.txt") // a hidden command
	if len(texts) > 0 {
		t.Errorf("texts of no command: %v", slices.Sorted(maps.Keys(texts)))
	}
}
