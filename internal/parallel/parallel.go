// Package parallel runs a function on all processors. It starts no process, and limits no requests.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do for 0 to n-1 in any order, several at a time, and returns after all. It passes a panic on to its
// caller.
func Each(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var group sync.WaitGroup
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	for range workers {
		group.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					panicked.CompareAndSwap(nil, &value)
				}
			}()
			for panicked.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	group.Wait()
	if value := panicked.Load(); value != nil {
		panic(*value)
	}
}
