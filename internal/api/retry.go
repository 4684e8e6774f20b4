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
	}, backoff.WithBackOff(newBackOff(r.cfg.Retry)), backoff.WithMaxTries(r.cfg.Retry.Tries), backoff.WithMaxElapsedTime(0))
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil && !errors.Is(last, cause):
		return fmt.Errorf("%w: gave up: %w", last, cause)
	}
	return last
}

// worthwhile reports whether a read that failed so may succeed on another try:
// the network, 408, 429 and 5xx (docs/design.md C4).
func worthwhile(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.hopeless {
		return false
	}
	return e.Class == Unavailable || e.Class == Unsent || e.Status == http.StatusTooManyRequests
}

// newBackOff gives the delays before the next tries: each a random part of a
// growing interval.
func newBackOff(cfg Retry) *backoff.ExponentialBackOff {
	exponential := backoff.NewExponentialBackOff()
	// A factor of 1 draws from zero to twice the interval: full jitter.
	exponential.RandomizationFactor = 1
	exponential.InitialInterval = cfg.Initial / 2
	exponential.MaxInterval = cfg.Max / 2
	exponential.Multiplier = 2
	return exponential
}

// applyAnswer takes from an answer what concerns more than the one request: a pause
// that the platform asks for, that it refuses the token, or that it fails.
func (r *Reader) applyAnswer(c *call, e *Error, asked time.Duration) {
	g := r.gates[c.kind.Area]
	if e.Status >= http.StatusInternalServerError && !isWrite(c.verb) {
		g.failed(e)
	}
	switch e.Status {
	case http.StatusUnauthorized:
		g.refuse(e)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		switch {
		case asked > 0:
			r.hold(g, c, asked)
		case e.Status == http.StatusTooManyRequests:
			g.hold(newBackOff(r.cfg.Retry).NextBackOff(), true)
		}
	}
}

// hold keeps a pause that the platform asked for, and says so: nothing would be
// seen of the run for so long.
func (r *Reader) hold(g *gate, c *call, asked time.Duration) {
	waited := asked <= r.cfg.Retry.MaxRetryAfter
	until, first := g.hold(asked, waited)
	if !first || !waited || r.cfg.Warn == nil {
		return
	}
	r.cfg.Warn(Warning{
		Op: c.op(), Kind: c.kind.Name, Name: c.name,
		Text: fmt.Sprintf("wait until %s; trueup sends no request to the %s area before that", stamp(until), c.kind.Area),
	})
}

// maxAsked is where what is read of a Retry-After ends.
const maxAsked = 366 * 24 * time.Hour

// retryAfter reads the header Retry-After, as seconds or as a date; what is
// neither, or past, is 0.
func (r *Reader) retryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if n := seconds(text, maxAsked); n > 0 {
		return n
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = r.cfg.Now()
	}
	if now.IsZero() {
		return 0
	}
	return min(max(until.Sub(now), 0), maxAsked)
}

// scaled is a time that a server asked for in this Reader's seconds.
func (r *Reader) scaled(asked time.Duration) time.Duration {
	return time.Duration(asked.Seconds() * float64(r.cfg.Retry.Second))
}
