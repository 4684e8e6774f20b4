package diag_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"trueup/internal/diag"
)

// authError is an error that says of itself what it is.
type authError struct{ auth bool }

func (authError) Error() string  { return "denied" }
func (e authError) IsAuth() bool { return e.auth }

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("no"), 1},
		{fmt.Errorf("list: %w", authError{true}), 8},
		{fmt.Errorf("list: %w", authError{false}), 1},
		{fmt.Errorf("load: %w", diag.WithExit(diag.ExitInvalid, authError{true})), 4},
		{fmt.Errorf("list: %w", context.Canceled), 130},
		{fmt.Errorf("list: %w", context.DeadlineExceeded), 1},
	} {
		if got := diag.ExitOf(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestNames: each code has the name that machine-readable outputs use.
func TestNames(t *testing.T) {
	seen := map[string]int{}
	for _, code := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 130} {
		name := diag.ExitName(code)
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("%d is called %q, as %d is", code, name, other)
		}
		seen[name] = code
	}
}

// TestWorst: every code has its own rank, and the worst of some does not depend on their order.
func TestWorst(t *testing.T) {
	ranks := map[int]int{}
	for _, code := range diag.ExitCodes() {
		if other, twice := ranks[diag.ExitRank(code.Number)]; twice {
			t.Errorf("%d ranks as %d does", code.Number, other)
		}
		ranks[diag.ExitRank(code.Number)] = code.Number
	}
	for _, tt := range []struct {
		codes []int
		want  int
	}{
		{nil, 0},
		{[]int{0, 0}, 0},
		{[]int{0, 2}, 2},
		{[]int{2, 1}, 1},
		{[]int{1, 5, 2}, 5},
		{[]int{5, 3}, 3},
		{[]int{3, 4, 1}, 4},
		{[]int{4, 7}, 7},
		{[]int{7, 6, 5}, 6},
		{[]int{6, 8}, 8},
		{[]int{8, 130, 0}, 130},
		{[]int{77, 2}, 77},
		{[]int{77, 5}, 5},
	} {
		back := slices.Clone(tt.codes)
		slices.Reverse(back)
		if got, other := diag.WorstExit(tt.codes...), diag.WorstExit(back...); got != tt.want || other != tt.want {
			t.Errorf("%v: %d and %d, want %d", tt.codes, got, other, tt.want)
		}
	}
}
