package plan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// TestRiskOfLines: each line and object says what is at stake, also below fields
// that no schema knows, and the lines of the first two risks are counted.
func TestRiskOfLines(t *testing.T) {
	const live = `{hostname: h.example.com, tls: {forced: "true"}, upstreams: [{name: a, servers: [{host: a.example.com, weight: "1"}]}],
		locations: [{path: /x, cache: {edgeTTL: "1"}, rewrite: {to: /y}}]}`
	w := git(t, cdn("shop", strings.NewReplacer(`"1"}]}]`, `"2"}], note: b}]`, `"true"`, `"false"`, `"1"}, rewrite: {to: /y}`, `"2"}`).Replace(live))).
		has(shop, live).applied(shop, live)
	it := w.item(shop)
	risks := map[string]kind.Risk{}
	for _, c := range it.Changes {
		risks[c.Path] = c.Risk
	}
	want := map[string]kind.Risk{
		"tls.forced": kind.RiskSecurity, "locations[/x].cache.edgeTTL": kind.RiskAvailability, "locations[/x].rewrite": kind.RiskServes,
		"upstreams[a].note": kind.RiskServes, "upstreams[a].servers[a.example.com].weight": kind.RiskAvailability,
	}
	if fmt.Sprint(risks) != fmt.Sprint(want) || it.Risk != kind.RiskSecurity {
		t.Errorf("risks %v of %v, want %v", risks, it.Risk, want)
	}
	if s := w.make().Summary; s.Serves != 2 || s.Security != 1 {
		t.Errorf("summary %+v", s)
	}
	w.with(func(o *plan.Options) { o.Drift = plan.FailOnDrift }).has(shop, strings.Replace(live, `"1"}, r`, `"3"}, r`, 1))
	if p := w.make(); p.Items[0].Op != plan.Blocked || p.Summary.Serves != 0 || p.Items[0].Risk != kind.RiskSecurity {
		t.Errorf("nothing is sent of %+v, and %+v is counted", p.Items[0], p.Summary)
	}
	if d := plan.NarrowToDrift(w.make()); len(d.Items) != 2 || d.Items[0].Risk != kind.RiskAvailability || !d.Items[1].Waits {
		t.Errorf("what drifted is %+v", d.Items)
	}
}

// TestNoRequestChanges holds that a proof of equal requests never lowers the class of a change.
func TestNoRequestChanges(t *testing.T) {
	const servers = `{hostname: h.example.com, fallbackUpstream: old, locations: [{path: /x*, upstream: a}, {path: /y*, upstream: a}],
  upstreams: [{name: a, servers: [{host: a.example.com, port: "443", weight: "1"}]}, {name: old, servers: [{host: o.example.com, port: "443", weight: "1"}]}]}`
	for _, row := range []struct{ from, to string }{
		{`{path: /x*, upstream: a}, {path: /y*, upstream: a}`, `{path: /y*, upstream: a}, {path: /x*, upstream: a}`},
		{`host: o.example.com`, `host: evil.example.com`}, // fallbackUpstream may name it
		{`host: o.example.com, port: "443", weight: "1"`, `host: o.example.com, port: "443", weight: "0"`},
	} {
		to := strings.Replace(servers, row.from, row.to, 1)
		w := git(t, cdn("shop", to)).has(shop, servers).applied(shop, servers)
		it, requests := w.item(shop), w.make().Requests
		drift := plan.NarrowToDrift(git(t, cdn("shop", servers)).has(shop, to).applied(shop, servers).make())
		if it.Op != plan.Patch || it.Risk != kind.RiskServes || len(requests) != 0 || drift.Items[0].Risk != kind.RiskServes {
			t.Errorf("%s → %s: %s of risk %q, as drift %q; %+v", row.from, row.to, it.Op, it.Risk, drift.Items[0].Risk, requests)
		}
	}
}

// TestRiskOfObjects has what is made, posted and deleted.
func TestRiskOfObjects(t *testing.T) {
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("/p%d", i))
	}
	w := servingCDN(t, cdn("new", `{hostname: new.example.com}`), snapshot("db", "data"),
		purge("some", `{hostname: shop.example.com, paths: [/a]}`),
		purge("all", `{hostname: shop.example.com, paths: [`+strings.Join(many, ", ")+`, /*]}`))
	p := w.make()
	for _, it := range p.Items {
		want, ok := map[string]kind.Risk{
			"CDN/new": kind.RiskServes, "VolumeSnapshot/db": kind.RiskCost, "Purge/some": kind.RiskCost, "Purge/all": kind.RiskAvailability,
		}[it.String()]
		if ok && it.Risk != want {
			t.Errorf("%s is %q, want %q", it.String(), it.Risk, want)
		}
	}
	if p.Summary.Serves != 1 || p.Summary.Security != 0 {
		t.Errorf("summary %+v", p.Summary)
	}
}

// TestRiskIsNotAsserted: what follows from the schema is no part of the digest,
// and a file has no say in it.
func TestRiskIsNotAsserted(t *testing.T) {
	made := one(t).make()
	said, graves := made.Assertion(), 0
	file := sealed(t, fileOf(t, made), func(tree map[string]any) {
		for _, it := range tree["items"].([]any) {
			item := it.(map[string]any)
			item["risk"] = "cost"
			for _, c := range item["changes"].([]any) {
				delete(c.(map[string]any), "risk")
			}
		}
	})
	again, err := plan.DecodePlan(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range again.Items {
		if it.Risk != made.Items[i].Risk || it.Risk == kind.NoRisk {
			t.Errorf("%s is %q in the file, and was %q", it.String(), it.Risk, made.Items[i].Risk)
		}
		for j, c := range it.Changes {
			graves += int(c.Risk)
			if c.Risk != made.Items[i].Changes[j].Risk {
				t.Errorf("%s is %q in the file", c.Path, c.Risk)
			}
		}
	}
	if !bytes.Equal(again.Assertion(), said) || graves == 0 {
		t.Errorf("%s", said)
	}
}
