package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// projectRun is what the run of one of many projects shares with trueup each.
type projectRun struct {
	of     *Run // trueup each
	path   string
	result *report.Document
}

// memberCommands returns the commands that trueup each runs.
func memberCommands() []string {
	return []string{"plan", "apply", "drift", "status", "validate", "test", "hold", "ledger init", "ledger settle"}
}

// newMemberRoot returns a command line of these commands alone, without what only help and completion need:
// completions of flags would stay in memory after the run.
func newMemberRoot(run *Run) *cobra.Command {
	root := &cobra.Command{
		Use: "trueup", SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return run.PrepareCommand(cmd) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	run.RegisterFlags(root.PersistentFlags())
	ledger := &cobra.Command{Use: "ledger"}
	ledger.AddCommand(newLedgerInit(run), newLedgerSettle(run))
	root.AddCommand(newPlan(run), newApply(run), newDrift(run), newStatus(run), newValidate(run), newTest(run), newHold(run), ledger)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	root.SetFlagErrorFunc(SuggestFlag)
	return root
}

// runInProject runs the command line in a project, as in a process of its own with that folder, and returns its result.
// Nobody can answer a question there.
func runInProject(ctx context.Context, run *Run, p *config.ProjectFolder, line projectCommandLine) report.Document {
	if p.Err != nil {
		code := diag.ExitOf(p.Err)
		return report.Document{Command: line.command, ExitCode: code, Result: diag.ExitName(code), Errors: []string{p.Err.Error()}}
	}
	one := NewRun(config.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Getenv: run.Getenv, Now: run.Now, Sleep: run.Sleep, Hurry: run.Hurry, Retry: run.Retry, Cwd: p.Settings.Dir,
	})
	m := &projectRun{of: run, path: p.Path}
	one.member, one.Shared, one.Warnings, one.API.Budget = m, run.Shared, p.Warnings, run.API.Budget
	code, err := one.Execute(ctx, newMemberRoot(one), line.words)
	doc := report.Document{Command: line.command}
	if m.result != nil {
		doc = *m.result
	} else if err != nil { // it ended before the command
		doc.Errors = []string{err.Error()}
	}
	if refusal := api.TokenRefusal(err); refusal != "" {
		doc.Errors = []string{refusal} // the same in all projects that use the token
	}
	doc.ExitCode, doc.Result = code, diag.ExitName(code)
	return doc
}

// projectCommandLine is the command line of each project.
type projectCommandLine struct {
	command string // such as plan or ledger settle
	words   []string
	flags   string // those that results must have in common
	base    string // the commit that --base-ref names
}

// projectCommandLine returns the command line of each project: what stands after --, and the global flags before it that mean
// the same there. It rejects what makes no sense in many projects.
func parseMemberLine(run *Run, own *cobra.Command, words []string) (line projectCommandLine, err error) {
	names := memberCommands()
	if len(words) == 0 {
		return line, fmt.Errorf("name the command to run in each project after --: %s", strings.Join(names, ", "))
	}
	n := 1
	if words[0] == "ledger" && len(words) > 1 {
		n = 2
	}
	line.command = strings.Join(words[:n], " ")
	if err := checkOneOf("the command after --", line.command, names); err != nil {
		return projectCommandLine{}, err
	}
	line.words = words[:n:n]
	own.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains([]string{"chdir", "output", "report", "quiet"}, f.Name) {
			line.words = append(line.words, flagArgs(f)...)
		}
	})
	line.words = append(line.words, words[n:]...)
	cmd, rest, err := newMemberRoot(NewRun(config.Env{Getenv: run.Getenv})).Find(line.words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		return line, SuggestFlag(cmd, err)
	}
	wrong := []error{checkFlags(cmd)}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		wrong = append(wrong, checkMemberFlag(f))
		if !slices.Contains([]string{"verbose", "out", "report"}, f.Name) {
			line.flags = strings.TrimSpace(line.flags + " " + strings.Join(flagArgs(f), " "))
		}
	})
	line.flags = strings.TrimSpace(line.flags + " " + strings.Join(cmd.Flags().Args(), " "))
	line.base, _ = cmd.Flags().GetString("base-ref") // only plan and apply have it
	// Nobody reviews a console change in the projects of others, which apply would undo, so drift stays.
	isOffline, _ := cmd.Flags().GetBool("offline") // only plan has it
	if f := cmd.Flags().Lookup("drift"); f != nil && !f.Changed && !isOffline {
		line.words = slices.Insert(line.words, 1, "--drift="+string(plan.ReportDrift))
	}
	approved := cmd.Flags().Lookup("auto-approve")
	wrong = append(wrong,
		errorIf(slices.Contains(cmd.Flags().Args(), onStdout), "- after --: many projects can't read one standard input: name files in their folders"),
		errorIf(approved != nil && approved.Value.String() == approved.DefValue, "apply after -- needs --auto-approve: nobody is asked about many projects; plan shows what it will send"))
	return line, errors.Join(wrong...)
}

// flagArgs writes a flag again as it was set.
func flagArgs(f *pflag.Flag) []string {
	return diag.MapList(flagValues(f), func(value string) string { return "--" + f.Name + "=" + value })
}

// checkMemberFlag rejects a flag after -- that is one for all projects, or that names one file for all of them.
func checkMemberFlag(f *pflag.Flag) error {
	switch f.Name {
	case "chdir", "output", "quiet":
		return fmt.Errorf("--%s after -- is one for all projects: write it before --", f.Name)
	case "out", "report":
		for _, file := range flagValues(f) {
			if f.Name == "report" {
				_, file, _ = strings.Cut(file, "=")
			}
			if file == onStdout || !filepath.IsLocal(file) {
				return fmt.Errorf("--%s %s after --: each project would overwrite it: name a file in the folder of each, such as plan.json, or use --results DIR before --", f.Name, file)
			}
		}
	}
	return nil
}
