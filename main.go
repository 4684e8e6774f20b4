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

func main() { os.Exit(run()) }

// run builds the environment of the command line from the process.
func run() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trueup: working directory:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Main(ctx, os.Args[1:], cli.Env{
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
	})
}
