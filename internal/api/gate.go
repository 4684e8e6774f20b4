package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"
)

// requestGate decides when requests of one area may be sent (docs/design.md C3 and C4).
type requestGate struct {
	mu       sync.Mutex
	state    gateState
	endPause context.CancelFunc // ends the pause, so that those who wait look again
}

// gateState is what the answers of an area have shown.
type gateState struct {
	// pause ends when requests may be sent again; nil means now. waited reports whether the
	// pause is short enough to wait for.
	pause   context.Context
	waited  bool
	refused *Error // the first answer that rejected the token
	// failures counts consecutive reads that ended in a server error. last is the newest of these errors.
	failures int
	last     *Error
}

// currentState returns the state, without a pause that is over, or if the token was rejected.
func (g *requestGate) currentState() gateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.state
	if s.refused != nil || s.pause != nil && s.pause.Err() != nil {
		s.pause = nil
	}
	return s
}

// startPause starts a pause, unless the current one ends later. It returns when the pause ends, and whether there was none
// before.
func (g *requestGate) startPause(asked time.Duration, waited bool) (until string, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	pause, end := context.WithTimeout(context.Background(), asked)
	first = s.pause == nil || s.pause.Err() != nil
	if !first && pauseEnd(pause).Before(pauseEnd(s.pause)) {
		end()
		return formatPauseEnd(s.pause), false
	}
	g.endPause()
	s.pause, s.waited, g.endPause = pause, waited, end
	return formatPauseEnd(pause), first
}

func pauseEnd(pause context.Context) time.Time {
	at, _ := pause.Deadline()
	return at
}

func formatPauseEnd(ctx context.Context) string { return pauseEnd(ctx).UTC().Format(time.RFC3339) }

// noteAnswer records what an answer means for other requests; e is nil if it is not an error.
func (g *requestGate) noteAnswer(c *operation, e *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case e == nil:
		g.state.failures, g.state.last = 0, nil
	case e.Status == http.StatusUnauthorized && g.state.refused == nil:
		g.state.refused = e
		g.endPause()
	case e.Status >= http.StatusInternalServerError && !isWrite(c.verb):
		g.state.failures++
		g.state.last = e
	}
}

// updateGate records an answer in the area's gate, and starts the pause that it asks for.
func (r *Reader) updateGate(c *operation, e *Error) {
	g := r.gates[c.kind.Area]
	g.noteAnswer(c, e)
	if b := r.cfg.Budget; b != nil && e.Status == http.StatusUnauthorized {
		b.refused.LoadOrStore(c.tokenKey(), e)
	}
	asked, waited := e.RetryAfter, e.RetryAfter <= r.cfg.Retry.MaxRetryAfter
	switch {
	case e.Status != http.StatusTooManyRequests && e.Status != http.StatusServiceUnavailable:
	case asked > 0:
		until, first := g.startPause(asked, waited)
		if first && waited && r.cfg.Warn != nil {
			// The run would otherwise be silent for so long.
			r.cfg.Warn(fmt.Sprintf("the platform asks to wait until %s; trueup sends no request to the %s area before that", until, c.kind.Area))
		}
	case e.Status == http.StatusTooManyRequests:
		g.startPause(newBackOff(r.cfg.Retry).NextBackOff(), true)
	}
}

// checkGate returns the state of the area's gate, or an error if the token was rejected.
func (r *Reader) checkGate(c *operation) (gateState, error) {
	s := r.gates[c.kind.Area].currentState()
	if s.refused == nil {
		return s, nil
	}
	return s, c.tokenRefusedError(s.refused)
}

func (c *operation) tokenRefusedError(answer *Error) *Error {
	return c.errorWithoutAnswer(Denied, "not sent, because the token of the %s area was refused before: %w", c.kind.Area, answer)
}

// admitAttempt returns nil when an attempt may be sent. A read waits for the platform's pause. A write never waits here:
// WaitForRateLimit did, and waiting now would separate the write from the read that it depends on.
func (r *Reader) admitAttempt(ctx context.Context, c *operation, attempt int) error {
	s, err := r.checkGate(c)
	switch {
	case err != nil || isWrite(c.verb) && s.pause == nil:
		return err
	case isWrite(c.verb):
		e := c.pausedError(s.pause, "")
		e.Hopeless = false
		return e
	case attempt == 1 && s.failures >= r.patience:
		return c.errorWithoutAnswer(Unavailable, "not sent, because the last %d answers of the %s area were server errors: try again later: %w",
			s.failures, c.kind.Area, s.last)
	}
	return r.awaitPause(ctx, c)
}

// waitToSend waits until an attempt may be sent, and returns what to call after its answer. The wait for other reads may be
// long enough for a new pause.
func (r *Reader) waitToSend(ctx context.Context, c *operation, attempt int) (leave func(), err error) {
	for {
		if err := r.admitAttempt(ctx, c, attempt); err != nil || r.budget == nil {
			return func() {}, err
		}
		select {
		case r.budget.reads <- struct{}{}:
			leave = func() { <-r.budget.reads }
		case <-ctx.Done():
			return nil, c.errorWithoutAnswer(Unsent, "waiting for other reads: %w", context.Cause(ctx))
		}
		if r.gates[c.kind.Area].currentState().pause == nil {
			return leave, nil
		}
		leave()
	}
}

