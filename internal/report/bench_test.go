package report

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"trueup/internal/plan"
)

// ofMany is a plan of so many changed objects.
func ofMany(n int) *plan.Plan {
	pl := &plan.Plan{Format: plan.Format}
	for range n {
		pl.Items = append(pl.Items, changedItem())
	}
	return pl
}

// BenchmarkWrite renders a plan with a thousand changed objects.
func BenchmarkWrite(b *testing.B) {
	pl := ofMany(1000)
	for _, name := range Formats() {
		b.Run(name, func(b *testing.B) { benchmarkWrite(b, name, pl, Options{Color: true}) })
	}
	for _, diff := range Diffs() {
		b.Run("text/"+diff, func(b *testing.B) { benchmarkWrite(b, "text", pl, Options{Width: 120, Diff: diff}) })
	}
}

func benchmarkWrite(b *testing.B, name string, pl *plan.Plan, opts Options) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, name, Document{Command: "plan", Plan: pl}, opts); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCostOfManyObjects: what a report costs grows with the number of objects and
// no faster, and is done while a person waits. How fast it is on
// an idle machine is for the benchmark to say.
func TestCostOfManyObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the clock says nothing with the race detector")
	}
	some, more := ofMany(250), ofMany(500)
	for name, opts := range map[string]Options{
		"text": {}, "markdown": {}, "summary": {}, "text unified": {Diff: DiffUnified}, "text sides": {Diff: DiffSides},
	} {
		format, _, _ := strings.Cut(name, " ")
		cost := func(pl *plan.Plan) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := Write(io.Discard, format, Document{Command: "plan", Plan: pl}, opts); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		a, begun := cost(some), time.Now()
		b := cost(more)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: 500 objects take %s", name, took)
		}
		if float64(b) > 2.2*float64(a) {
			t.Errorf("%s: %d allocations for 250 objects, %d for 500", name, a, b)
		}
	}
}
