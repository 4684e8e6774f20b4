package diag

import (
	"slices"
	"strings"
	"testing"

	"trueup/internal/kind"
)

func TestNearest(t *testing.T) {
	known := []string{"forced", "new", "enabled", "edgeTTL", "CDN/shop", "CDN/shop-staging", strings.Repeat("x", 400)}
	for word, want := range map[string]string{
		"froced": "forced", "nwe": "new", "FORCED": "forced", "edge": "edgeTTL", "cdn/shpo": "CDN/shop", "shop": "CDN/shop",
		"staging": "CDN/shop-staging", "zzz": "", "x": "", "": "", "ed": "", strings.Repeat("x", 399): "", "enable": "enabled",
	} {
		if got := nearestWord(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
	if got := nearestWord("x", nil); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

func TestMisspelt(t *testing.T) {
	known := []string{"host", "port", "path", "tls", "hc2", "auto", "scheme", "servers", "edgeTTL", "penalty_period", "upstreams", "detectCountry", "ip", "cache"}
	for word, want := range map[string]string{
		"edgTTL": "edgeTTL", "edgeTLL": "edgeTTL", "EdgeTTL": "edgeTTL", "edge_ttl": "edgeTTL", "edge-TTL": "edgeTTL", "edge TTL": "edgeTTL", "edgeeTTTL": "edgeTTL",
		"server": "servers", "upstream": "upstreams", "penaltyPeriod": "penalty_period", "detectCounty": "detectCountry", "detetCounty": "detectCountry",
		"hots": "host", "hosts": "host", "prot": "port", "pott": "port", "tsl": "tls", "TLS": "tls", "tlss": "tls", "hc-2": "hc2", "pi": "ip", "IP": "ip", "schema": "scheme", "haths": "", "hast": "host", "paht": "path", "porh": "port", "host-port": "", "pat": "path", "po-rt": "port",
		// Letters of other scripts that look alike, where they are some or all.
		"\u0435dgeTTL": "edgeTTL", "tl\u0455": "tls", "\u0440\u043e\u0440t": "host,port", "\u0441\u0430\u0441\u04bb\u0435": "cache", "\u0456\u0440": "ip",

		// What is near in letters and another thing: other words, parts, versions.
		"hc": "", "hc3": "", "hc22": "", "edgeTTL2": "", "ttl": "", "mtls": "", "ssl": "", "tl": "", "udp": "", "ips": "",
		"hostHeader": "", "hostname": "", "passive": "", "edge": "", "browserTTL": "", "detect": "", "detectCity": "", "headers": "", "country": "", "theme": "", "action": "",
		"": "", "-": "", "\u65e5\u672c\u8a9e\u306e\u540d\u524d": "", strings.Repeat("edgeTTL", 1000): "",
	} {
		if got := strings.Join(Corrections(word, known), ","); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}

// TestSlipsAreMisspellings: swap two letters of a documented name, or drop or double
// one, and it is a misspelling wherever the name has four letters, and in the
// shorter ones if two are swapped or one is doubled.
func TestSlipsAreMisspellings(t *testing.T) {
	var check func(f *kind.Field)
	check = func(f *kind.Field) {
		for _, words := range [][]string{f.Names, f.Seen} {
			for _, w := range words {
				for i := range w {
					if w[i] >= '0' && w[i] <= '9' {
						continue
					}
					isSlip(t, w[:i]+w[i:i+1]+w[i:], words)
					if len(w) > 3 {
						isSlip(t, w[:i]+w[i+1:], words)
					}
					if i > 0 && (w[i-1] < '0' || w[i-1] > '9') {
						isSlip(t, w[:i-1]+w[i:i+1]+w[i-1:i]+w[i+1:], words)
					}
				}
			}
		}
		for _, below := range f.Fields {
			check(below)
		}
		if f.Item != nil {
			check(f.Item)
		}
	}
	for _, k := range kind.AllKinds() {
		check(k.Root())
	}
}

func isSlip(t *testing.T, word string, known []string) {
	t.Helper()
	if !slices.Contains(known, word) && Corrections(word, known) == nil {
		t.Errorf("%q is not taken for one of %q", word, known)
	}
}
