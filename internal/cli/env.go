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
	// Stdout is closed at the end of the run where it can be: some file systems
	// tell of a full disk only then.
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	// Hurry is closed when what is in flight is to be given up at once: a second
	// signal. It may be nil.
	Hurry <-chan struct{}
	// Retry says how reads are repeated; the zero value is the usual way.
	Retry api.Retry
	// Dir is the folder that the program was started in.
	Dir string
	// Width is the width of standard output's terminal in columns, 0 where it
	// is none; the two others say whether a person sits there.
	Width       int
	StdinIsTTY  bool
	StderrIsTTY bool
	// StderrWidth returns the columns that standard error's terminal has now for a
	// line that comes and goes; it may be nil where there is none.
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

// TerminalWidth returns the columns of the terminal behind f, 0 if f is none.
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

// BarWidth is TerminalWidth for a line that comes and goes: 0 as well while what f
// shows is the question for a password, which would go with the line.
func BarWidth(f *os.File) int {
	if asksSecretly(f) {
		return 0
	}
	return TerminalWidth(f)
}
