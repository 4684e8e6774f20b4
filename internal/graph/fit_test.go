package graph

import (
	"testing"
)

// TestNoHostIsSmaller: hosts are not drawn where even their names would not fit.
func TestNoHostIsSmaller(t *testing.T) {
	if least := len(mermaidBox(new(sketch).host(Host{}, nameOnly)).String()); least < minNamed {
		t.Errorf("a host without anything takes %d characters", least)
	}
}

func TestTTL(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"", ""}: "", {"0", "second"}: "0 s", {"59", ""}: "59 s", {"60", "second"}: "1 min", {"90", "second"}: "1 min 30 s", {"7200", "second"}: "2 h",
		{"86400", "second"}: "1 d", {"5", "minute"}: "5 min", {"5x", "second"}: "5x second", {"007", "second"}: "007 second", {"", "second"}: "",
		{"99999999999999999999", "second"}: "99999999999999999999 second",
	} {
		if got := (Path{EdgeTTL: in[0], TTLUnit: in[1]}).ttl().String(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
