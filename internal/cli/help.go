package cli

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/command"
)

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

// addHelpText gives a command the texts of its file. What Long has already comes last.
func addHelpText(cmd *cobra.Command) {
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

// wrapHelp makes help fit a terminal.
func wrapHelp(root *cobra.Command, columns int) {
	for _, cmd := range everyCommand(root) {
		cmd.Long = command.WrapText(cmp.Or(cmd.Long, cmd.Short), columns)
		// The list of commands has it behind the name.
		margin := len("  ") + cmd.NamePadding() + len(" ")
		cmd.Short = strings.Join(command.WrapLine(cmd.Short, columns-margin), "\n"+strings.Repeat(" ", margin))
	}
}

// writeUsage writes what help says below the text of a command. columns is 0 without a terminal.
func writeUsage(cmd *cobra.Command, columns int) error {
	var b strings.Builder
	section := func(title string, lines ...string) {
		if text := strings.TrimRight(strings.Join(lines, "\n"), "\n"); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", title, text)
		}
	}
	call := []string{"  " + cmd.UseLine()}
	if cmd.HasAvailableSubCommands() {
		call = append(call, "  "+cmd.CommandPath()+" COMMAND")
	}
	section("Usage", call...)
	section("Examples", cmd.Example)
	groups := append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Commands:"})
	for _, g := range groups {
		var lines []string
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				lines = append(lines, fmt.Sprintf("  %-*s %s", c.NamePadding(), c.Name(), c.Short))
			}
		}
		section(strings.TrimSuffix(g.Title, ":"), lines...)
	}
	global := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if command.FlagHasEffect(cmd, f) {
			global.AddFlag(f)
		}
	})
	width := min(columns, command.WidestText)
	section("Flags", cmd.LocalFlags().FlagUsagesWrapped(width))
	section("Global Flags", global.FlagUsagesWrapped(width))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command.\n", cmd.CommandPath())
	}
	cmd.Print(strings.TrimPrefix(b.String(), "\n"))
	return nil
}
