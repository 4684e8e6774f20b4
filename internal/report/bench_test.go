package report

import (
	"io"
	"runtime"
	"strconv"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// ofMany is a plan of so many changed objects.
func ofMany(n int) *plan.Plan {
	pl := &plan.Plan{Format: plan.Format}
	for range n {
		pl.Items = append(pl.Items, changedItem())
	}
	return pl
}

// ofLarge is a plan of one object in which so many locations are changed, moved,
// or would be lost.
func ofLarge(n int) *plan.Plan {
	item := plan.Item{Key: key("CDN", "shop"), Op: plan.Patch, Request: &plan.Request{Body: []byte(`{"spec":{"locations":[]}}`)}}
	var found []merge.Difference
	for i := range n {
		path := "locations[/section-" + strconv.Itoa(i) + "/*]"
		location := map[string]any{"path": path, "upstream": "origin"}
		found = append(found,
			merge.Difference{Path: path + ".cache.edgeTTL", Class: merge.Changed, Live: "60", Desired: "3600"},
			merge.Difference{Path: path + ".new", Class: merge.Changed, Desired: location, Moved: i%2 == 0},
			merge.Difference{Path: path, Class: merge.TakeOver, Live: location})
		item.FirstContact = append(item.FirstContact, merge.PathValue{Path: path, Value: location})
		item.Preserved = append(item.Preserved, merge.PathValue{Path: path + ".imgsvc", Value: location})
	}
	item.Changes = changes(found)
	return &plan.Plan{Format: plan.Format, Items: []plan.Item{item}}
}

// BenchmarkWrite renders plans of many changed objects, and of one with many
// changes, in every format.
func BenchmarkWrite(b *testing.B) {
	for name, pl := range map[string]*plan.Plan{
		"objects=100": ofMany(100), "objects=1000": ofMany(1000), "locations=500": ofLarge(500), "locations=5000": ofLarge(5000),
	} {
		for _, format := range Formats() {
			b.Run(format+"/"+name, func(b *testing.B) { benchmarkWrite(b, format, pl, view.TextOptions{}) })
		}
		b.Run("text in colour/"+name, func(b *testing.B) { benchmarkWrite(b, "text", pl, view.TextOptions{Color: true, Width: 120}) })
	}
}

func benchmarkWrite(b *testing.B, name string, pl *plan.Plan, opts view.TextOptions) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, name, Document{Command: "plan", Plan: pl}, opts); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCostOfManyObjects: what a report allocates grows with the number of objects
// and no faster, in every format. How long it takes is for the benchmark to say.
func TestCostOfManyObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one goroutine, and slow with the race detector")
	}
	n := long.Choose(50, 250)
	some, more := ofMany(n), ofMany(2*n)
	cost := func(pl *plan.Plan, format string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Write(io.Discard, format, Document{Command: "plan", Plan: pl}, view.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	for _, format := range Formats() {
		if a, b := cost(some, format), cost(more, format); float64(b) > 2.2*float64(a) {
			t.Errorf("%s: %d allocations for %d objects, %d for twice as many", format, a, n, b)
		}
	}
}
