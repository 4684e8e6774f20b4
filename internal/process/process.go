// Package process is the one place that reads the environment and the clock of
// the process, and handles its signals.
package process

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"trueup/internal/cli"
)

// Env returns the streams, variables, folder and clock of this process.
func Env() (cli.Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return cli.Env{}, fmt.Errorf("working directory: %w", err)
	}
	return cli.Env{
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		Getenv:      os.Getenv,
		Now:         time.Now,
		Sleep:       cli.Sleep,
		Dir:         dir,
		Width:       cli.TerminalWidth(os.Stdout),
		StdinIsTTY:  cli.TerminalWidth(os.Stdin) > 0,
		StderrIsTTY: cli.TerminalWidth(os.Stderr) > 0,
		StderrWidth: func() int { return cli.BarWidth(os.Stderr) },
	}, nil
}

// Run runs the command line of this process until a signal ends it, and returns the exit code.
func Run(env cli.Env) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	env.Hurry = HandleSignals(cancel)
	ballast := make(chan []byte, 1)
	takeBallast(ballast)
	code := cli.Main(ctx, os.Args[1:], env)
	runtime.KeepAlive(ballast)
	return code
}

// takeBallast makes a ballast after the first garbage collection, which commands that only print something do not
// reach. The garbage collector lets the heap grow by the size of what is live: with the ballast, which is never touched
// and so takes no memory, a small run hardly collects.
func takeBallast(into chan<- []byte) {
	runtime.AddCleanup(new([64]byte), func(into chan<- []byte) { into <- make([]byte, 16<<20) }, into)
}

// HandleSignals handles the signals that end a process. The first one calls cancel, after which
// a run starts nothing new. The second closes the returned channel, which gives up requests in
// flight. The third ends the process.
func HandleSignals(cancel func()) <-chan struct{} {
	hurry, told := make(chan struct{}), make(chan os.Signal, 3)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	// A run that was begun with nohup outlives its terminal.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(told, syscall.SIGHUP)
	}
	go func() {
		<-told
		cancel()
		<-told
		close(hurry)
		<-told
		os.Exit(130)
	}()
	// A reader that left is an error of a write. Ignored, the signal would be so
	// in git and its helpers as well.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return hurry
}
