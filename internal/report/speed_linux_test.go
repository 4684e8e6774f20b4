package report

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"trueup/internal/plan"
)

// TestThousandObjects: every format writes a plan of a thousand changed objects
// in less than a second. The processor's time is counted, and not that of the
// other programs of a busy machine.
func TestThousandObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: with the race detector, time says nothing")
	}
	pl := &plan.Plan{Format: plan.Format}
	for i := range 1000 {
		item := changedItem()
		item.Name = fmt.Sprintf("shop-%d", i)
		pl.Items = append(pl.Items, item)
	}
	for _, name := range Formats() {
		before := busy(t)
		if out := render(t, name, Document{Command: "plan", Plan: pl}, Options{}); len(out) == 0 {
			t.Errorf("%s is empty", name)
		}
		if spent := busy(t) - before; spent > time.Second {
			t.Errorf("%s takes %s", name, spent)
		} else {
			t.Logf("%s takes %s", name, spent)
		}
	}
}

// busy is how long this process has kept processors busy.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
