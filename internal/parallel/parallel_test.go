package parallel

import (
	"testing"
)

func TestEachCallsEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]int, n)
		Each(n, func(i int) { calls[i]++ })
		for i, c := range calls {
			if c != 1 {
				t.Errorf("%d of %d was called %d times", i, n, c)
			}
		}
	}
}

func TestEachPassesAPanicOn(t *testing.T) {
	for _, n := range []int{1, 100} {
		func() {
			defer func() {
				if value := recover(); value != "broken" {
					t.Errorf("of %d: recovered %v", n, value)
				}
			}()
			Each(n, func(i int) {
				if i == n/2 {
					panic("broken")
				}
			})
		}()
	}
}
