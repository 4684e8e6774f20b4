package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
