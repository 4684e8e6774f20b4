// Command trueup keeps a cloud platform true to git.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"trueup/internal/cli"
)

func main() {
	env, err := process()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trueup:", err)
		os.Exit(1)
	}
	os.Exit(run(env))
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
	}, nil
}

// run runs the command line until it ends or the process is asked to. A second
// signal ends the process at once.
func run(env cli.Env) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, os.Args[1:], env)
}
