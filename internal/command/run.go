// Package command has the commands, one a file: their flags, what they do, and how they show it. It makes no decision
// about an object: that is of the packages that it calls.
//
// A command returns a document, with or without an error, and prints nothing. Run writes the document in the format
// that was asked for, also when it is a failure.
package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

// Run is one run of the program: its streams, clock and environment, the flags that all commands have, and the
// settings of the environment. It is made once and passed on.
type Run struct {
	config.Options
	Format  string // of the result on standard output
	Quiet   bool
	Reports []string // FORMAT=FILE
	// Name is the command, such as new purge, and code the exit code if it has no error.
	Name string
	code int
	// timeout limits the run; 0 means no limit. No command runs if settingsErr says that a setting is wrong.
	timeout     time.Duration
	settingsErr error
	stdout      *outputWriter
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
}

// NewRun returns a run of the process that env describes.
func NewRun(env config.Env) *Run {
	run := &Run{cancel: func() {}, stdout: &outputWriter{w: env.Stdout}}
	run.Options = config.Options{
		Env: env, Shared: &config.SharedState{}, Tool: toolName(),
		Log: run.log, Open: run.openPlatform,
		Begin: func(doing string) (progress func(done, of int), end func()) {
			p := run.startPhase(doing)
			return p.setProgress, p.end
		},
		API: api.ClientConfig{Retry: env.Retry, UserAgent: userAgent(), Now: env.Now, Warn: func(text string) { run.Log(slog.LevelWarn, text) }},
	}
	return run
}

// openPlatform opens the platform of a run, or the sandbox. Records of its ledger share the specs of the manifests.
func (run *Run) openPlatform(ctx context.Context, p config.Project, set *manifest.Set) (w *config.Platform, err error) {
	switch {
	case run.Sandbox:
		w, err = run.OpenSandboxPlatform(ctx, p, set)
	case !p.Exists():
		err = run.noProjectError()
	default:
		w, err = run.OpenPlatform(p)
	}
	if err == nil {
		w.Ledger.Held = set.Spec
	}
	return w, err
}

func (run *Run) noProjectError() error {
	return fmt.Errorf("there is no %s %s, so trueup does not know the workspace: run trueup init, or try --sandbox", config.ProjectFile, run.SearchedFolders())
}

// newCommand returns a command that runs do and writes its result. The usage line sets the number of arguments and
// their completion. do returns its result, with or without an error, and prints nothing.
func newCommand(run *Run, use string, do func(ctx context.Context, args []string) (report.Document, error)) *cobra.Command {
	return &cobra.Command{Use: use, Args: argCountCheck(use), RunE: func(cmd *cobra.Command, args []string) error {
		doc, err := do(cmd.Context(), args)
		if run.emitted { // as a stream
			return err
		}
		return run.writeResult(doc, err)
	}}
}

// Execute runs a command line. It returns the exit code, and the error that standard error or the result shows.
func (run *Run) Execute(ctx context.Context, root *cobra.Command, args []string) (int, error) {
	root.SetArgs(args)
	run.ReadSettings()
	err := run.executeCommand(ctx, root)
	run.cancel()
	if lost := run.stdout.close(); err == nil && lost != nil {
		err = diag.WithExit(cmp.Or(run.code, diag.ExitError), fmt.Errorf("write the result: %w", lost))
	}
	if err == nil {
		return run.code, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		err = diag.WithExit(diag.ExitInterrupted, fmt.Errorf("interrupted: %w", err))
	}
	if _, shown := errors.AsType[*shownError](err); !shown && run.member == nil { // trueup each shows those of members
		run.Log(slog.LevelError, diag.OneLine(err))
	}
	return diag.ExitOf(err), err
}

// PrepareCommand checks the flags of a command and begins the time limit, before the command runs.
func (run *Run) PrepareCommand(cmd *cobra.Command) error {
	run.Name = strings.TrimPrefix(cmd.CommandPath(), "trueup ")
	run.Writes = run.Name == "apply" || run.Name == "ledger settle" || run.Name == "ledger init"
	if err := cmp.Or(run.settingsErr, checkFlags(cmd), run.checkReports()); err != nil {
		return err
	}
	if run.Verbose {
		run.API.Trace = run.logRequest
	}
	if run.timeout > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), run.timeout, fmt.Errorf(
			"the run took longer than its time limit, %s (%s): %w", run.timeout, timeoutVar, context.DeadlineExceeded))
		run.cancel = cancel
		cmd.SetContext(ctx)
	}
	run.Stdin = &stdinReader{ctx: cmd.Context(), r: run.Stdin}
	return nil
}

