package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// TestWithin is docs/design.md 0.23: what is planned again right before a write may do
// less than what was shown, never more.
func TestWithin(t *testing.T) {
	const (
		want = `{hostname: shop.example.com, tls: {forced: "true", enabled: "true"},
			upstreams: [{name: o, scheme: https, servers: [{host: s, port: "443", weight: "1"}]}],
			firewall: {enabled: true, rules: [{name: a, enabled: true, constraints: [[{type: known_bots, known_bots: {}}]]}]}}`
		live = `{hostname: shop.example.com, tls: {forced: "false", enabled: "false", auto: "true"}, secureLink: {tokenName: t},
			upstreams: [{name: o, scheme: https, note: kept, servers: [{host: s, port: "443", weight: "2"}]}],
			firewall: {enabled: true, rules: [{name: a, enabled: false, constraints: [[{type: known_bots, known_bots: {}, lost: 1}]]}]}}`
		before = `{hostname: shop.example.com, secureLink: {tokenName: t}, upstreams: [], firewall: {rules: []}}`
	)
	planner := plan.NewPlanner(git(t, cdn("shop", want)).has(shop, live).applied(shop, before).in)
	p, _ := planner.MakePlan()
	shown := find(t, p, shop)
	if shown.Op != plan.Patch || len(shown.Preserved) != 1 || len(shown.Collateral) != 1 || len(shown.Lists) != 2 {
		t.Fatalf("%s: %v, kept %v", shown.Op, shown.Changes, shown.Preserved)
	}
	for name, tt := range map[string]struct {
		old, new string
		want     bool
	}{
		"nothing changed":                 {"", "", true},
		"an unmanaged field changed":      {`auto: "true"`, `auto: "false"`, true},
		"an unmanaged field came":         {`auto: "true"`, `auto: "true", x: y`, true},
		"one field is in sync now":        {`enabled: "false"`, `enabled: "true"`, true},
		"the list is in sync now":         {`weight: "2"`, `weight: "1"`, true},
		"what git removed is gone":        {`secureLink: {tokenName: t},`, ``, true},
		"a managed field changed":         {`enabled: "false"`, `enabled: other`, false},
		"a managed field went":            {`enabled: "false", `, ``, false},
		"what git removes changed":        {`tokenName: t`, `tokenName: u`, false},
		"more goes with what git removes": {`{tokenName: t}`, `{tokenName: t, x: 1}`, false},
		"an element changed":              {`weight: "2"`, `weight: "3"`, false},
		"an element came":                 {`upstreams: [`, `upstreams: [{name: x}, `, false},
		"the element went":                {`servers: [{host: s, port: "443", weight: "2"}]`, `servers: []`, false},
		"a kept field changed":            {`note: kept`, `note: other`, false},
		"a kept field came":               {`note: kept`, `note: kept, x: y`, false},
		"what gets lost changed":          {`lost: 1`, `lost: 2`, false},
		"more gets lost":                  {`lost: 1`, `lost: 1, more: 1`, false},
		"less gets lost":                  {`, lost: 1`, ``, true},
		"a kept field went":               {`note: kept, `, ``, true},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(live, tt.old) {
				t.Fatal("the case changes nothing")
			}
			obj := object(t, shop, strings.Replace(live, tt.old, tt.new, 1))
			now, findings := planner.ReplanItem(key(t, shop), &obj)
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			if plan.IsCoveredBy(now, shown) != tt.want {
				t.Errorf("within: %v\nnow %v\nshown %v", !tt.want, now.Changes, shown.Changes)
			}
		})
	}
}

func TestNotWithin(t *testing.T) {
	const want, live = `{hostname: shop.example.com, tls: {forced: "true"}}`, `{hostname: shop.example.com}`
	planner := plan.NewPlanner(git(t, cdn("shop", want)).has(shop, live).in)
	p, _ := planner.MakePlan()
	for name, change := range map[string]func(*kind.LiveObject){"terminating": terminating, "without a spec": bare} {
		obj := object(t, shop, live, change)
		if now, _ := planner.ReplanItem(key(t, shop), &obj); plan.IsCoveredBy(now, find(t, p, shop)) {
			t.Errorf("%s: %s", name, now.Op)
		}
	}
	if now, _ := planner.ReplanItem(key(t, shop), nil); plan.IsCoveredBy(now, find(t, p, shop)) {
		t.Errorf("gone: %s", now.Op)
	}
	obj := object(t, shop, want)
	if now, _ := planner.ReplanItem(key(t, shop), &obj); now.Op != plan.None || !plan.IsCoveredBy(now, find(t, p, shop)) {
		t.Errorf("in sync: %s", now.Op)
	}
}

// TestANullThatAListDropsHasALine: only live has it, and no list that is sent.
func TestANullThatAListDropsHasALine(t *testing.T) {
	spec := func(scheme, more, element string) string {
		return fmt.Sprintf(`{hostname: h.example.com, upstreams: [{name: o, scheme: %s%s}%s]}`, scheme, more, element)
	}
	it := git(t, cdn("shop", spec("http", "", ""))).has(shop, spec("https", ", note: null", ", null")).applied(shop, spec("https", "", "")).item(shop)
	var lost []string
	for _, v := range it.Collateral {
		lost = append(lost, fmt.Sprint(v.Path, " ", v.Value))
	}
	if want := []string{"upstreams[1] <nil>", "upstreams[o].note <nil>"}; !slices.Equal(lost, want) {
		t.Errorf("%q, want %q", lost, want)
	}
	if it.Op != plan.Patch {
		t.Errorf("%s: %s", it.Op, it.Reason)
	}
	if it = git(t, cdn("shop", spec("https", "", ""))).has(shop, spec("https", ", note: null", ", null")).applied(shop, spec("https", "", "")).item(shop); it.Op != plan.None {
		t.Errorf("%s without a change", it.Op)
	}
}
