package report

import (
	"io"
	"testing"

	"trueup/internal/plan"
)

// BenchmarkWrite renders a plan with a thousand changed objects.
func BenchmarkWrite(b *testing.B) {
	pl := &plan.Plan{Format: plan.Format}
	for range 1000 {
		pl.Items = append(pl.Items, changedItem())
	}
	for _, name := range Formats() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Write(io.Discard, name, Document{Command: "plan", Plan: pl}, Options{Color: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
