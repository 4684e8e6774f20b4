// Package parallel runs a function on all processors. It starts no process, and limits no requests.
package parallel

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do for 0 to n-1 in any order, several at a time, and returns after all. It passes a panic on to its
// caller.
func Each(n int, do func(i int)) {
	EachWith(runtime.GOMAXPROCS(0), n, func(_ *struct{}, i int) (more bool) {
		do(i)
		return true
	})
}

// EachWith is Each in as many goroutines as workers, each with a W of its own. One whose do returns false ends.
func EachWith[W any](workers, n int, do func(w *W, i int) (more bool)) {
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

// InOrder renders n parts, several at once, and hands them to take in their order, until that returns false. It
// holds few of them in memory.
func InOrder(n int, render func(b *bytes.Buffer, i int) error, take func(text []byte) (more bool, err error)) error {
	const atOnce = 64
	var texts [atOnce]bytes.Buffer
	var failed [atOnce]error
	for from := 0; from < n; from += atOnce {
		some := min(atOnce, n-from)
		Each(some, func(i int) {
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
