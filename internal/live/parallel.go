package live

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// parallel runs do for 0 to n-1, at most workers at a time, and waits for all.
// The first failure stops the rest; of several, the one of the lowest index is
// returned, and none that only tells of the stop.
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
			defer func() { <-slots }()
			if failures[i] = caught(ctx, i, do); failures[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := first(failures); err != nil {
		return err
	}
	return context.Cause(outer)
}

// caught calls do; a panic in it is an error, and stops the others like one.
func caught(ctx context.Context, i int, do func(ctx context.Context, i int) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	return do(ctx, i)
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

// first returns the failure to tell of.
func first(failures []error) error {
	var stopped error
	for _, err := range failures {
		switch {
		case err == nil:
		case !errors.Is(err, context.Canceled):
			return err
		case stopped == nil:
			stopped = err
		}
	}
	return stopped
}
