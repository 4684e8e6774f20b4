package api

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"trueup/internal/kind"
)

// usualWrites is how many writes a second a run sends without a setting (docs/design.md 0.15).
const usualWrites = 5

// Budget is what the clients of many runs share: the rate of writes, the number of reads at once, and the pauses that
// the platform asks for.
type Budget struct {
	writes *rate.Limiter
	// everywhere is set if the rate is also that of a platform on loopback.
	everywhere bool
	reads      chan struct{}
	pauses     map[kind.Area]*pauses
}

// NewBudget returns a budget of one of several processes, which together send perSecond writes a second; 0 means 5, and
// no limit on loopback. A process never saves up more than one write, so that in no second all of them together send
// more than perSecond, and one for each process. A process reads at most so many answers at once for its plans.
func NewBudget(perSecond float64, processes, reads int) *Budget {
	share := rate.Limit(cmp.Or(perSecond, usualWrites) / float64(max(processes, 1)))
	b := &Budget{
		writes: rate.NewLimiter(share, 1), everywhere: perSecond > 0,
		reads: make(chan struct{}, max(reads, 1)), pauses: map[kind.Area]*pauses{},
	}
	for _, area := range kind.Areas() {
		b.pauses[area] = newPauses()
	}
	return b
}

// pausesOf returns the pauses of an area; without a budget, they are the client's own.
func (b *Budget) pausesOf(area kind.Area) *pauses {
	if b == nil {
		return newPauses()
	}
	return b.pauses[area]
}

// limiter returns the limit of a client's writes.
func (c Config) limiter() *rate.Limiter {
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

// slot waits until the budget allows another read at once, and returns what gives the place back.
func (b *Budget) slot(ctx context.Context) (leave func(), err error) {
	select {
	case b.reads <- struct{}{}:
		return func() { <-b.reads }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pauses are those that the platform asked for in one area.
type pauses struct {
	mu sync.Mutex
	// until ends when requests may be sent again; nil means now. waited reports whether the pause is short enough
	// to wait for. end frees it.
	until  context.Context
	waited bool
	end    context.CancelFunc
}

func newPauses() *pauses { return &pauses{end: func() {}} }

// current returns the pause that is not over yet, nil for none.
func (p *pauses) current() (until context.Context, waited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until != nil && p.until.Err() != nil {
		p.until = nil
	}
	return p.until, p.waited
}

// hold starts a pause, unless the current one ends later. It returns when the pause ends, and whether there was none
// before.
func (p *pauses) hold(asked time.Duration, waited bool) (until string, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause, end := context.WithTimeout(context.Background(), asked)
	first = p.until == nil || p.until.Err() != nil
	if !first && deadline(pause).Before(deadline(p.until)) {
		end()
		return stamp(p.until), false
	}
	p.end()
	p.until, p.waited, p.end = pause, waited, end
	return stamp(pause), first
}
