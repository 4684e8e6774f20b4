// Command trueup keeps a cloud platform true to git.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"trueup/internal/cli"
)

func main() {
	// Libraries log there, past all that cleans; what matters is an error as well.
	log.SetOutput(io.Discard)
	env, err := process()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trueup:", err)
		os.Exit(1)
	}
	// The collector lets the heap grow by as much as there is: with this, which is
	// never touched and so takes no memory, a small run hardly needs it.
	ballast := make([]byte, 16<<20)
	code := run(env)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// process is the environment that this process has.
func process() (cli.Env, error) {
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

// run runs the command line until it ends or the process is told to.
func run(env cli.Env) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	env.Hurry = handleSignals(cancel)
	return cli.Main(ctx, os.Args[1:], env)
}

// handleSignals listens to who wants the process to end. The first time nothing new is
// begun, the second what is in flight is given up and recorded as that, and the
// third ends the process at once.
func handleSignals(cancel func()) <-chan struct{} {
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
