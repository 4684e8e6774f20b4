package api

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/time/rate"
)

// usualWrites is how many writes a second a run sends without a setting (docs/design.md 0.15).
const usualWrites = 5

// Budget is what the clients of many runs share: the rate of writes, the number of reads at once, and the tokens that
// the platform refused. Each run has its own workspace, so the pauses that the platform asks for are its own.
type Budget struct {
	writes *rate.Limiter
	// everywhere is set if the rate is also that of a platform on loopback.
	everywhere bool
	reads      chan struct{}
	refused    sync.Map // has the answer to each token that was refused
}

// NewBudget returns a budget of one of several processes, which together send perSecond writes a second; 0 means 5, and
// no limit on loopback. A process never saves up more than one write, so that in no second all of them together send
// more than perSecond, and one for each process. A process reads at most so many answers at once for its plans.
func NewBudget(perSecond float64, processes, reads int) *Budget {
	share := rate.Limit(cmp.Or(perSecond, usualWrites) / float64(max(processes, 1)))
	return &Budget{writes: rate.NewLimiter(share, 1), everywhere: perSecond > 0, reads: make(chan struct{}, max(reads, 1))}
}

// noteRefusedToken notes that the platform refused a token.
func (b *Budget) noteRefusedToken(c *operation, answer *Error) {
	if b != nil {
		b.refused.LoadOrStore(c.tokenKey(), answer)
	}
}

// checkToken returns an error if the platform refused the token in another run.
func (b *Budget) checkToken(c *operation) error {
	if b == nil {
		return nil
	}
	if answer, refused := b.refused.Load(c.tokenKey()); refused {
		return c.refusedBefore(answer.(*Error))
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

// waitForSlot waits until the budget allows another read at once, and returns what gives the place back.
func (b *Budget) waitForSlot(ctx context.Context) (leave func(), err error) {
	select {
	case b.reads <- struct{}{}:
		return func() { <-b.reads }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
