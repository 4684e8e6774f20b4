// Package cli wires the commands: flags, configuration and environment go in, a document and an exit
// code come out. It holds no domain logic.
//
// An error is one line on standard error that names what it is about and ends with what to do. The
// result goes to standard output in the format that was asked for, also when it is a failure.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/report"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, env Env) int {
	a := newApp(env)
	code, _ := a.main(ctx, newRoot(a), args)
	return code
}

// main runs a command line. It returns the exit code, and the error that standard error or the result shows.
func (a *app) main(ctx context.Context, root *cobra.Command, args []string) (int, error) {
	root.SetArgs(args)
	a.settings, a.settingsErr = readSettings(a.env.Getenv)
	err := a.execute(ctx, root)
	a.cancel()
	if lost := a.stdout.close(); err == nil && lost != nil {
		err = exit.WithCode(cmp.Or(a.code, exit.Error), fmt.Errorf("write the result: %w", lost))
	}
	if err == nil {
		return a.code, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		err = exit.WithCode(exit.Interrupted, fmt.Errorf("interrupted: %w", err))
	}
	if _, shown := errors.AsType[*shownError](err); !shown && a.member == nil { // trueup each shows those of members
		a.log(slog.LevelError, diag.OneLine(err))
	}
	return exit.Of(err), err
}

// shownError is an error that the result on standard output already shows.
type shownError struct{ error }

func (e *shownError) Unwrap() error { return e.error }

// app is one run of the program.
type app struct {
	env    Env
	global globalOptions
	// settings are those of the environment. No command runs if settingsErr says that one is wrong.
	settings    settings
	settingsErr error
	root        *cobra.Command
	// running is the command, such as new purge, and code the exit code if it has no error.
	running string
	code    int
	stdout  *output
	out     report.LineWriter
	// answers may have read a part of the next answer.
	answers *bufio.Reader
	// emitted is true once a result is being written, and sending once requests may have been sent.
	emitted, sending bool
	// logging guards standard error, and what follows. bar is true if the last line of the terminal is
	// a bar. tellAt is when to show progress next.
	logging sync.Mutex
	bar     bool
	tellAt  time.Time
	// cancel ends the time limit of the run.
	cancel context.CancelFunc
	member *projectRun // set if this run is one of many projects
	shared *config.Shared
}

func newApp(env Env) *app {
	stdout := &output{w: env.Stdout}
	out := report.NewLines(stdout)
	if env.Width == 0 {
		out = out.Piped()
	}
	return &app{env: env, cancel: func() {}, stdout: stdout, out: out, shared: &config.Shared{}}
}

// dir returns the folder that relative names start from.
func (a *app) dir() string {
	if filepath.IsAbs(a.global.dir) {
		return a.global.dir
	}
	return filepath.Join(a.env.Dir, a.global.dir)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "trueup", SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Name() == cobra.ShellCompRequestCmd {
				a.hideUseless(args)
			}
			return a.start(cmd)
		},
	}
	a.root = root
	a.global.register(root.PersistentFlags())
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	a.helpOrVersion(root)
	root.SetIn(a.env.Stdin)
	root.SetOut(report.Help(a.stdout))
	root.SetErr(report.Help(a.env.Stderr))
	root.SetHelpCommandGroupID(aroundGroup)
	root.SetCompletionCommandGroupID(aroundGroup)
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
	root.SetFlagErrorFunc(suggestFlag)
	root.SetUsageFunc(a.usage)
	for _, cmd := range everyCommand(root) {
		if !cmd.Runnable() {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		describe(cmd)
		a.wireCompletion(cmd)
		explainArgs(cmd)
	}
	if a.env.Width > 0 {
		fitHelp(root, min(a.env.Width, widestHelp))
	}
	return root
}

// aroundGroup has the commands that are not about manifests.
const aroundGroup = "Around it"

type group struct {
	title    string
	commands []*cobra.Command
}

// groups returns the commands as help lists them.
func (a *app) groups() []group {
	status := newStatus(a) // trueup each runs it without the list of purges
	status.AddCommand(newStatusPurge(a))
	return []group{
		{"See and change what is live", []*cobra.Command{newPlan(a), newApply(a), newDrift(a), status, newLog(a), newHold(a), newShow(a), newComment(a)}},
		{"Write manifests", []*cobra.Command{newInit(a), newPull(a), newNew(a), newFmt(a), newValidate(a), newTest(a)}},
		{"Understand them", []*cobra.Command{newExplain(a), newRequest(a)}},
		{"Many projects", []*cobra.Command{newEach(a)}},
		{aroundGroup, []*cobra.Command{newLedger(a), newDoctor(a), newSandbox(a), newVersion(a)}},
	}
}

// crashError is a panic, which is a bug of this program.
type crashError struct {
	value any
	stack []byte
	// sent is true if requests may have been sent before it.
	sent bool
}

func (e *crashError) Error() string {
	what := fmt.Sprintf("%T", e.value) // any other value may hold a secret
	switch v := e.value.(type) {
	case error:
		what = v.Error()
	case string:
		what = v
	}
	text := fmt.Sprintf("internal error: %.300s. This is a bug in trueup: report it with the output of -v", what)
	if e.sent {
		text += ". Requests may have been sent: run apply again, which first looks up what happened to them"
	}
	return text
}

// Stack returns where it happened. There are no values in it.
func (e *crashError) Stack() []byte { return e.stack }

// execute runs the command line. It turns a panic into an error, in the result and the reports too.
func (a *app) execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = a.crashed(&crashError{value: value, stack: debug.Stack(), sent: a.sending})
		}
		var crash interface{ Stack() []byte }
		if errors.As(err, &crash) {
			a.showStack(string(crash.Stack()))
		}
	}()
	return root.ExecuteContext(ctx)
}

// crashed shows a panic in the result. If that panics again, only standard error shows the first.
func (a *app) crashed(crash *crashError) (err error) {
	defer func() {
		if recover() != nil {
			err = crash
		}
	}()
	doc := report.Document{Command: a.running}
	if a.emitted {
		doc.ExitCode, doc.Errors = exit.Of(crash), []string{crash.Error()}
		return errors.Join(crash, a.writeReports(doc))
	}
	return a.emit(doc, crash)
}

// showStack logs where a panic happened, with -v.
func (a *app) showStack(stack string) {
	if !a.global.verbose {
		return
	}
	for line := range strings.Lines(stack) {
		a.log(slog.LevelDebug, strings.TrimRight(line, "\n"))
	}
}
