package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The parts of the flags in help. Those of tableOfFlags are in the part that it names; others are used often.
const (
	oftenPart  = "Flags"
	ciPart     = "Flags for CI"
	rarePart   = "Flags for rare cases"
	globalPart = "Global Flags"
)

// tableOfFlags has the flags, of any command, that are not used often.
func tableOfFlags() map[string][]string {
	return map[string][]string{
		ciPart: {
			"auto-approve", "base-ref", "detailed-exitcode", "expect", "ledger-ephemeral-ok", "log-format", "offline", "report",
			"required", "result", "strict",
		},
		rarePart: {
			"accept-normalised", "all-fields", "allow-empty-live", "allow-recreate", "color", "help-all", "max-creates",
			"max-deletes", "no-index", "parallelism", "request-timeout", "rps", "sandbox-fault", "skip-unplaced", "take-over", "timeout",
		},
	}
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
	case "sandbox", "sandbox-fault", "ledger-ephemeral-ok":
		reach = reachesPlatform
	case "profile", "request-timeout":
		reach = reachesNetwork
	case "chdir", "parallelism", "timeout":
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

// partOf returns the part of help that has a flag of a command.
func partOf(cmd *cobra.Command, f *pflag.Flag) string {
	for part, names := range tableOfFlags() {
		if slices.Contains(names, f.Name) {
			return part
		}
	}
	if cmd.HasParent() && cmd.InheritedFlags().Lookup(f.Name) == f {
		return globalPart
	}
	return oftenPart
}

// helpAll is the flag --help-all, which shows help at once, as --help does.
type helpAll bool

func (h *helpAll) String() string { return "false" }

func (h *helpAll) Type() string { return "bool" }

func (h *helpAll) Set(string) error {
	*h = true
	return pflag.ErrHelp
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
	if len(cmd.Aliases) > 0 {
		section("Aliases", "  "+cmd.NameAndAliases())
	}
	section("Examples", cmd.Example)
	groups := append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Commands:"})
	for _, g := range groups {
		section(strings.TrimSuffix(g.Title, ":"), listed(cmd, g.ID)...)
	}
	parts := a.flagParts(cmd)
	for _, part := range []string{oftenPart, ciPart, rarePart, globalPart} {
		if flags := parts[part]; flags != nil && (part != rarePart || bool(a.helpAll)) {
			section(part, flags.FlagUsagesWrapped(min(a.env.Width, widestHelp)))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command.\n", cmd.CommandPath())
	}
	if !a.helpAll {
		fmt.Fprintf(&b, "\n%s --help-all shows every flag.\n", cmd.CommandPath())
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

// flagParts returns the flags of each part of help.
func (a *app) flagParts(cmd *cobra.Command) map[string]*pflag.FlagSet {
	parts := map[string]*pflag.FlagSet{}
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			part := partOf(cmd, f)
			if f.Hidden || !useful(cmd, f) {
				return
			}
			if parts[part] == nil {
				parts[part] = pflag.NewFlagSet(part, pflag.ContinueOnError)
				parts[part].SortFlags = flags.SortFlags
			}
			parts[part].AddFlag(f)
		})
	}
	return parts
}
