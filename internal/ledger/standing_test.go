package ledger

import (
	"testing"
	"time"
)

func TestTheWindowByOneClockOnly(t *testing.T) {
	first := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for window, want := range map[time.Duration]time.Duration{
		20 * time.Hour: 19 * time.Hour, 2 * time.Hour: time.Hour, time.Hour: 30 * time.Minute,
	} {
		terms := Terms{Window: window}
		if got := terms.Until(first, Observed(time.Time{}, first)); !got.Equal(first.Add(want)) {
			t.Errorf("a window of %s ends at %s", window, got)
		}
		if got := terms.Until(first, Observed(first, first)); !got.Equal(first.Add(window)) {
			t.Errorf("a window of %s by two clocks ends at %s", window, got)
		}
	}
}
