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
	if fmt.Sprint(risks) != fmt.Sprint(want) || it.Risk != kind.RiskServes {
		t.Errorf("risks %v of %v, want %v", risks, it.Risk, want)
	}
	if s := w.make().Summary; s.Serves != 2 || s.Security != 1 {
		t.Errorf("summary %+v", s)
	}
	w.with(func(o *plan.Options) { o.Drift = plan.FailOnDrift }).has(shop, strings.Replace(live, `"1"}, r`, `"3"}, r`, 1))
	if p := w.make(); p.Items[0].Op != plan.Blocked || p.Summary.Serves != 0 || p.Items[0].Risk != kind.RiskServes {
		t.Errorf("nothing is sent of %+v, and %+v is counted", p.Items[0], p.Summary)
	}
	if d := plan.Drift(w.make()); len(d.Items) != 1 || d.Items[0].Risk != kind.RiskAvailability {
		t.Errorf("what drifted is %+v", d.Items)
	}
}

// TestRiskOfTheLastServer: an upstream whose servers all get weight 0 may serve nothing, in git and outside it.
func TestRiskOfTheLastServer(t *testing.T) {
	const two = `{hostname: h.example.com, locations: [{path: /*, upstream: a}], upstreams: [{name: a, servers: [{host: a.example.com, port: "443", weight: "A"}, {host: b.example.com, port: "443", weight: "B"}]}]}`
	with := func(a, b string) string { return strings.NewReplacer(`"A"`, a, `"B"`, b).Replace(two) }
	unused := func(spec string) string {
		return strings.Replace(spec, `upstream: a}], upstreams: [`, `upstream: b}], upstreams: [{name: b, servers: [{host: c.example.com, port: "443"}]}, `, 1)
	}
	for _, row := range []struct {
		from, to string
		want     kind.Risk
	}{
		{with(`"1"`, `"1"`), with(`"0"`, `"0"`), kind.RiskServes},
		{with(`"1"`, `"0"`), with(`"0"`, `"0"`), kind.RiskServes},
		{with(`"1"`, `"0"`), with(`"0"`, `"0"`), kind.RiskServes},
		{with(`"1"`, `"1"`), with(`"0"`, `"1"`), kind.RiskAvailability},
		{with(`"1"`, `"0"`), with(`"0"`, `"1"`), kind.RiskAvailability},
		{with(`"0"`, `"0"`), with(`"1"`, `"0"`), kind.RiskAvailability},
		{unused(with(`"1"`, `"1"`)), unused(with(`"0"`, `"0"`)), kind.RiskServes},
	} {
		if it := git(t, cdn("shop", row.to)).has(shop, row.from).applied(shop, row.from).item(shop); it.Op != plan.Patch || it.Risk != row.want {
			t.Errorf("%s → %s: %s of risk %q, want %q", row.from, row.to, it.Op, it.Risk, row.want)
		}
		drift := plan.Drift(git(t, cdn("shop", row.from)).has(shop, row.to).applied(shop, row.from).make())
		if drift.Items[0].Risk != max(row.want, kind.RiskAvailability) && row.want != kind.NoRisk {
			t.Errorf("drift from %s to %s is of risk %q, want %q", row.from, row.to, drift.Items[0].Risk, row.want)
		}
	}
}

// TestRiskOfOrder: another order of locations may serve other content, whatever the plan says of requests.
func TestRiskOfOrder(t *testing.T) {
	for _, row := range []struct {
		from, to string
		want     kind.Risk
	}{
		{`{path: /x*, cache: {edgeTTL: "1"}}, {path: /y*}`, `{path: /y*}, {path: /x*, cache: {edgeTTL: "1"}}`, kind.RiskServes},
		{`{path: /x*, cache: {edgeTTL: "1"}}, {path: /xy*}`, `{path: /xy*}, {path: /x*, cache: {edgeTTL: "1"}}`, kind.RiskServes},
		{`{path: /x*, cache: {edgeTTL: "1"}}, {path: /xy*, cache: {edgeTTL: "1"}}`, `{path: /xy*, cache: {edgeTTL: "1"}}, {path: /x*, cache: {edgeTTL: "1"}}`, kind.RiskServes},
		{`{path: /x*, note: a}, {path: /x*z*}`, `{path: /x*z*}, {path: /x*, note: a}`, kind.RiskServes}, // unclear which requests match
	} {
		live, desired := `{hostname: h.example.com, locations: [`+row.from+`]}`, `{hostname: h.example.com, locations: [`+row.to+`]}`
		it := git(t, cdn("shop", desired)).has(shop, live).applied(shop, live).item(shop)
		if it.Op != plan.Patch || it.Risk != row.want {
			t.Errorf("%s → %s: %s of risk %q, want %q", row.from, row.to, it.Op, it.Risk, row.want)
		}
	}
}

// TestRiskOfObjects has what is made, posted and deleted.
func TestRiskOfObjects(t *testing.T) {
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("/p%d", i))
	}
	w := served(t, cdn("new", `{hostname: new.example.com}`), snapshot("db", "data"),
		purge("some", `{hostname: shop.example.com, paths: [/a]}`),
		purge("all", `{hostname: shop.example.com, paths: [`+strings.Join(many, ", ")+`, /*]}`))
	p := w.make()
	for _, it := range p.Items {
		want, ok := map[string]kind.Risk{
			"CDN/new": kind.RiskServes, "VolumeSnapshot/db": kind.RiskAvailability, "Purge/some": kind.RiskCost, "Purge/all": kind.RiskAvailability,
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
	again, err := plan.Decode(file)
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
