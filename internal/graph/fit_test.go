package graph

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
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
	if least := len(mermaidBox(new(sketch).host(Host{}, nameOnly)).String()); least < minNamed {
		t.Errorf("a host without anything takes %d characters", least)
	}
}

// graphOf is a graph of so many hosts, each with so many paths.
func graphOf(hosts, paths int) Graph {
	g := Graph{}
	for i := range hosts {
		name := "c" + strconv.Itoa(i)
		h := Host{Key: kind.Key{Kind: "CDN", Name: name}, Hostname: name + ".example.com"}
		for j := range 3 {
			server := Server{Address: "a" + strconv.Itoa(i) + ".example.com:443"}
			h.Upstreams = append(h.Upstreams, Upstream{Name: "u" + strconv.Itoa(j), Servers: []Server{server}})
		}
		for j := range paths {
			h.Paths = append(h.Paths, Path{Path: "/section-" + strconv.Itoa(j) + "/*", Upstream: j % 3, Mark: Mark(j % 2)})
		}
		g.Hosts = append(g.Hosts, h)
	}
	return g
}

func TestTTL(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"", ""}: "", {"0", "second"}: "0 s", {"59", ""}: "59 s", {"60", "second"}: "1 min", {"90", "second"}: "90 s", {"7200", "second"}: "2 h",
		{"86400", "second"}: "1 d", {"5", "minute"}: "5 minute", {"5x", "second"}: "5x second", {"007", "second"}: "007 second", {"", "second"}: "",
		{"99999999999999999999", "second"}: "99999999999999999999 second",
	} {
		if got := (Path{EdgeTTL: in[0], TTLUnit: in[1]}).ttl().String(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
