package kind_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// TestEveryFieldSaysItsRisk: no documented field inherits what is at stake by
// oversight.
func TestEveryFieldSaysItsRisk(t *testing.T) {
	for _, k := range kind.All() {
		var doc map[string]any
		if err := json.Unmarshal(k.Schema(), &doc); err != nil {
			t.Fatal(err)
		}
		defs, _ := doc["$defs"].(map[string]any)
		fields := 0
		var each func(path string, schema any)
		each = func(path string, schema any) {
			node := maps.Clone(schema.(map[string]any))
			if ref, ok := node["$ref"].(string); ok {
				for name, v := range defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any) {
					if _, own := node[name]; !own {
						node[name] = v
					}
				}
			}
			fields++
			name, said := node["x-trueup-risk"].(string)
			if !said || new(kind.Risk).UnmarshalText([]byte(name)) != nil {
				t.Errorf("%s: %s says no risk: %q", k.Name, path, name)
			}
			if items, ok := node["items"]; ok {
				each(path+"[]", items)
			}
			below, _ := node["properties"].(map[string]any)
			for name, field := range below {
				each(path+"."+name, field)
			}
		}
		each("spec", doc["properties"].(map[string]any)["spec"])
		if fields < 4 {
			t.Errorf("%s: only %d fields are looked at", k.Name, fields)
		}
	}
}

// TestRisksOfFields has the fields that decide where visitors end up, and what no
// schema knows.
func TestRisksOfFields(t *testing.T) {
	for path, want := range map[string]kind.Risk{
		"hostname": kind.RiskServes, "locations.rewrite": kind.RiskServes, "upstreams.servers.host": kind.RiskServes,
		"upstreams.scheme": kind.RiskSecurity, "locations.cors.allowOrigins": kind.RiskSecurity, "firewall.rules.constraints": kind.RiskSecurity,
		"firewall.rules.name":      kind.NoRisk,
		"upstreams.servers.weight": kind.RiskAvailability, "locations.cache.browserTTL": kind.RiskCost,
	} {
		if f := at(t, "CDN", "spec."+path); f.Risk != want {
			t.Errorf("%s is %q, want %q", path, f.Risk, want)
		}
	}
	cdn, _ := kind.Named("CDN")
	if r := cdn.Root().Fields["metadata"].Risk; r != kind.NoRisk || r.Grave() {
		t.Errorf("metadata is %q", r)
	}
	for _, r := range append(kind.Risks(), kind.NoRisk) {
		text, err := r.MarshalText()
		var back kind.Risk
		if err != nil || back.UnmarshalText(text) != nil || back != r || (r == kind.NoRisk) != (r.Meaning() == "") {
			t.Errorf("%q became %q, which means %q", r, back, r.Meaning())
		}
	}
	var r kind.Risk
	if err := r.UnmarshalText([]byte("none")); err == nil {
		t.Error("a risk of no name is read")
	}
}
