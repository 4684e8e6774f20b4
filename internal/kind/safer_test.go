package kind_test

import (
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// TestRiskOfMoreProtection: more protection exposes nothing; less, or what nobody can tell, may.
func TestRiskOfMoreProtection(t *testing.T) {
	const rule = `{"name":"bots","enabled":true,"constraints":[[{"type":"known_bots","known_bots":{"expected":"true","operator":"equals"}}]],"action":{"type":"ratelimit","ratelimit":{"algorithm":"sliding_window","rate":100}}}`
	const rate = "firewall.rules[bots].action.ratelimit.rate"
	for _, tt := range []struct {
		path, before, after string
		want                kind.Risk
	}{
		{"firewall.rules[bots]", `null`, rule, kind.RiskAvailability},
		{"firewall.rules[bots]", rule, `null`, kind.RiskSecurity},
		{"firewall.rules[bots]", `null`, `{"name":"bots","action":{"type":"allow"}}`, kind.RiskSecurity},
		{"firewall.rules[bots]", `null`, `{"name":"bots","more":1}`, kind.RiskSecurity},
		{"firewall.rules[bots].enabled", `true`, `false`, kind.RiskSecurity},
		{"firewall.rules[bots].enabled", `false`, `true`, kind.RiskAvailability},
		{"firewall", `null`, `{"enabled":true,"rules":[` + rule + `]}`, kind.RiskAvailability},
		{"firewall", `null`, `{"enabled":false}`, kind.RiskSecurity},
		{"firewall.mode", `null`, `"on"`, kind.RiskSecurity},
		{rate, `100`, `50`, kind.RiskAvailability},
		{rate, `100`, `"50"`, kind.RiskAvailability},
		{rate, `50`, `100`, kind.RiskSecurity},
		{rate, `50`, `null`, kind.RiskSecurity},
		{rate, `null`, `50`, kind.RiskSecurity},
		{"tls", `null`, `{"enabled":"true","forced":"true"}`, kind.RiskAvailability},
		{"tls", `null`, `{"enabled":"true","forced":"false"}`, kind.RiskSecurity},
		{"tls.forced", `false`, `"true"`, kind.RiskAvailability},
		{"tls.forced", `"true"`, `null`, kind.RiskSecurity},
		{"secureLink", `null`, `{"tokenName":"t","expireName":"e"}`, kind.RiskAvailability},
		{"secureLink.tokenName", `"t"`, `"u"`, kind.RiskSecurity},
		{"locations[/*].cors", `{"enabled":"true"}`, `null`, kind.RiskAvailability},
		{"locations[/*].cors", `null`, `{"enabled":"true"}`, kind.RiskSecurity},
		{"locations[/*].upstream", `"a"`, `"b"`, kind.RiskServes},
	} {
		k, _ := kind.Named("CDN")
		before, after := canon.MustDecode([]byte(tt.before)), canon.MustDecode([]byte(tt.after))
		if got := k.Spec().Places(tt.path).RiskOf(before, after); got != tt.want {
			t.Errorf("%s: %s -> %s is %s, want %s", tt.path, tt.before, tt.after, got, tt.want)
		}
	}
}
