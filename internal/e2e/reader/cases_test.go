package reader

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/report"
)

func changed(path string, before, after any) plan.Change {
	return plan.Change{Difference: merge.Difference{Path: path, Class: merge.Changed, Live: before, Desired: after}, Cause: plan.FromThisChange}
}

// rules are changes of one field of many rules, the last of which has a name that matters.
func rules(n int, last string) (found []plan.Change) {
	for i := range n - 1 {
		found = append(found, changed(fmt.Sprintf("firewall.rules[limit-%d].enabled", i), "true", "false"))
	}
	return append(found, changed("firewall.rules["+last+"].enabled", "true", "false"))
}

// hidingPlaces are changes that were out of sight.
func hidingPlaces(t *rapid.T) map[string][]plan.Item {
	d := &draws{t: t}
	var six []plan.Item
	for i := range 6 {
		six = append(six, d.cdn(rules(20, fmt.Sprintf("last-of-%d", i))...))
	}
	purge := d.purge()
	var paths []string
	for i := range 590 {
		paths = append(paths, fmt.Sprintf("/image-%d.png", i))
	}
	paths = append(paths, "/api*", "/checkout*", "/*")
	purge.Purge = &plan.PurgeInfo{Hostname: "shop.example.com", Paths: 590, Prefixes: 3, Everything: true, Sample: paths[:10]}
	purge.Request = d.request("POST", map[string]any{"hostname": "shop.example.com", "paths": paths})
	long := map[string]any{"name": "allow-all", "enabled": "true", "action": map[string]any{"type": "allow"}}
	for i := range 60 {
		long[fmt.Sprintf("a%d", i)] = strings.Repeat("v", 40)
	}
	long["z"] = "v1qz-the-last-fieldqw1"
	begin := strings.Repeat("default-src https://shop.example.com; ", 30)
	return map[string][]plan.Item{
		"the last of twenty rules":          {d.cdn(rules(20, "login-bruteforce")...)},
		"the last of 200 rules":             {d.cdn(rules(200, "login-bruteforce")...)},
		"six CDNs whose last rules differ":  six,
		"400 spaces":                        {d.cdn(changed("locations[/*].cors.allowOrigins", "v1qhttps://shop.example.comqw1", "v1qhttps://shop.example.com"+strings.Repeat(" ", 400)+"https://evil.exampleqw2"))},
		"a long equal beginning":            {d.cdn(changed("locations[/*].headers.csp", "v1q"+begin+"qw1", "v1q"+begin+"qw2"))},
		"prefixes behind 590 files, and /*": {purge},
		"a long rule":                       {d.cdn(changed("firewall.rules[allow-all]", nil, long))},
		"what makes an origin unreachable":  {d.cdn(changed("upstreams[o].smartRouting", "v1qtrueqw1", "v1qfalseqw2"))},
	}
}

// TestHidingPlaces has each way in which a change was out of sight, in each format.
func TestHidingPlaces(t *testing.T) {
	cases := map[string][]plan.Item{}
	rapid.MakeCheck(func(rt *rapid.T) { cases = hidingPlaces(rt) })(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		for _, format := range slices.Sorted(maps.Keys(formats)) {
			t.Run(name+"/"+format, func(t *testing.T) {
				pl := &plan.Plan{Format: plan.Format, Items: cases[name]}
				pl.WeighRisks()
				lost := unseen(formats[format](t, write(t, format, pl, report.FormatOptions{Width: 80})), factsOf(pl))
				for unit, want := range lost {
					t.Errorf("%s: not seen: %s", unit, want)
				}
			})
		}
	}
}
