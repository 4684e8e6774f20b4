package ledger

import (
	"context"
	"sync"
)

// together lets those who write at the same time write in one go: who is first
// takes along what waits. Its zero value is ready.
type together struct {
	mu      sync.Mutex
	waiting []*waiter
	// turn is held by who writes.
	turn sync.Mutex
}

// waiter is a change that waits, and how it ended.
type waiter struct {
	change
	done bool
	err  error
}

func (t *together) put(ctx context.Context, s Store, c change) error {
	w := &waiter{change: c}
	t.mu.Lock()
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	t.turn.Lock()
	defer t.turn.Unlock()
	if w.done {
		return w.err
	}
	t.mu.Lock()
	all := t.waiting
	t.waiting = nil
	t.mu.Unlock()
	changes := make([]change, len(all))
	for i, one := range all {
		changes[i] = one.change
	}
	err := surviving(func() error {
		for i, err := range putAll(ctx, s, changes) {
			all[i].done, all[i].err = true, err
		}
		return nil
	})
	for _, one := range all {
		if !one.done {
			one.done, one.err = true, err
		}
	}
	return w.err
}