// awaitPause waits for the end of the area's pause and then a random time, unless the token is rejected meanwhile.
func (r *Reader) awaitPause(ctx context.Context, c *operation) error {
	limit, bounded := ctx.Deadline()
	for {
		s, err := r.checkGate(c)
		switch {
		case err != nil || s.pause == nil:
			return err
		case !s.waited && !bounded:
			return c.pausedError(s.pause, fmt.Sprintf(", which is more than the %s that trueup waits", r.cfg.Retry.MaxRetryAfter))
		case bounded && limit.Before(pauseEnd(s.pause)):
			return c.pausedError(s.pause, ", which is after the run's time limit, "+formatPauseEnd(ctx))
		}
		if cause := waitForPauseEnd(ctx, s.pause, newBackOff(r.cfg.Retry).NextBackOff()); cause != nil {
			e := c.pausedError(s.pause, ": "+cause.Error())
			e.err = cause
			return e
		}
	}
}

// waitForPauseEnd waits for the end of a pause and then for a time, or until ctx ends.
func waitForPauseEnd(ctx, pause context.Context, longer time.Duration) error {
	select {
	case <-ctx.Done():
	case <-pause.Done():
	}
	select {
	case <-ctx.Done():
	case <-time.After(longer):
	}
	return context.Cause(ctx)
}

func (c *operation) pausedError(pause context.Context, why string) *Error {
	e := c.errorWithoutAnswer(Unsent, "not sent, because the platform asks to wait until %s%s", formatPauseEnd(pause), why)
	e.RetryAfter = max(time.Until(pauseEnd(pause)), time.Nanosecond) // never 0, which means no pause
	return e
}

// readWithRetries sends a read until it succeeds, can't succeed, or runs out of tries or time. It calls use with a
// successful answer, and returns the error of the last attempt.
func (r *Reader) readWithRetries(ctx context.Context, c *operation, use func(*timedResponse) error) error {
	var last error
	attempt := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		attempt++
		last = r.sendAttempt(ctx, r.gets, c, attempt, use)
		e := AsError(last)
		mayPass := e.Class == Unavailable || e.Class == Unsent || e.Status == http.StatusTooManyRequests // docs/design.md C4
		if last != nil && (e.Hopeless || !mayPass) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(newBackOff(r.cfg.Retry)), backoff.WithMaxTries(r.cfg.Retry.Tries), backoff.WithMaxElapsedTime(0))
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil && !errors.Is(last, cause):
		return fmt.Errorf("%w: gave up: %w", last, cause)
	}
	return last
}

// newBackOff returns random delays from a growing interval.
func newBackOff(cfg RetryPolicy) *backoff.ExponentialBackOff {
	exponential := backoff.NewExponentialBackOff()
	// A factor of 1 means from zero to twice the interval: full jitter.
	exponential.RandomizationFactor = 1
	exponential.InitialInterval = cfg.Initial / 2
	exponential.MaxInterval = cfg.Max / 2
	exponential.Multiplier = 2
	return exponential
}

// maxAsked is the longest pause that Retry-After can mean.
const maxAsked = 366 * 24 * time.Hour

// retryAfter returns the pause that an answer asks for, or 0: the longer one of said and
// the header Retry-After, which is in seconds or a date.
func (r *Reader) retryAfter(resp *http.Response, said time.Duration) time.Duration {
	text := resp.Header.Get("Retry-After")
	asked := max(said, parseSeconds(text, maxAsked))
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = r.cfg.Now()
	}
	if until, err := http.ParseTime(text); err == nil && !now.IsZero() {
		asked = max(asked, min(until.Sub(now), maxAsked))
	}
	return time.Duration(asked.Seconds() * float64(r.cfg.Retry.Second))
}

// usualWrites is how many writes a second a run sends without a setting (docs/design.md 0.15).
const usualWrites = 5

// SharedLimits is what the clients of many runs share: the rate of writes, the number of reads at once, and the tokens that
// the platform refused. Each run has its own workspace, so the pauses that the platform asks for are its own.
type SharedLimits struct {
	writes *rate.Limiter
	// everywhere is set if the rate is also that of a platform on loopback.
	everywhere bool
	reads      chan struct{}
	refused    sync.Map // has the answer to each token that was refused
}

// NewSharedLimits returns a budget of one of several processes, which together send perSecond writes a second; 0 means 5, and
// no limit on loopback. A process never saves up more than one write, so that in no second all of them together send
// more than perSecond, and one for each process. A process reads at most so many answers at once for its plans.
func NewSharedLimits(perSecond float64, processes, reads int) *SharedLimits {
	share := rate.Limit(cmp.Or(perSecond, usualWrites) / float64(max(processes, 1)))
	return &SharedLimits{writes: rate.NewLimiter(share, 1), everywhere: perSecond > 0, reads: make(chan struct{}, max(reads, 1))}
}

// checkToken returns an error if the platform refused the token in another run.
func (b *SharedLimits) checkToken(c *operation) error {
	if b == nil {
		return nil
	}
	if answer, refused := b.refused.Load(c.tokenKey()); refused {
		return c.tokenRefusedError(answer.(*Error))
	}
	return nil
}

// tokenKey tells a token from others, and from itself at another address.
func (c *operation) tokenKey() string {
	return c.endpoint.Base.String() + " " + c.endpoint.Token.Reveal()
}

// writeLimiter returns the limit of a client's writes.
func (c ClientConfig) writeLimiter() *rate.Limiter {
	local := true
	for _, e := range c.Endpoints {
		local = local && (e.Base == nil || IsLoopback(e.Base))
	}
	switch {
	case c.Budget != nil && (c.Budget.everywhere || !local):
		return c.Budget.writes
	case local:
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(c.WritesPerSecond), max(1, int(c.WritesPerSecond)))
}
