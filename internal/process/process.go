// Package process is the one place that reads the environment and the clock of
// the process, and handles its signals.
package process

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
	heap := &heap{}
	heap.watch()
	code := cli.Main(ctx, os.Args[1:], env)
	runtime.KeepAlive(heap)
	return code
}

// heap tunes the garbage collector, which lets the heap grow by the size of what is live. With the ballast, which is
// never touched and so takes no memory, a small run hardly collects.
type heap struct{ ballast []byte }

// The sizes of the ballast, and of how much a heap that is larger than it grows until the next collection. A
// collection takes longer the more is live, so that a very large heap grows by more.
const (
	ballastSize = 16 << 20
	maxGrowth   = 64 << 20
	minPercent  = 35
)

// watch calls collected after the next garbage collection.
func (h *heap) watch() { runtime.AddCleanup(new([64]byte), (*heap).collected, h) }

// collected is called after each garbage collection. Commands that only print something do not reach the first.
func (h *heap) collected() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	size := int(live[0].Value.Uint64())
	if size > maxGrowth {
		h.ballast = nil
	} else if h.ballast == nil {
		h.ballast = make([]byte, ballastSize)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(min(100, max(minPercent, 100*maxGrowth/size)))
	}
	h.watch()
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
