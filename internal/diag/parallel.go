package diag

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// InParallel calls do for 0 to n-1 in any order, several at a time, and returns after all. It passes a panic on to its
// caller.
func InParallel(n int, do func(i int)) {
	InParallelWith(runtime.GOMAXPROCS(0), n, func(_ *struct{}, i int) (more bool) {
		do(i)
		return true
	})
}

// InParallelWith is InParallel in as many goroutines as workers, each with a W of its own. One whose do returns false ends.
func InParallelWith[W any](workers, n int, do func(w *W, i int) (more bool)) {
	var group sync.WaitGroup
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	for range min(workers, n) {
		group.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					panicked.CompareAndSwap(nil, &value)
				}
			}()
			w := new(W)
			for panicked.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n || !do(w, i) {
					return
				}
			}
		})
	}
	group.Wait()
	if value := panicked.Load(); value != nil {
		panic(*value)
	}
}

// TryInParallel runs do for 0 to n-1, at most workers at a time, and waits for all. The first error cancels
// the rest. It returns the error with the lowest index, and prefers those that are not just "cancelled". A
// panic is an error, too.
func TryInParallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
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
					failures[i] = NewPanicError(fmt.Sprintf("internal error: %.300v; this is a bug", value))
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

// PanicError is a panic that was recovered. Stack says where it happened, without any value.
type PanicError struct {
	error
	Stack []byte
}

// NewPanicError returns the error of the panic that its caller has just recovered.
func NewPanicError(text string) *PanicError { return &PanicError{errors.New(text), debug.Stack()} }

// RenderInOrder renders n parts, several at once, and hands them to take in their order, until that returns false. It
// holds few of them in memory.
func RenderInOrder(n int, render func(b *bytes.Buffer, i int) error, take func(text []byte) (more bool, err error)) error {
	const atOnce = 64
	var texts [atOnce]bytes.Buffer
	var failed [atOnce]error
	for from := 0; from < n; from += atOnce {
		some := min(atOnce, n-from)
		InParallel(some, func(i int) {
			texts[i].Reset()
			failed[i] = render(&texts[i], from+i)
		})
		for i := range some {
			if failed[i] != nil {
				return failed[i]
			}
			if more, err := take(texts[i].Bytes()); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
