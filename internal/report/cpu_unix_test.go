//go:build unix

package report

import (
	"io"
	"syscall"
	"testing"
	"time"

	"trueup/internal/plan"
)

// TestAThousandObjects: a plan of a thousand objects takes every format a small
// part of a second. The processor's time is counted, whatever else it does.
func TestAThousandObjects(t *testing.T) {
	doc := Document{Command: "plan", Plan: &plan.Plan{}}
	for len(doc.Plan.Items) < 1000 {
		doc.Plan.Items = append(doc.Plan.Items, examplePlan().Items...)
	}
	for _, format := range Formats() {
		before := cpuTime(t)
		if err := Write(io.Discard, format, doc, Options{}); err != nil {
			t.Fatal(err)
		}
		if took := cpuTime(t) - before; took > bound {
			t.Errorf("%s takes %v", format, took)
		}
	}
}

// bound leaves room for slow machines and for the race detector.
const bound = 2 * time.Second

// cpuTime is the processor's time that the process has taken.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
