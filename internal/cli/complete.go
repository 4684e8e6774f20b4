package cli

import (
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/command"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// completer completes words of the command line.
type completer struct{ *command.Run }

// completeTargets offers KIND/NAME of the manifests that the PATHs of the command line name.
func (c completer) completeTargets(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return command.CompleteKeys(c.KnownObjects(cmd.Context(), args), toComplete), command.NoFiles
}

// mostEntries limits how many entries of a folder are offered.
const mostEntries = 1000

// completePaths offers manifests and folders. Without -C it lets the shell find them, because the shell
// quotes them correctly.
func (c completer) completePaths(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if c.Chdir == "" {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	var out []string
	entries, _ := os.ReadDir(c.FullPath(path.Dir(toComplete))) // no folder has no files
	for _, e := range entries[:min(len(entries), mostEntries)] {
		name := path.Join(path.Dir(toComplete), e.Name())
		switch ending := path.Ext(e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			out = command.AddCandidate(out, name+"/", "folder")
		case ending == ".yaml" || ending == ".yml" || ending == ".json":
			out = command.AddCandidate(out, name, "")
		}
	}
	return out, command.NoFiles | cobra.ShellCompDirectiveNoSpace
}

// completeAccepted offers what --accept takes, and behind an equals sign the objects in git.
func (c completer) completeAccepted(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if what, begun, named := strings.Cut(toComplete, "="); named {
		keys := command.CompleteKeys(c.KnownObjects(cmd.Context(), args), begun)
		for i := range keys {
			keys[i] = what + "=" + keys[i]
		}
		return keys, command.NoFiles
	}
	return command.Candidates(reconcile.Acceptances(), func(acc reconcile.AcceptOption) (string, string) {
		return strings.TrimSuffix(acc.Form, "KIND/NAME"), acc.Meaning
	}), command.NoFiles | cobra.ShellCompDirectiveNoSpace
}

// completeReports offers FORMAT=, and then lets the shell complete the file.
func completeReports(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return command.Candidates(report.Formats(), func(f string) (string, string) { return f + "=", "" }), command.NoFiles | cobra.ShellCompDirectiveNoSpace
}

// completionFor returns the completion for a placeholder of help, such as FILE. Others are free text.
func (c completer) completionFor(of string) cobra.CompletionFunc {
	switch of {
	case "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "PATH":
		return c.completePaths
	case "KIND/NAME":
		return c.completeTargets
	case "WHAT":
		return c.completeAccepted
	case "FORMAT=FILE":
		return completeReports
	}
	return cobra.FixedCompletions(nil, command.NoFiles)
}

// wireCompletion gives a command the completions that it has not chosen itself.
func (c completer) wireCompletion(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if _, chosen := cmd.GetFlagCompletionFunc(f.Name); chosen || f.Value.Type() == "bool" {
				return
			}
			placeholder, _ := pflag.UnquoteUsage(f)
			complete := c.completionFor(placeholder)
			switch allowed := f.Annotations[command.AllowedWords]; {
			case allowed != nil:
				complete = cobra.FixedCompletions(allowed, command.NoFiles)
			case f.Name == "profile":
				complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
					return c.ProfileNames(), command.NoFiles
				}
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists, and has none yet
		})
	}
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !takesSubcommand(cmd) {
		cmd.ValidArgsFunction = c.completeArgs
	}
}

// completeArgs completes an argument by its placeholder in the usage line.
func (c completer) completeArgs(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	list := command.Placeholders(cmd.Use)
	if len(list) == 0 {
		return nil, command.NoFiles
	}
	at := list[min(len(args), len(list)-1)]
	switch {
	case len(args) >= len(list) && !at.Repeated:
		return nil, command.NoFiles
	case at.Name == "KIND/NAME":
		return command.CompleteKeys(c.KnownObjects(cmd.Context(), nil), toComplete), command.NoFiles
	}
	return c.completionFor(at.Name)(cmd, args, toComplete)
}
