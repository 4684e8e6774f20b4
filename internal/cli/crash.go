package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/report"
)

// crashError is a panic: a mistake of this program.
type crashError struct {
	value any
	stack []byte
	// sent says that requests may have been sent before it.
	sent bool
}

func (e *crashError) Error() string {
	// Of other values nobody knows what is in them.
	what := fmt.Sprintf("%T", e.value)
	switch v := e.value.(type) {
	case error:
		what = v.Error()
	case string:
		what = v
	}
	text := fmt.Sprintf("internal error: %.300s; this is a bug in trueup: report it with the output of -v", what)
	if e.sent {
		text += "; requests may have been sent: run apply again, which first looks up what happened to them"
	}
	return text
}

// Stack is where it happened, without any value.
func (e *crashError) Stack() []byte { return e.stack }

// execute runs the command line. A panic is an error of it, of which the result
// tells where none was begun, and --report.
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

// crashed shows a panic where a result was asked for. What showed it may be what
// panics, so that a second one is not shown.
func (a *app) crashed(crash *crashError) (err error) {
	defer func() {
		if recover() != nil {
			err = crash
		}
	}()
	doc := report.Document{Command: a.command}
	if !slices.Contains([]string{"validate", "plan", "apply", "drift", "settle"}, a.command) {
		return crash
	}
	if a.emitted {
		doc.ExitCode, doc.Errors = exit.Of(crash), []string{crash.Error()}
		return errors.Join(crash, a.writeReports(doc))
	}
	return a.fail(doc, crash)
}

// showStack writes where a panic happened for who wants to know. There are no
// values in it.
func (a *app) showStack(stack string) {
	if !a.global.verbose {
		return
	}
	for line := range strings.Lines(stack) {
		a.log(slog.LevelDebug, strings.TrimRight(line, "\n"))
	}
}
