package cli

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// The reach of a command, and of the global flags: a flag does something in commands that reach as far.
const (
	reachesNothing = iota
	reachesFiles
	reachesNetwork
	reachesPlatform
)

// reachOf returns how far a command reaches: to nothing, to files, to a code host, or to the platform or the ledger.
func reachOf(cmd *cobra.Command) int {
	name, _, _ := strings.Cut(strings.TrimPrefix(cmd.CommandPath(), "trueup "), " ")
	switch name {
	case "version", "help", "completion":
		return reachesNothing
	case "validate", "fmt", "show", "sandbox":
		return reachesFiles
	case "comment":
		return reachesNetwork
	}
	return reachesPlatform
}

// useful reports whether a flag does something in a command.
func useful(cmd *cobra.Command, f *pflag.Flag) bool {
	if !cmd.HasParent() || cmd.InheritedFlags().Lookup(f.Name) != f {
		return true
	}
	reach := reachesNothing
	switch f.Name {
	case "output", "report":
		return !writesText(cmd)
	case "sandbox":
		reach = reachesPlatform
	case "profile":
		reach = reachesNetwork
	case "chdir":
		reach = reachesFiles
	}
	return reach <= reachOf(cmd)
}

// writesText reports whether a command writes text or a stream, and no result that has formats.
func writesText(cmd *cobra.Command) bool {
	switch name := strings.TrimPrefix(cmd.CommandPath(), "trueup "); name {
	case "help", "sandbox", "ledger export":
		return true
	default:
		return strings.HasPrefix(name, "completion")
	}
}

// usage writes what help says below the text of a command.
func (a *app) usage(cmd *cobra.Command) error {
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
		section(strings.TrimSuffix(g.Title, ":"), listed(cmd, g.ID)...)
	}
	global := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if useful(cmd, f) {
			global.AddFlag(f)
		}
	})
	width := min(a.env.Width, widestHelp)
	section("Flags", cmd.LocalFlags().FlagUsagesWrapped(width))
	section("Global Flags", global.FlagUsagesWrapped(width))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command.\n", cmd.CommandPath())
	}
	cmd.Print(strings.TrimPrefix(b.String(), "\n"))
	return nil
}

// listed returns a line for each command of a group.
func listed(cmd *cobra.Command, group string) (lines []string) {
	for _, c := range cmd.Commands() {
		if c.GroupID == group && (c.IsAvailableCommand() || c.Name() == "help") {
			lines = append(lines, fmt.Sprintf("  %-*s %s", c.NamePadding(), c.Name(), c.Short))
		}
	}
	return lines
}
