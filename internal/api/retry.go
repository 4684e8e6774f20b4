package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// retry runs a read until it succeeds, can't succeed, or the tries or the
// context are used up; it returns the error of the last attempt.
func (r *Reader) retry(ctx context.Context, read func(attempt int) error) error {
	var last error
	attempt := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		attempt++
		last = read(attempt)
		if last != nil && !worthwhile(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(newPause(r.cfg.Retry, &last)), backoff.WithMaxTries(r.cfg.Retry.Tries), backoff.WithMaxElapsedTime(0))
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil && !errors.Is(last, cause):
		return fmt.Errorf("%w: gave up: %w", last, cause)
	}
	return last
}

// worthwhile tells whether a read that failed so may succeed on another try:
// the network, 408, 429 and 5xx (design C4).
func worthwhile(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.hopeless {
		return false
	}
	return e.Class == Unavailable || e.Class == Unsent || e.Status == http.StatusTooManyRequests
}

// pause is the delay before the next try: a random part of a growing interval,
// or longer where the server asked for it.
type pause struct {
	*backoff.ExponentialBackOff
	last *error
}

func newPause(cfg Retry, last *error) *pause {
	exponential := backoff.NewExponentialBackOff()
	// A factor of 1 draws from zero to twice the interval: full jitter.
	exponential.RandomizationFactor = 1
	exponential.InitialInterval = cfg.Initial / 2
	exponential.MaxInterval = cfg.Max / 2
	exponential.Multiplier = 2
	return &pause{ExponentialBackOff: exponential, last: last}
}

// NextBackOff returns the delay before the next try.
func (p *pause) NextBackOff() time.Duration {
	next := p.ExponentialBackOff.NextBackOff()
	var e *Error
	if errors.As(*p.last, &e) {
		next = max(next, e.RetryAfter)
	}
	return next
}
