package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"trueup/internal/kind"
)

const (
	// maxFailures is how many operations in a row the platform may fail, with a 5xx or
	// without an answer, before the run stops (docs/design.md C3).
	maxFailures = 5
	// A run that is stopped gives requests in flight sendGrace to end, and the
	// ledger ledgerGrace more (docs/design.md C5).
	sendGrace   = 5 * time.Second
	ledgerGrace = 2 * time.Second
)

var (
	errGrace     = errors.New("it was cancelled, because the run was stopped")
	errRecording = errors.New("the run was stopped, and the ledger took too long")
)

// contexts sets sendCtx and ledgerCtx, which outlive the context that it returns: that one ends
// when ctx does, or with Hurry. The function that it returns ends them all.
func (r *run) contexts(ctx context.Context) (context.Context, func()) {
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, interrupt := context.WithCancel(ctx)
	var endSends, endLedger context.CancelCauseFunc
	r.sendCtx, endSends = context.WithCancelCause(over)
	r.ledgerCtx, endLedger = context.WithCancelCause(over)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-over.Done():
		case <-ctx.Done():
		case <-r.Hurry:
			interrupt()
		}
		select {
		case <-over.Done():
		case <-time.After(sendGrace):
		case <-r.Hurry:
		}
		endSends(errGrace)
		select {
		case <-over.Done():
		case <-time.After(ledgerGrace):
		}
		endLedger(errRecording)
	})
	return ctx, func() {
		end()
		wg.Wait()
		interrupt()
	}
}

// ended returns why a run ends that no failure stopped: a signal, or --timeout; empty while it continues.
func ended(ctx context.Context) (string, Verdict) {
	switch err := ctx.Err(); {
	case err == nil:
		return "", OK
	case errors.Is(err, context.DeadlineExceeded):
		return "the run reached its time limit (--timeout)", Partial
	}
	return "interrupted", Interrupted
}

// endedBefore returns an outcome if the run ended before a step, such as "it was sent".
func endedBefore(ctx context.Context, step string) *Outcome {
	if why, verdict := ended(ctx); why != "" {
		return skipped(verdict, why+" before "+step)
	}
	return nil
}

func late(ctx context.Context) *Outcome { return endedBefore(ctx, "it was sent") }

// halted returns an outcome if nothing new may start: the run was stopped or interrupted.
func (r *run) halted(ctx context.Context) *Outcome {
	end := endedBefore(ctx, "it started")
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

// stoppedByAuth is the reason to stop after the platform rejected the token.
const stoppedByAuth = "stopped after an authentication failure"

func (r *run) stop(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = cmp.Or(r.stopped, why)
}

// noteResult notes the result of an operation. It stops the run if the platform rejected the token, or failed
// maxFailures times in a row: each request that is sent once and gets no answer is a question to a person.
func (r *run) noteResult(err error) {
	said := answer(err)
	r.mu.Lock()
	switch {
	case said.Status >= http.StatusInternalServerError || said.Status == 0 && said.Class != "":
		r.failures++
	case err == nil || said.Status != 0:
		r.failures = 0
	}
	failures := r.failures
	r.mu.Unlock()
	switch {
	case said.Auth():
		r.stop(stoppedByAuth)
	case failures >= maxFailures:
		r.stop(fmt.Sprintf("stopped: the platform failed %d times in a row: %s", maxFailures, err))
	}
}

// stopIfLost stops the run if a creation got a 404: the list of a workspace that does not
// exist is empty, so every creation would fail alike.
func (r *run) stopIfLost(err error) {
	if answer(err).Status == http.StatusNotFound {
		r.stop("stopped: the platform does not know this workspace")
	}
}

// safely returns a panic of do as an error, and reports the stack as an event.
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
