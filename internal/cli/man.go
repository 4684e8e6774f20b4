package cli

import (
	_ "embed" // for environment.txt
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/report"
)

// newMan writes the pages of the manual, for packages.
func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			// The texts of a command that fits a terminal have its lines.
			return a.writePages(args[0], manual(newRoot(newApp(Env{}))))
		},
	}
}

func (a *app) writePages(dir string, pages []report.Page) error {
	list := make([]files.File, len(pages))
	for i, page := range pages {
		list[i] = files.File{Name: page.Name + ".1", Content: report.Man(page)}
	}
	replace := func(root *os.Root, f files.File) (string, error) { return files.Written, files.Replace(root, f) }
	if err := files.FolderAt(a.dir(), dir).WriteAll(list, replace, func(string, string) {}); err != nil {
		return err
	}
	return a.out.Printf("written %d pages to %s\n", len(pages), dir)
}

// manual are the pages of a command and of all below it.
func manual(root *cobra.Command) []report.Page {
	var pages []report.Page
	for _, cmd := range shownCommands(root) {
		pages = append(pages, page(cmd))
	}
	return pages
}

// shownCommands are a command and all below it that help shows, sorted.
func shownCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() || below.Name() == "help" {
			all = append(all, shownCommands(below)...)
		}
	}
	return all
}

func page(cmd *cobra.Command) report.Page {
	cmd.InitDefaultHelpFlag()
	p := report.Page{Name: pageName(cmd), Short: cmd.Short, Synopsis: cmd.UseLine()}
	add := func(title, text string, terms []report.Term) {
		p.Parts = append(p.Parts, report.PagePart{Title: title, Text: text, Terms: terms})
	}
	add("DESCRIPTION", longOf(cmd), nil)
	var below []report.Term
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			below = append(below, report.Term{Word: c.Name(), Meaning: c.Short})
			p.See = append(p.See, pageName(c))
		}
	}
	add("COMMANDS", "", below)
	add("OPTIONS", "", flagTerms(cmd.LocalFlags()))
	if cmd.HasParent() {
		add("OPTIONS OF EVERY COMMAND", "", flagTerms(cmd.InheritedFlags()))
		p.See = append([]string{pageName(cmd.Parent())}, p.See...)
	} else {
		add("EXIT STATUS", "", exitTerms())
		add("ENVIRONMENT", "", variables())
	}
	add("EXAMPLES", cmd.Example, nil)
	return p
}

// longOf is all that help says of a command, without tabs.
func longOf(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return cmd.Short + "."
	}
	return strings.ReplaceAll(cmd.Long, "\t", "    ")
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func flagTerms(flags *pflag.FlagSet) []report.Term {
	var terms []report.Term
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			terms = append(terms, report.Term{Word: flagForm(f), Meaning: flagMeaning(f)})
		}
	})
	return terms
}

// flagForm is how a flag is written.
func flagForm(f *pflag.Flag) string {
	form := "--" + f.Name
	if f.Shorthand != "" {
		form = "-" + f.Shorthand + ", " + form
	}
	if placeholder, _ := pflag.UnquoteUsage(f); placeholder != "" {
		form += " " + placeholder
	}
	return form
}

// flagMeaning is what a flag does, and its default where it has one.
func flagMeaning(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	if slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
		return usage
	}
	return usage + " (default " + f.DefValue + ")"
}

// exitTerms are the exit codes.
func exitTerms() []report.Term {
	var terms []report.Term
	for _, code := range exit.Codes() {
		terms = append(terms, report.Term{Word: strconv.Itoa(code.Number) + " " + code.Name, Meaning: code.Meaning})
	}
	return terms
}

// environment has a line for each variable, or for those that mean something together: their names,
// a colon and their meaning. A test compares it with what the program reads.
//
//go:embed environment.txt
var environment string

// variables returns what the program reads of its environment.
func variables() []report.Term {
	var terms []report.Term
	for line := range strings.Lines(environment) {
		names, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		terms = append(terms, report.Term{Word: names, Meaning: meaning})
	}
	return terms
}
