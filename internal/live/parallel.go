package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// parallel runs do for 0 to n-1, at most workers at a time, and waits for all. The first error cancels
// the rest. It returns the error with the lowest index, and prefers those that are not just "cancelled". A
// panic is an error, too.
func parallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, n)
	slots := make(chan struct{}, workers)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					failures[i] = &panicError{value: value, stack: debug.Stack()}
				}
				if failures[i] != nil {
					cancel()
				}
				<-slots
			}()
			failures[i] = do(ctx, i)
		})
	}
	wg.Wait()
	var stopped error
	for _, err := range failures {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		stopped = cmp.Or(stopped, err)
	}
	return cmp.Or(stopped, context.Cause(outer))
}

// panicError is a panic; Stack returns where it happened.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error: %.300v; this is a bug", e.value)
}

func (e *panicError) Stack() []byte { return e.stack }
