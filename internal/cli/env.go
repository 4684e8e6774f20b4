package cli

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"trueup/internal/api"
)

// Env is everything that a run takes from its process.
type Env struct {
	Stdin io.Reader
	// Stdout is closed at the end of the run if it can be: some file systems report a full disk only
	// then.
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	// Hurry is closed at a second signal, so that the run stops waiting for requests in flight. It may be
	// nil.
	Hurry <-chan struct{}
	// Retry says how to retry reads; the zero value means the defaults.
	Retry api.Retry
	// Dir is the folder that the program was started in.
	Dir string
	// Width is the number of columns if standard output is a terminal, or else 0.
	Width       int
	StdinIsTTY  bool
	StderrIsTTY bool
	// StderrWidth returns the number of columns for a bar if standard error is a terminal, or else 0. It
	// may be nil.
	StderrWidth func() int
}

// Sleep waits for d, or until the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// TerminalWidth returns the number of columns of the terminal f, or 0 if f is not a terminal.
func TerminalWidth(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// BarWidth is TerminalWidth for a bar: it is 0 while f shows a password prompt, which the bar would
// overwrite.
func BarWidth(f *os.File) int {
	if asksPassword(f) {
		return 0
	}
	return TerminalWidth(f)
}
