package kind_test

import (
	"encoding/json"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// TestRiskOfPaths: a path is as grave as the gravest field that it may name, so
// that no name of an element makes it look harmless; what no schema knows is as
// grave as what it stands in.
func TestRiskOfPaths(t *testing.T) {
	cdn, _ := kind.Named("CDN")
	for path, want := range map[string]kind.Risk{
		"":                                   kind.RiskServes,
		"hostname":                           kind.RiskServes,
		"redirects":                          kind.RiskServes,
		"locations[/static/*].cache.edgeTTL": kind.RiskAvailability,
		"locations[/static/*].cache.keys":    kind.RiskServes,
		"locations[/*].headers.X":            kind.RiskSecurity,
		`locations[/*].headers["X.Y"]`:       kind.RiskServes, // it may be a location of that name
		"locations[/*].rewrite.to[0].host":   kind.RiskServes,
		// The name of an element that looks like the rest of a path.
		"locations[/x].cache.edgeTTL].upstream":                    kind.RiskServes,
		"upstreams[a].servers[b:1].weight].host":                   kind.RiskServes,
		"upstreams[a].servers[b:1].weight":                         kind.RiskAvailability,
		"upstreams[a].servers[b:1].tls.verify":                     kind.RiskServes,
		"upstreams[a].hc2.path":                                    kind.RiskAvailability,
		"firewall.rules[0].constraints[0][1].type":                 kind.RiskSecurity,
		"firewall.rules[r].action.challenge.seconds":               kind.RiskSecurity,
		"locations[" + strings.Repeat("]", 500) + ".cache.edgeTTL": kind.RiskServes,
		"tls[":  kind.RiskSecurity,
		"[a":    kind.RiskServes,
		"a..b]": kind.RiskServes,
	} {
		if got := cdn.Spec().Places(path).RiskIn(""); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// TestRiskInValues: a structure is as grave as the gravest in it.
func TestRiskInValues(t *testing.T) {
	cdn, _ := kind.Named("CDN")
	for _, c := range []struct {
		path, value string
		want        kind.Risk
	}{
		{"tls.forced", `null`, kind.NoRisk},
		{"locations[/*]", `{"cache": {"edgeTTL": "1"}}`, kind.RiskAvailability},
		{"locations[/*]", `{"cache": {"edgeTTL": "1"}, "path": "/*"}`, kind.RiskServes},
		{"locations[/*].cache", `{"browserTTL": "1"}`, kind.RiskCost},
		{"locations[/*].cache", `{}`, kind.RiskServes},
		{"locations[/*].cache", `{"edgeTTL": "1", "other": null}`, kind.RiskServes},
		{"upstreams", `[{"servers": [{"weight": "1"}]}, {"scheme": "http"}]`, kind.RiskSecurity},
		{"upstreams", `[{"servers": []}]`, kind.RiskServes},
		{"locations[/*].cache.edgeTTL", `{"upstream": "a"}`, kind.RiskAvailability},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.value), &v); err != nil {
			t.Fatal(err)
		}
		if got := cdn.Spec().Places(c.path).RiskIn(v); got != c.want {
			t.Errorf("%s = %s is %q, want %q", c.path, c.value, got, c.want)
		}
	}
	for name, want := range map[string]kind.Risk{"CDN": kind.RiskServes, "Purge": kind.RiskCost, "VolumeSnapshot": kind.RiskAvailability} {
		if k, _ := kind.Named(name); k.Spec().Gravest() != want {
			t.Errorf("the gravest field of %s is %q", name, k.Spec().Gravest())
		}
	}
}
