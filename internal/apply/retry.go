package apply

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"

	"trueup/internal/kind"
)

// Retry says how a write is repeated (docs/design.md C4). What is zero has its default.
type Retry struct {
	// Tries bounds how often a request is made that was not written, or may be
	// made twice; default 4.
	Tries int
	// Initial and Max bound the pauses between two tries: a random part of an
	// interval that grows from the one to the other; default 0.5 s and 20 s.
	Initial, Max time.Duration
	// MaxWait is the longest pause that a server may ask for (Retry-After); a longer
	// one ends the write; default 15 minutes.
	MaxWait time.Duration
	// LookAgain is the pause between two looks for what a POST without an answer
	// may have made; default 2 s.
	LookAgain time.Duration
}

func (c Retry) withDefaults() Retry {
	return Retry{
		Tries:   cmp.Or(c.Tries, 4),
		Initial: cmp.Or(c.Initial, 500*time.Millisecond), Max: cmp.Or(c.Max, 20*time.Second),
		MaxWait: cmp.Or(c.MaxWait, 15*time.Minute), LookAgain: cmp.Or(c.LookAgain, 2*time.Second),
	}
}

// looks are the pauses before each look for what a write did: four within about
// ten seconds.
func looks() []time.Duration {
	return []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second}
}

// maxSends bounds how often a POST is sent that may have arrived before.
const maxSends = 3

// pauses are those between the tries of one write, of which failed counts those
// that failed.
type pauses struct {
	growing       *backoff.ExponentialBackOff
	maxWait       time.Duration
	failed, tries int
}

func (r *run) pauses() *pauses {
	growing := backoff.NewExponentialBackOff()
	// A factor of 1 draws from zero to twice the interval: full jitter.
	growing.RandomizationFactor, growing.Multiplier = 1, 2
	growing.InitialInterval, growing.MaxInterval = r.Options.Retry.Initial/2, r.Options.Retry.Max/2
	p := &pauses{growing: growing, maxWait: r.Options.Retry.MaxWait, tries: r.Options.Retry.Tries}
	if r.bounded {
		p.maxWait = math.MaxInt64 // rest waits for what fits
	}
	return p
}

// left counts a try that failed, and tells whether there is another.
func (p *pauses) left(err error) bool {
	if !turnedAway(err) {
		p.failed++
	}
	return !p.usedUp() && waitOf(err) <= p.maxWait
}

// usedUp reports whether there is no try left.
func (p *pauses) usedUp() bool { return p.failed >= p.tries }

// after is the pause after a failure: longer where the server asked for it.
func (p *pauses) after(err error) time.Duration {
	return max(p.growing.NextBackOff(), waitOf(err))
}

// rest waits before a write is made again; false means that the run ends before that.
func (r *run) rest(ctx context.Context, key kind.Key, d time.Duration, err error) bool {
	if limit, ends := ctx.Deadline(); ctx.Err() != nil || ends && time.Until(limit) < d {
		return false
	}
	r.Report(Event{Key: key, Phase: "wait", Message: fmt.Sprintf("again in %s: %s", d.Round(time.Millisecond), err)})
	return r.Sleep(ctx, d) == nil
}

// transient reports whether a write that failed so may succeed on another try: it
// was not written, or the platform was out of reach or out of breath (docs/design.md C4).
func transient(err error) bool {
	switch {
	case err == nil || auth(err) || hopeless(err):
		return false
	case notSent(err), conflict(err):
		return true
	case !uncertain(err):
		return false
	}
	switch httpStatus(err) {
	case 0, statusRequestTimeout, statusBadGateway, statusUnavailable, statusGatewayTimeout:
		return true
	}
	return false
}

// turnedAway reports whether a write was not even tried, because the platform has
// asked another request of its area to wait: that uses up no try of its own.
func turnedAway(err error) bool {
	return notSent(err) && httpStatus(err) == 0 && waitOf(err) > 0
}

// The answers of HTTP that a rule speaks of.
const (
	statusNotFound       = 404
	statusConflict       = 409
	statusRequestTimeout = 408
	statusServerError    = 500
	statusBadGateway     = 502
	statusUnavailable    = 503
	statusGatewayTimeout = 504
)