// describeCrash describes a panic, which is a bug of this program. sent is true if requests may have been sent before it.
func describeCrash(value any, sent bool) string {
	what := fmt.Sprintf("%T", value) // any other value may hold a secret
	switch v := value.(type) {
	case error:
		what = v.Error()
	case string:
		what = v
	}
	text := fmt.Sprintf("internal error: %.300s. This is a bug in trueup: report it with the output of -v", what)
	if sent {
		text += ". Requests may have been sent: run apply again, which first looks up what happened to them"
	}
	return text
}

// executeCommand runs the command line of root. It turns a panic into an error, in the result and the reports too.
func (run *Run) executeCommand(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = run.showCrash(diag.NewPanicError(describeCrash(value, run.sending)))
		}
		if crash, ok := errors.AsType[*diag.PanicError](err); ok {
			run.showStack(string(crash.Stack))
		}
	}()
	return root.ExecuteContext(ctx)
}

// showCrash shows a panic in the result. If that panics again, only standard error shows the first.
func (run *Run) showCrash(crash error) (err error) {
	defer func() {
		if recover() != nil {
			err = crash
		}
	}()
	doc := report.Document{Command: run.Name}
	if run.emitted {
		doc.ExitCode, doc.Errors = diag.ExitOf(crash), []string{crash.Error()}
		return errors.Join(crash, run.writeReports(doc))
	}
	return run.writeResult(doc, crash)
}

// showStack logs where a panic happened, with -v.
func (run *Run) showStack(stack string) {
	if !run.Verbose {
		return
	}
	for line := range strings.Lines(stack) {
		run.Log(slog.LevelDebug, strings.TrimRight(line, "\n"))
	}
}

// The variables of the settings.
const (
	parallelismVar    = "TRUEUP_PARALLELISM"
	timeoutVar        = "TRUEUP_TIMEOUT"
	requestTimeoutVar = "TRUEUP_REQUEST_TIMEOUT"
)

// ReadSettings reads the settings of the environment. No command runs if one is wrong.
func (run *Run) ReadSettings() {
	getenv := run.Getenv
	run.API.Parallelism, run.API.RequestTimeout = 4, 30*time.Second
	kept := cmp.Or(getenv("TRUEUP_DISK_IS_KEPT"), "false")
	run.settingsErr = errors.Join(
		readVariable(getenv, parallelismVar, "a whole number above 0", &run.API.Parallelism, func(text string) (int, bool) {
			n, err := strconv.Atoi(text)
			return n, err == nil && n > 0
		}),
		readVariable(getenv, "TRUEUP_WRITES_PER_SECOND", "a number above 0", &run.API.WritesPerSecond, func(text string) (float64, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return n, err == nil && n > 0 && n <= math.MaxInt32
		}),
		readVariable(getenv, timeoutVar, timeForm, &run.timeout, parsePositive),
		readVariable(getenv, requestTimeoutVar, timeForm, &run.API.RequestTimeout, parsePositive),
		checkOneOf("TRUEUP_DISK_IS_KEPT", kept, []string{"true", "false"}),
	)
	run.DiskIsKept = kept == "true"
	if rules := getenv("TRUEUP_SANDBOX_FAULTS"); rules != "" {
		run.SandboxFaults = strings.Split(rules, ";")
	}
	run.ReadOnly = !slices.Contains([]string{"", "0", "false"}, getenv("TRUEUP_READ_ONLY"))
}

// readVariable sets a value to that of a variable, if it has one.
func readVariable[T any](getenv func(string) string, name, form string, value *T, parse func(string) (T, bool)) error {
	text := getenv(name)
	if text == "" {
		return nil
	}
	parsed, ok := parse(text)
	if !ok {
		return fmt.Errorf("%s is %q: write %s", name, text, form)
	}
	*value = parsed
	return nil
}

const timeForm = "a time above 0, such as 10m"

func parsePositive(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
