package cli

import (
	"cmp"
	"embed"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// widestHelp is the widest that help gets, in columns: longer lines are hard to read.
const widestHelp = 100

// helpTexts has a file for each command: one line that lists show, what help says, and below a line
// "Examples:" the examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// everyCommand returns a command and all below it, in the order of help.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		all = append(all, everyCommand(below)...)
	}
	return all
}

// describe gives a command the texts of its file. What Long has already comes last.
func describe(cmd *cobra.Command) {
	name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "trueup "), " ", "-")
	if text, err := helpTexts.ReadFile("help/" + name + ".txt"); err == nil {
		short, rest, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
		long, examples, _ := strings.Cut(rest, "\nExamples:\n")
		cmd.Short, cmd.Example = short, examples
		cmd.Long = strings.Trim(strings.TrimSpace(long)+"\n\n"+cmd.Long, "\n")
	} else {
		cmd.Example = "  " + cmd.CommandPath()
	}
}

// fitHelp makes help fit a terminal.
func fitHelp(root *cobra.Command, columns int) {
	for _, cmd := range everyCommand(root) {
		cmd.Long = fitted(cmp.Or(cmd.Long, cmd.Short), columns)
		// The list of commands has it behind the name.
		margin := len("  ") + cmd.NamePadding() + len(" ")
		cmd.Short = strings.Join(folded(cmd.Short, columns-margin), "\n"+strings.Repeat(" ", margin))
	}
}

// fitted breaks the lines of a text. Lines that follow each other are one paragraph, except for
// indented ones, which belong to a table.
func fitted(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	columns = min(columns, widestHelp)
	var out, paragraph []string
	for line := range strings.SplitSeq(text+"\n", "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		if paragraph != nil {
			out = append(out, folded(strings.Join(paragraph, " "), columns)...)
			paragraph = nil
		}
		out = append(out, folded(line, columns)...)
	}
	return strings.Join(out[:len(out)-1], "\n")
}

// folded breaks a line between its words. The parts after the first are indented further, if the line
// is indented.
func folded(line string, columns int) (out []string) {
	words := strings.TrimLeft(line, " ")
	margin := line[:len(line)-len(words)]
	if margin != "" {
		margin += "    "
	}
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
