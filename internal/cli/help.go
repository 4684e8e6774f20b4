package cli

import (
	"cmp"
	"context"
	"embed"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/report"
)

// widestHelp is the widest that help gets, in columns: longer lines are hard to read.
const widestHelp = 100

// helpTexts has a file for each command: one line that lists show, what help says, and below a line
// "Examples:" the examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// environment has a line for each variable, or for those that mean something together: their names,
// a colon and their meaning. A test compares it with what the program reads.
//
//go:embed environment.txt
var environment string

// everyCommand returns a command and all below it, in the order of help.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		all = append(all, everyCommand(below)...)
	}
	return all
}

// shownCommands returns the commands that help lists.
func shownCommands(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(everyCommand(root), func(c *cobra.Command) bool {
		return c != root && !c.IsAvailableCommand() && c.Name() != "help"
	})
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

// newMan writes manual pages, which packages of trueup install.
func newMan(a *app) *cobra.Command {
	cmd := a.command("man DIR", func(_ context.Context, args []string) (report.Document, error) {
		var list []files.File
		for _, cmd := range shownCommands(newRoot(newApp(Env{}))) { // without a terminal, texts are not folded
			list = append(list, files.File{Name: pageName(cmd) + ".1", Content: report.Man(page(cmd))})
		}
		replace := func(root *os.Root, f files.File) (string, error) { return files.Written, files.Replace(root, f) }
		if _, err := files.FolderAt(a.dir(), args[0]).WriteAll(list, replace); err != nil {
			return report.Document{}, err
		}
		return said("written %d pages to %s", len(list), args[0]), nil
	})
	cmd.Hidden = true
	return cmd
}

func page(cmd *cobra.Command) report.Page {
	cmd.InitDefaultHelpFlag()
	p := report.Page{Name: pageName(cmd), Short: cmd.Short, Synopsis: cmd.UseLine()}
	var below []report.Term
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			below = append(below, report.Term{Word: c.Name(), Meaning: c.Short})
			p.See = append(p.See, pageName(c))
		}
	}
	p.Parts = []report.PagePart{
		{Title: "DESCRIPTION", Text: longOf(cmd)},
		{Title: "COMMANDS", Terms: below},
		{Title: "OPTIONS", Terms: flagTerms(cmd, cmd.LocalFlags())},
	}
	if cmd.HasParent() {
		p.Parts = append(p.Parts, report.PagePart{Title: "OPTIONS OF MANY COMMANDS", Terms: flagTerms(cmd, cmd.InheritedFlags())})
		p.See = append([]string{pageName(cmd.Parent())}, p.See...)
	} else {
		p.Parts = append(p.Parts, report.PagePart{Title: "EXIT STATUS", Terms: exitTerms()}, report.PagePart{Title: "ENVIRONMENT", Terms: variables()})
	}
	p.Parts = append(p.Parts, report.PagePart{Title: "EXAMPLES", Text: cmd.Example})
	return p
}

// longOf returns what help says about a command, without tabs.
func longOf(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return cmd.Short + "."
	}
	return strings.ReplaceAll(cmd.Long, "\t", "    ")
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func flagTerms(cmd *cobra.Command, flags *pflag.FlagSet) (terms []report.Term) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || !useful(cmd, f) {
			return
		}
		_, meaning := pflag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			meaning += " (default " + f.DefValue + ")"
		}
		terms = append(terms, report.Term{Word: flagForm(f), Meaning: meaning})
	})
	return terms
}

// flagForm returns how a flag is written.
func flagForm(f *pflag.Flag) string {
	form := "--" + f.Name
	if f.Shorthand != "" {
		form = "-" + f.Shorthand + ", " + form
	}
	placeholder, _ := pflag.UnquoteUsage(f)
	return strings.TrimSuffix(form+" "+placeholder, " ")
}

func exitTerms() (terms []report.Term) {
	for _, code := range exit.Codes() {
		terms = append(terms, report.Term{Word: strconv.Itoa(code.Number) + " " + code.Name, Meaning: code.Meaning})
	}
	return terms
}

// variables returns what the program reads of its environment.
func variables() (terms []report.Term) {
	for line := range strings.Lines(environment) {
		names, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		terms = append(terms, report.Term{Word: names, Meaning: meaning})
	}
	return terms
}
