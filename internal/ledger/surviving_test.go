package ledger

import (
	"context"
	"strings"
	"testing"
)

// TestAPanicIsAnError of the work that many do at once, and nobody waits for ever.
func TestAPanicIsAnError(t *testing.T) {
	err := eachParallel(t.Context(), 100, func(_ context.Context, i int) error {
		if i == 1 {
			panic("odd")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "internal error: odd") {
		t.Errorf("got %v", err)
	}
}
