// Package cli has the command line as a whole: the root command, its groups, help and completion, and the process
// with its signals. What a command does is in package command.
package cli

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/report"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, env config.Env) int {
	run := command.NewRun(env)
	code, _ := run.Execute(ctx, newRoot(run), args)
	return code
}

func newRoot(run *command.Run) *cobra.Command {
	root := &cobra.Command{
		Use: "trueup", SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Name() == cobra.ShellCompRequestCmd {
				if cmd, _, err := cmd.Root().Find(args); err == nil { // the command that a shell completes
					cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !command.FlagHasEffect(cmd, f) })
				}
			}
			return run.PrepareCommand(cmd)
		},
	}
	run.RegisterFlags(root.PersistentFlags())
	command.AddCommands(root, run)
	version := root.Flags().Bool("version", false, "print the version, as trueup version does")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*version {
			return cmd.Help()
		}
		of, _, _ := root.Find([]string{"version"})
		return of.RunE(cmd, args)
	}
	root.SetIn(run.Stdin)
	root.SetOut(report.NewLineWriter(run.Output(), 0))
	root.SetErr(report.NewLineWriter(run.Stderr, 0))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // it keeps the writer of SetOut
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		for _, cmd := range everyCommand(completion) {
			cmd.Long = ""
			if f := cmd.Flags().Lookup("no-descriptions"); f != nil {
				f.Usage = "print a script that shows words without their meaning"
			}
		}
	}
	root.SetFlagErrorFunc(command.SuggestFlag)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(cmd, run.Width) })
	for _, cmd := range everyCommand(root) {
		if !cmd.Runnable() {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		addHelpText(cmd)
		completer{run}.wireCompletion(cmd)
		if takesSubcommand(cmd) {
			cmd.Args = refuseArguments
		}
	}
	if run.Width > 0 {
		wrapHelp(root, min(run.Width, command.WidestText))
	}
	return root
}

// takesSubcommand reports whether the arguments of a command are those below it.
func takesSubcommand(cmd *cobra.Command) bool { return cmd.HasSubCommands() && cmd.Use == cmd.Name() }

// refuseArguments refuses an argument of a command that has others below it.
func refuseArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			known = append(known, below.Name())
		}
	}
	ofOtherTools := map[string]string{
		"trueup get": "trueup explain KIND/NAME.spec --live", "trueup list": "trueup status",
		"trueup delete": "trueup apply --prune, after you removed the manifest", "trueup import": "trueup pull",
		"trueup rollback": "trueup pull --before COMMIT, and apply that",
	}
	if ours := ofOtherTools[cmd.CommandPath()+" "+args[0]]; ours != "" {
		return fmt.Errorf("unknown command %q for %q: write %s", args[0], cmd.CommandPath(), ours)
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), command.SuggestWord(cmd, "", args[0], known))
}

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
