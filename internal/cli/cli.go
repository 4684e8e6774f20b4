// Package cli wires the commands: flags, configuration and environment go in,
// a document and an exit code come out; it holds no domain logic.
//
// The rules of its messages: an error is one line on standard error that names
// what it is about and ends with what to do; the result goes to standard
// output, in the format that was asked for, also when it is a failure.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/report"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, env Env) int {
	a := newApp(env)
	root := newRoot(a)
	root.SetArgs(args)
	err := a.execute(ctx, root)
	a.cancel()
	if lost := a.stdout.close(); err == nil && lost != nil {
		err = exit.With(cmp.Or(a.code, exit.Error), fmt.Errorf("write the result: %w", lost))
	}
	if err == nil {
		return a.code
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		err = exit.With(exit.Interrupted, fmt.Errorf("interrupted: %w", err))
	}
	var shown *shownError
	if !errors.As(err, &shown) {
		a.log(slog.LevelError, inOneLine(err))
	}
	return exit.Of(err)
}

// inOneLine is an error of several parts, which errors.Join sets on lines; what
// several parts say is said once.
func inOneLine(err error) string {
	return strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "; ")
}

// shownError is an error that the result on standard output tells already.
type shownError struct{ error }

func (e *shownError) Unwrap() error { return e.error }

// app is one run of the program: its environment, the flags that every command
// has, and the exit code of a command that ended without an error.
type app struct {
	env    Env
	global globalOptions
	code   int
	// stdout is standard output, and out what is written to it beside a result.
	stdout *output
	out    report.Lines
	// answers are what a person says at the terminal; a part of the next one may
	// have been read with one.
	answers *bufio.Reader
	// command is the name of the command that runs.
	command string
	// emitted says that a result was begun to be written, and sending that
	// requests may have been sent.
	emitted, sending bool
	// logging keeps lines on standard error apart. With it bar says that the last
	// one of the terminal is a bar, and tellAt when to tell next how far the run is.
	logging sync.Mutex
	bar     bool
	tellAt  time.Time
	// root is the command above all others, whose flags every command has.
	root *cobra.Command
	// cancel ends the time limit of the run.
	cancel context.CancelFunc
}

func newApp(env Env) *app {
	stdout := &output{w: env.Stdout}
	out := report.NewLines(stdout)
	if env.Width == 0 {
		out = out.Piped()
	}
	return &app{env: env, cancel: func() {}, stdout: stdout, out: out}
}

// dir is the folder that relative names are relative to.
func (a *app) dir() string {
	if filepath.IsAbs(a.global.dir) {
		return a.global.dir
	}
	return filepath.Join(a.env.Dir, a.global.dir)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "trueup",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.command = cmd.Name()
			if err := a.global.check(); err != nil {
				return err
			}
			if a.global.dir == "" && a.root.PersistentFlags().Changed("chdir") {
				return errors.New("-C is empty: name the folder of a project, or remove it")
			}
			if a.global.timeout > 0 {
				ctx, cancel := context.WithTimeoutCause(cmd.Context(), a.global.timeout, fmt.Errorf(
					"the run took longer than its time limit, %s (--timeout): %w", a.global.timeout, context.DeadlineExceeded))
				a.cancel = cancel
				cmd.SetContext(ctx)
			}
			a.env.Stdin = &input{ctx: cmd.Context(), r: a.env.Stdin}
			return nil
		},
	}
	a.global.register(root)
	a.root = root
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID(aroundGroup)
	root.SetCompletionCommandGroupID(aroundGroup)
	root.AddCommand(newMan(a))
	describe(root)
	root.SetIn(a.env.Stdin)
	root.SetOut(report.Help(a.stdout))
	root.SetErr(report.Help(a.env.Stderr))
	a.wireCompletion(root)
	addUsual(root)
	explainSlips(root)
	root.SetFlagErrorFunc(meantFlag)
	if a.env.Width > 0 {
		fitHelp(root, min(a.env.Width, widestHelp))
	}
	return root
}

// addUsual adds the commands that cobra has for every program, before anything
// is said of all commands and once it is known where they write to. That of
// completion needs to be told of its shell.
func addUsual(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// aroundGroup is where commands stand that are about no manifest.
const aroundGroup = "Around it"

// group is a part of the list of commands.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups are the commands as help lists them.
func (a *app) groups() []group {
	return []group{
		{"See and change what is live", []*cobra.Command{newPlan(a), newApply(a), newDrift(a), newShow(a), newComment(a)}},
		{"Write manifests", []*cobra.Command{newInit(a), newPull(a), newPurge(a), newConvert(a), newFmt(a), newValidate(a)}},
		{"Understand them", []*cobra.Command{newExplain(a), newSchema(a), newGraph(a)}},
		{aroundGroup, []*cobra.Command{newLedger(a), newDoctor(a), newSandbox(a), newVersion(a)}},
	}
}
