package diag

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestInParallelCallsEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]int, n)
		InParallel(n, func(i int) { calls[i]++ })
		for i, c := range calls {
			if c != 1 {
				t.Errorf("%d of %d was called %d times", i, n, c)
			}
		}
	}
}

func TestInParallelPassesAPanicOn(t *testing.T) {
	for _, n := range []int{1, 100} {
		func() {
			defer func() {
				if value := recover(); value != "broken" {
					t.Errorf("of %d: recovered %v", n, value)
				}
			}()
			InParallel(n, func(i int) {
				if i == n/2 {
					panic("broken")
				}
			})
		}()
	}
}

// TestAPanicIsAnError: it stops the others as a failure does, and tells where it
// happened to who asks.
func TestAPanicIsAnError(t *testing.T) {
	err := TryInParallel(t.Context(), 2, 8, func(_ context.Context, i int) error {
		if i == 1 {
			var none []int
			_ = none[i]
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "internal error: runtime error: index out of range") {
		t.Fatalf("got %v", err)
	}
	if crash, ok := errors.AsType[*PanicError](err); !ok || !strings.Contains(string(crash.Stack), "parallel_test.go") {
		t.Error("it does not say where")
	}
}
