package cli

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// widestHelp is how many columns help takes at most: longer lines are hard to
// read.
const widestHelp = 100

// helpTexts has a file for each command of ours: one line that lists show, what
// help says, and below a line "Examples:" the examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// describe gives a command, and all below it, the texts of its file. What the
// command says itself comes last.
func describe(cmd *cobra.Command) {
	name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "trueup "), " ", "-")
	if text, err := helpTexts.ReadFile("help/" + name + ".txt"); err == nil {
		short, rest, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
		long, examples, _ := strings.Cut(rest, "\nExamples:\n")
		cmd.Short, cmd.Example = short, examples
		cmd.Long = strings.Trim(strings.TrimSpace(long)+"\n\n"+cmd.Long, "\n")
	}
	for _, below := range cmd.Commands() {
		describe(below)
	}
}

// fitHelp makes the help of a command, and of all below it, fit a terminal of so
// many columns.
func fitHelp(cmd *cobra.Command, columns int) {
	if !cmd.HasParent() {
		cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns)))
	}
	cmd.Long = fitted(cmp.Or(cmd.Long, cmd.Short), columns)
	// In the list of commands it stands behind the name.
	margin := len("  ") + cmd.NamePadding() + len(" ")
	cmd.Short = strings.Join(folded(cmd.Short, columns-margin), "\n"+strings.Repeat(" ", margin))
	for _, below := range cmd.Commands() {
		fitHelp(below, columns)
	}
}

// fit makes a text fit the terminal, if there is one.
func (a *app) fit(text string) string {
	if a.env.Width == 0 {
		return text
	}
	return fitted(text, min(a.env.Width, widestHelp))
}

// fitted breaks the lines of a text. Those that follow each other are one
// paragraph, but for indented ones, which are a table's.
func fitted(text string, columns int) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, folded(strings.Join(paragraph, " "), columns)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && !strings.HasPrefix(line, " ") {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		out = append(out, folded(line, columns)...)
	}
	end()
	return strings.Join(out, "\n")
}

// folded breaks a line between its words; what follows is indented as it is, and
// more.
func folded(line string, columns int) []string {
	words := strings.TrimLeft(line, " ")
	margin := line[:len(line)-len(words)]
	if margin != "" {
		margin += "    "
	}
	var out []string
	for columns > 0 && utf8.RuneCountInString(line) > columns {
		at := strings.LastIndex(line[:columns+1], " ")
		if at <= len(margin) {
			break
		}
		out = append(out, strings.TrimRight(line[:at], " "))
		line = margin + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}
