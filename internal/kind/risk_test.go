package kind_test

import (
	"encoding/json"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// TestEveryDocumentedFieldHasARisk reads the schemas as JSON: each field of a spec has a last row about any change.
func TestEveryDocumentedFieldHasARisk(t *testing.T) {
	last := map[string]string{}
	for _, row := range kind.RiskRows() {
		if last[row.Kind+" "+row.Field] == "any" {
			t.Errorf("%s %s: no change reaches the row about %q", row.Kind, row.Field, row.Change)
		}
		if last[row.Kind+" "+row.Field] = row.Change; row.Reason == "" {
			t.Errorf("%s %s: no reason", row.Kind, row.Field)
		}
	}
	fields := 0
	for _, k := range kind.AllKinds() {
		var doc map[string]any
		text, _ := kind.SchemaNamed(k.Name)
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		defs, _ := doc["$defs"].(map[string]any)
		var each func(path string, schema any)
		each = func(path string, schema any) {
			node := schema.(map[string]any)
			if ref, ok := node["$ref"].(string); ok {
				node = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			}
			fields++
			if name := strings.TrimPrefix(path, "."); last[k.Name+" "+name] != "any" && last[k.Name+" "+path] != "any" {
				t.Errorf("%s %s has no row about any change", k.Name, name)
			}
			if items, ok := node["items"]; ok {
				each(path+"[]", items)
			}
			below, _ := node["properties"].(map[string]any)
			for name, field := range below {
				each(strings.TrimSuffix(path, ".")+"."+name, field)
			}
		}
		each(".", doc["properties"].(map[string]any)["spec"])
	}
	if fields < 80 {
		t.Errorf("only %d fields are looked at", fields)
	}
}

func TestRisksHaveNames(t *testing.T) {
	for _, r := range append(kind.Risks(), kind.NoRisk) {
		text, err := r.MarshalText()
		var back kind.Risk
		if err != nil || back.UnmarshalText(text) != nil || back != r || (r == kind.NoRisk) != (r.Meaning() == "") {
			t.Errorf("%q became %q, which means %q", r, back, r.Meaning())
		}
	}
	var r kind.Risk
	if err := r.UnmarshalText([]byte("high")); err == nil {
		t.Error("a risk of no name is read")
	}
	for name, want := range map[string]kind.Risk{"CDN": kind.RiskSecurity, "Purge": kind.RiskCost, "VolumeSnapshot": kind.RiskCost} {
		if k, _ := kind.FindKind(name); k.Spec().GravestRisk() != want {
			t.Errorf("the gravest field of %s is %q", name, k.Spec().GravestRisk())
		}
	}
}

// TestRiskOfChanges has changes of every sort. What the documents do not have is at least "serves".
func TestRiskOfChanges(t *testing.T) {
	const rule = `{"name":"bots","enabled":true,"constraints":[[{"type":"known_bots","known_bots":{"expected":"true","operator":"equals"}}]],"action":{"type":"ratelimit","ratelimit":{"algorithm":"sliding_window","rate":100}}}`
	const rate, ttl = "firewall.rules[bots].action.ratelimit.rate", "locations[/*].cache.edgeTTL"
	const browser = "locations[/*].cache.browserTTL"
	const specs = `{"firewall":{"rules":[{"name":"bots","action":{"type":"ratelimit"}},{"name":"office","action":{"type":"allow"}},{"name":"two"},{"name":"two"}]},
		"locations":[{"path":"/*","cache":{"ttlTimeUnit":"day"}}]}`
	spec := canon.MustDecode([]byte(specs))
	for _, tt := range []struct {
		path, before, after string
		want                kind.Risk
	}{
		{"hostname", `"a"`, `"b"`, kind.RiskServes},
		{"firewall.rules[bots]", `null`, rule, kind.RiskAvailability},
		{"firewall.rules[bots]", `null`, strings.Replace(rule, "100", "0", 1), kind.RiskServes},
		{"firewall.rules[bots]", `null`, strings.Replace(rule, "100", "1000000000", 1), kind.RiskSecurity},
		{"firewall.rules[bots]", rule, `null`, kind.RiskSecurity},
		{"firewall.rules[bots]", `null`, `{"name":"bots","action":{"type":"allow"}}`, kind.RiskServes},
		{"firewall.rules[bots]", `null`, `{"name":"bots","more":1}`, kind.RiskServes},
		{"firewall.rules[bots]", `null`, `{"name":"bots","more":null}`, kind.RiskServes},
		{"firewall.rules[bots].name", `"a"`, `"b"`, kind.NoRisk},
		{"firewall.rules[bots].enabled", `true`, `false`, kind.RiskSecurity},
		{"firewall.rules[bots].enabled", `false`, `true`, kind.RiskAvailability},
		{"firewall.rules[office].enabled", `false`, `true`, kind.RiskSecurity},
		{"firewall.rules[two].enabled", `false`, `true`, kind.RiskSecurity},
		{"firewall.rules[none].enabled", `false`, `true`, kind.RiskSecurity},
		{"firewall.rules[bots].action.type", `"ratelimit"`, `"bypass"`, kind.RiskServes},
		{"firewall.rules[r].action.challenge.seconds", `1`, `2`, kind.RiskServes},
		{"firewall.rules[0].constraints[0][1].type", `null`, `"known_bots"`, kind.RiskSecurity},
		{"firewall.rules[0].constraints[0][1].type", `null`, `"country"`, kind.RiskServes},
		{"firewall", `null`, `{"enabled":true,"rules":[` + rule + `]}`, kind.RiskAvailability},
		{"firewall", `null`, `{"enabled":false}`, kind.RiskSecurity},
		{"firewall.mode", `null`, `"on"`, kind.RiskServes},
		{rate, `100`, `50`, kind.RiskAvailability},
		{rate, `100`, `"50"`, kind.RiskAvailability},
		{rate, `100`, `0`, kind.RiskServes},
		{rate, `50`, `1000000000`, kind.RiskSecurity},
		{rate, `50`, `null`, kind.RiskSecurity},
		{rate, `null`, `50`, kind.RiskSecurity},
		{rate, `50`, `"many"`, kind.RiskServes},
		{rate, `50`, `{"per":"ip"}`, kind.RiskServes},
		{"tls", `null`, `{"enabled":"true","forced":"true"}`, kind.RiskAvailability},
		{"tls", `null`, `{"enabled":"true","forced":"false"}`, kind.RiskSecurity},
		{"tls.forced", `false`, `"true"`, kind.RiskAvailability},
		{"tls.forced", `"true"`, `null`, kind.RiskSecurity},
		{"tls.forced", `"true"`, `"maybe"`, kind.RiskServes},
		{"secureLink", `null`, `{"tokenName":"t","expireName":"e"}`, kind.RiskAvailability},
		{"secureLink", `{"tokenName":"t","expireName":"e"}`, `null`, kind.RiskSecurity},
		{"secureLink.tokenName", `"t"`, `"u"`, kind.RiskSecurity},
		{"locations[/*].cors", `{"enabled":"true"}`, `null`, kind.RiskAvailability},
		{"locations[/*].cors", `null`, `{"enabled":"true"}`, kind.RiskSecurity},
		{"locations[/*].upstream", `"a"`, `"b"`, kind.RiskServes},
		{"locations[/*].headers.X", `null`, `"b"`, kind.RiskSecurity},
		{`locations[/*].headers["X.Y"]`, `"a"`, `null`, kind.RiskSecurity},
		{"locations[/*].headers.X", `null`, `{"a": 1}`, kind.RiskServes},
		{"locations[/*].rewrite.to[0].host", `null`, `"b"`, kind.RiskServes},
		{"fallbackUpstream", `"a"`, `"b"`, kind.RiskServes},
		{ttl, `"60"`, `"300"`, kind.RiskAvailability},
		{"locations[/x].cache.edgeTTL", `"0"`, `"31536000"`, kind.RiskSecurity},
		{ttl, `"0"`, `"31536000"`, kind.RiskSecurity}, // days
		{ttl, `"60"`, `"400"`, kind.RiskServes},       // days
		{ttl, `"60"`, `"long"`, kind.RiskServes},
		{ttl + ".x", `1`, `2`, kind.RiskServes},
		{ttl, `"1"`, `{"upstream":"a"}`, kind.RiskServes},
		{browser, `"5"`, `"6"`, kind.RiskCost},
		{browser, `"5"`, `"365"`, kind.RiskServes}, // days
		{browser, `"365"`, `"5"`, kind.RiskCost},
		{"locations[/x].cache.browserTTL", `"60"`, `"31536000"`, kind.RiskServes},
		{"locations[/*].cache.ttlTimeUnit", `"second"`, `"day"`, kind.RiskServes},
		{"locations[/*].cache.keys", `null`, `"a"`, kind.RiskServes},
		{"locations[/*].cache", `null`, `{"browserTTL":"1"}`, kind.RiskCost},
		{"locations[/*].cache", `null`, `{"browserTTL":"31536000"}`, kind.RiskServes},
		{"locations[/*].cache", `null`, `{"browserTTL":"60","ttlTimeUnit":"day"}`, kind.RiskServes},
		{"locations[/*].cache", `{"edgeTTL":"60","browserTTL":"1"}`, `{"edgeTTL":"60","browserTTL":"2"}`, kind.RiskCost},
		{"locations[/*].cache", `null`, `{}`, kind.RiskServes},
		{"upstreams[a].servers[b:1].weight", `"2"`, `"1"`, kind.RiskAvailability},
		{"upstreams[a].servers[b:1].weight", `"2"`, `"0"`, kind.RiskServes},
		{"upstreams[a].servers[b:1].weight", `"2"`, `"-1"`, kind.RiskServes},
		{"upstreams[a].servers[b:1].tls.verify", `null`, `true`, kind.RiskServes},
		{"upstreams[a].hc2.protocol", `"tcp"`, `"http"`, kind.RiskServes},
		{"upstreams", `null`, `[{"servers":[{"weight":"1"}]},{"scheme":"http"}]`, kind.RiskSecurity},
		{"upstreams", `null`, `[{"servers":[]}]`, kind.RiskServes},
		// Paths that can't be read.
		{"locations[/x].cache.edgeTTL].upstream", `"1"`, `"2"`, kind.RiskServes},
		{"locations[" + strings.Repeat("]", 500) + ".cache.edgeTTL", `"1"`, `"2"`, kind.RiskServes},
		{"tls[", `"1"`, `"2"`, kind.RiskServes},
		{"[a", `"1"`, `"2"`, kind.RiskServes},
	} {
		k, _ := kind.FindKind("CDN")
		before, after := canon.MustDecode([]byte(tt.before)), canon.MustDecode([]byte(tt.after))
		if got := k.Spec().FindField(tt.path).RiskRowOf(before, after, k.Spec().ObjectWith(tt.path, spec)).Risk; got != tt.want {
			t.Errorf("%s: %s -> %s is %s, want %s", tt.path, tt.before, tt.after, got, tt.want)
		}
	}
}
