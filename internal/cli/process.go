package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"golang.org/x/term"

	"trueup/internal/blob"
	"trueup/internal/config"
)

// NewEnv returns the streams, variables, folder and clock of this process.
func NewEnv() (config.Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return config.Env{}, fmt.Errorf("working directory: %w", err)
	}
	return config.Env{
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		Getenv:      os.Getenv,
		Now:         time.Now,
		Sleep:       blob.Sleep,
		Cwd:         dir,
		Width:       TerminalWidth(os.Stdout),
		StdinIsTTY:  TerminalWidth(os.Stdin) > 0,
		StderrIsTTY: TerminalWidth(os.Stderr) > 0,
		StderrWidth: func() int { return ProgressBarWidth(os.Stderr) },
	}, nil
}

// RunProcess runs the command line of this process until a signal ends it, and returns the exit code.
func RunProcess(env config.Env) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	env.Hurry = HandleSignals(cancel)
	// Without this, the Go runtime ends a crash with 2, the exit code of drift.
	debug.SetTraceback("crash")
	forbidCoreDumps()
	tuneGC(0)
	return Main(ctx, os.Args[1:], env)
}

// The heap doubles between two garbage collections, so that an object costs the same in any project. Beyond heapGoal, it
// grows by so many percent of what is live, and again to what it had before, which takes hardly more memory. The collector's
// default is 100. A small heap would be collected often.
const (
	minGrowth                  = 24 << 20
	heapGoal                   = 128 << 20
	softLimit                  = 264 << 20
	growthPercent, mostPercent = 40, 600 // the collector takes the percent of 4 MiB too
)

// tuneGC sets the growth after each garbage collection; had is the size in bytes that the heap already had. Commands that
// only print something reach none, and what GOGC or GOMEMLIMIT says stays.
func tuneGC(had int) {
	if os.Getenv("GOGC")+os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		live := int(sample[0].Value.Uint64())
		goal := max(live+min(max(live, minGrowth), heapGoal-live), had, live+live*growthPercent/100)
		debug.SetGCPercent(min(100*(goal-live)/live, mostPercent))
		debug.SetMemoryLimit(int64(max(softLimit, live+live*growthPercent/100+minGrowth)))
		tuneGC(goal)
	}, struct{}{})
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

// ProgressBarWidth is TerminalWidth for a bar: it is 0 while f shows a password prompt, which the bar would
// overwrite.
func ProgressBarWidth(f *os.File) int {
	if asksPassword(f) {
		return 0
	}
	return TerminalWidth(f)
}
