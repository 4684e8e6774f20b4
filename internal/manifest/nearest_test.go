package manifest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"forced", "new", "enabled", "edgeTTL", "CDN/shop", "CDN/shop-staging", strings.Repeat("x", 400)}
	for word, want := range map[string]string{
		"froced": "forced", "nwe": "new", "FORCED": "forced", "edge": "edgeTTL", "cdn/shpo": "CDN/shop", "shop": "CDN/shop",
		"staging": "CDN/shop-staging", "zzz": "", "x": "", "": "", "ed": "", strings.Repeat("x", 399): "", "enable": "enabled",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("%q of nothing", got)
	}
}
