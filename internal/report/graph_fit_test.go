package report

import (
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/plan"
)

// TestWhatIsNotDrawnWouldNotFit: a diagram is drawn unless there are too many
// arrows, which are counted as they are drawn, or too many hosts.
func TestWhatIsNotDrawnWouldNotFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphOf(rapid.IntRange(0, 5).Draw(t, "hosts"), rapid.IntRange(0, 9).Draw(t, "paths"))
		details := make([]detail, len(g.Hosts))
		edges := 0
		for i := range g.Hosts {
			h := &g.Hosts[i]
			for j := range h.Paths {
				h.Paths[j].Upstream = rapid.IntRange(-1, 2).Draw(t, "upstream")
			}
			details[i] = rapid.SampledFrom([]detail{everything, noServers, noPaths, nameOnly, nothing}).Draw(t, "detail")
			edges += edgesOf(*h, details[i])
		}
		if drawn := len(sketched(g, details).arrows); drawn != edges {
			t.Fatalf("%d arrows are drawn, and %d counted", drawn, edges)
		}
	})
	if least := len(mermaidBox(new(sketch).host(plan.GraphHost{}, nameOnly))); least < minNamed {
		t.Errorf("a host without anything takes %d characters", least)
	}
}
