package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// parallel runs do for 0 to n-1, at most workers at a time, and waits for all.
// The first failure stops the rest; of several, it returns the one of the lowest index,
// and not one that only says it was stopped. A panic is a failure too.
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

// panicError is a mistake of this program.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error: %.300v; this is a bug", e.value)
}

// Stack is where it happened, without any value.
func (e *panicError) Stack() []byte { return e.stack }
