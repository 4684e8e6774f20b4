package exit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"trueup/internal/exit"
)

// authError is an error that says of itself what it is.
type authError struct{ auth bool }

func (authError) Error() string { return "denied" }
func (e authError) Auth() bool  { return e.auth }

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("no"), 1},
		{fmt.Errorf("list: %w", authError{true}), 8},
		{fmt.Errorf("list: %w", authError{false}), 1},
		{fmt.Errorf("load: %w", exit.With(exit.Invalid, authError{true})), 4},
		{fmt.Errorf("list: %w", context.Canceled), 130},
		{fmt.Errorf("list: %w", context.DeadlineExceeded), 1},
	} {
		if got := exit.Of(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestNames: each code has the name that machine-readable outputs use.
func TestNames(t *testing.T) {
	seen := map[string]int{}
	for _, code := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 130} {
		name := exit.Name(code)
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("%d is called %q, as %d is", code, name, other)
		}
		seen[name] = code
	}
}
