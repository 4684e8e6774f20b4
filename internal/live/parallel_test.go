package live

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestAPanicIsAnError: it stops the others as a failure does, and tells where it
// happened to who asks.
func TestAPanicIsAnError(t *testing.T) {
	err := parallel(t.Context(), 2, 8, func(_ context.Context, i int) error {
		if i == 1 {
			var none []int
			_ = none[i]
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "internal error: runtime error: index out of range") {
		t.Fatalf("got %v", err)
	}
	var stack interface{ Stack() []byte }
	if !errors.As(err, &stack) || !strings.Contains(string(stack.Stack()), "parallel_test.go") {
		t.Error("it does not say where")
	}
}
