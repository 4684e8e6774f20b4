package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	"trueup/internal/kind"
)

// gates makes one for each area.
func gates() map[kind.Area]*gate {
	all := map[kind.Area]*gate{}
	for _, k := range kind.All() {
		all[k.Area] = &gate{}
	}
	return all
}

// gate stands before the requests of one area, whoever sends them: it keeps the
// pause that the platform asked for, and what shows that no request could
// succeed (docs/design.md C3 and C4).
type gate struct {
	mu sync.Mutex
	// pause is over when requests may go again, nil before the first one;
	// waited says whether it is short enough to be waited for.
	pause  context.Context
	end    context.CancelFunc
	waited bool
	// refused is the first answer that the token is not good.
	refused *Error
	// failures counts the answers to reads that are server errors, in a row;
	// last is the latest of them, or nil.
	failures int
	last     *Error
}

// hold lets no request go for the time that the platform asked for; a pause
// that ends later stands. It tells until when, and whether there was no pause.
func (g *gate) hold(asked time.Duration, waited bool) (until time.Time, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	pause, end := context.WithTimeout(context.Background(), asked)
	first = g.pause == nil || g.pause.Err() != nil
	if !first && deadline(pause).Before(deadline(g.pause)) {
		end()
		return deadline(g.pause), false
	}
	if g.end != nil {
		// Who waits for it looks again, and finds the new one.
		g.end()
	}
	g.pause, g.end, g.waited = pause, end, waited
	return deadline(pause), first
}

// standing returns the pause that is not over, or nil. Behind a gate that is
// shut nobody waits.
func (g *gate) standing() (pause context.Context, waited bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused != nil || g.pause == nil || g.pause.Err() != nil {
		return nil, false
	}
	return g.pause, g.waited
}

// deadline is when a pause ends.
func deadline(pause context.Context) time.Time {
	at, _ := pause.Deadline()
	return at
}

// refuse shuts the gate for good: no request goes any more, nor is a pause
// waited for.
func (g *gate) refuse(e *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused == nil {
		g.refused = e
	}
	if g.end != nil {
		g.end()
	}
}

// refusal is why the gate is shut for good, or nil.
func (g *gate) refusal() *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

// answered notes that a read was answered without a server error.
func (g *gate) answered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures, g.last = 0, nil
}

// failed notes that a read was answered with a server error.
func (g *gate) failed(e *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures++
	g.last = e
}

// streak is how many answers in a row were server errors, and the last of them.
func (g *gate) streak() (failures int, last *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures, g.last
}

// admit lets an attempt go, after the pause that the platform may have asked
// for; an error says why it may not go. A write does not wait here: its Turn
// has, and nothing may stand between the look that it relies on and the write.
func (r *Reader) admit(ctx context.Context, c *call, attempt int) error {
	g := r.gates[c.kind.Area]
	if err := r.shut(g, c); err != nil {
		return err
	}
	if isWrite(c.verb) {
		pause, _ := g.standing()
		if pause == nil {
			return nil
		}
		e := c.paused(pause, "")
		e.hopeless = false
		return e
	}
	if failures, last := g.streak(); attempt == 1 && r.cfg.Retry.Failures > 0 && failures >= r.cfg.Retry.Failures {
		e := c.unsent("not asked, because the last %d answers of the %s area were server errors: try again later: %v", failures, c.kind.Area, last)
		e.Class, e.err = Unavailable, last
		return e
	}
	return r.await(ctx, g, c)
}

// shut is the error of a request that needs no sending to fail.
func (r *Reader) shut(g *gate, c *call) error {
	refused := g.refusal()
	if refused == nil {
		return nil
	}
	e := c.unsent("not sent, because the token of the %s area was refused before: %v", c.kind.Area, refused)
	e.Class, e.err = Denied, refused
	return e
}

// await waits until the pause of an area is over. Those who waited go on one
// after the other, each after a random time of its own, unless the token was
// refused meanwhile.
func (r *Reader) await(ctx context.Context, g *gate, c *call) error {
	for {
		pause, waited := g.standing()
		if pause == nil {
			return r.shut(g, c)
		}
		limit, bounded := ctx.Deadline()
		if !waited && !bounded {
			return c.paused(pause, fmt.Sprintf(", which is more than the %s that trueup waits", r.cfg.Retry.MaxRetryAfter))
		}
		if bounded && limit.Before(deadline(pause)) {
			return c.paused(pause, ", which is after the run's time limit, "+stamp(limit))
		}
		if err := sleepUntil(ctx, pause, newBackOff(r.cfg.Retry).NextBackOff()); err != nil {
			e := c.paused(pause, ": "+err.Error())
			e.err = err
			return e
		}
	}
}

// paused is a request that does not go because of a pause.
func (c *call) paused(pause context.Context, why string) *Error {
	until := deadline(pause)
	e := c.unsent("not sent, because the platform asks to wait until %s%s", stamp(until), why)
	e.RetryAfter = max(time.Until(until), time.Nanosecond) // it is a pause, though it may be over by now
	return e
}

// sleepUntil waits for the end of a pause, and a while longer.
func sleepUntil(ctx, pause context.Context, longer time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-pause.Done():
	}
	timer := time.NewTimer(longer)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
