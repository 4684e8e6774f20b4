package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"trueup/internal/kind"
)

// errGrace is why a request is given up that was in flight when the run was
// stopped, errRecording why the ledger is not waited for any longer.
var (
	errGrace     = errors.New("it was cancelled, because the run was stopped")
	errRecording = errors.New("the run was stopped, and the ledger took too long")
)

// lasting gives the run the contexts of what has begun. They outlive the one that is returned,
// which ends at the first signal: requests by Options.Grace, or until the hurry, the ledger by
// Options.Recording more (docs/design.md C5). The function ends them all.
func (r *run) lasting(ctx context.Context) (context.Context, func()) {
	ctx, interrupt := context.WithCancel(ctx)
	bound := context.WithoutCancel(ctx)
	net, cutNet := context.WithCancelCause(bound)
	books, closeBooks := context.WithCancelCause(bound)
	r.net, r.books = net, books
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		case <-r.Hurry:
			interrupt()
		}
		select {
		case <-time.After(r.Options.Grace):
		case <-r.Hurry:
		case <-over:
		}
		cutNet(errGrace)
		select {
		case <-time.After(r.Options.Recording):
		case <-over:
		}
		closeBooks(errRecording)
	})
	return ctx, func() {
		close(over)
		wg.Wait()
		interrupt()
		cutNet(nil)
		closeBooks(nil)
	}
}

// ended says why nothing new is begun although nothing failed: a signal, or --timeout; empty while
// the run continues.
func ended(ctx context.Context) (string, Verdict) {
	switch err := ctx.Err(); {
	case err == nil:
		return "", OK
	case errors.Is(err, context.DeadlineExceeded):
		return "the run reached its time limit (--timeout)", Partial
	}
	return "interrupted", Interrupted
}

// overtaken returns an outcome if the run ended before something, such as "it was sent".
func overtaken(ctx context.Context, before string) *Outcome {
	if why, verdict := ended(ctx); why != "" {
		return skipped(verdict, why+" before "+before)
	}
	return nil
}

func late(ctx context.Context) *Outcome { return overtaken(ctx, "it was sent") }

func unheard(ctx context.Context) *Outcome {
	return overtaken(ctx, "the ledger recorded that live equals git")
}

// halted says why nothing new is begun: the run was stopped or interrupted.
func (r *run) halted(ctx context.Context) *Outcome {
	end := overtaken(ctx, "it started")
	if why := r.whyStopped(); end == nil && why != "" {
		end = skipped(Partial, why)
	}
	return end
}

func (r *run) whyStopped() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// stoppedByAuth is why nothing new is begun after the platform refused the token.
const stoppedByAuth = "stopped after an authentication failure"

func (r *run) stop(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = cmp.Or(r.stopped, why)
}

// noteResult notes how an operation ended, and stops the run where nothing else can succeed either:
// the token was refused, or the platform failed, or gave no answer, too often in a row
// (docs/design.md C3): each request that is sent once and gets none is a question to a person.
func (r *run) noteResult(err error) {
	status := httpStatus(err)
	r.mu.Lock()
	switch {
	case status >= statusServerError || status == 0 && errors.As(err, new(Answer)):
		r.failures++
	case err == nil || status != 0:
		r.failures = 0
	}
	broken := r.failures >= r.Options.Breaker
	r.mu.Unlock()
	switch {
	case auth(err):
		r.stop(stoppedByAuth)
	case broken:
		r.stop(fmt.Sprintf("stopped: the platform failed %d times in a row: %s", r.Options.Breaker, err))
	}
}

// stopIfLost stops the run where a creation found no such workspace: a list of a
// workspace that does not exist is empty, and every creation would fail alike.
func (r *run) stopIfLost(err error) {
	if httpStatus(err) == statusNotFound {
		r.stop("stopped: the platform does not know this workspace")
	}
}

// unharmed is a watcher whose own mistakes change nothing of the run.
func unharmed(report func(Event)) func(Event) {
	return func(e Event) {
		defer func() { _ = recover() }()
		report(e)
	}
}

// safely turns a panic into an error, and reports the stack as an event.
func (r *run) safely(key kind.Key, do func() error) (err error) {
	defer func() {
		panicked := recover()
		if panicked == nil {
			return
		}
		r.Report(Event{Key: key, Phase: PhaseStack, Message: string(debug.Stack())})
		what := fmt.Sprintf("%T", panicked)
		switch p := panicked.(type) {
		case error:
			what = p.Error()
		case string:
			what = p
		}
		err = fmt.Errorf("internal error: %.300s; the rest continued", what)
	}()
	return do()
}
