package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// drawSpec draws a small spec of a CDN, as people write it or as a server may
// answer it.
func drawSpec(t *rapid.T, label string, live bool) string {
	one := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, "")).Draw(t, label+" "+name)
	}
	fields := []string{"hostname: shop.example.com"}
	for _, f := range []string{
		one("tls", `tls: {forced: "true"}`, `tls: {forced: "false", auto: "true"}`, `tls: {}`),
		one("link", `secureLink: {tokenName: a}`, `secureLink: {tokenName: b, expireName: c}`),
	} {
		if f != "" {
			fields = append(fields, f)
		}
	}
	extra := ""
	if live {
		fields = append(fields, "unmanaged: {a: [1, 2]}")
		extra = one("extra", ", note: kept")
	}
	var ups, locs []string
	for _, name := range rapid.Permutation([]string{"a", "b", "c"}).Draw(t, label+" upstreams")[:rapid.IntRange(0, 3).Draw(t, label+" how many")] {
		weight := rapid.SampledFrom([]string{`"1"`, `"2"`}).Draw(t, label+" weight")
		ups = append(ups, fmt.Sprintf(`{name: %s, scheme: https, servers: [{host: s, port: "443", weight: %s}]%s}`, name, weight, extra))
		locs = append(locs, fmt.Sprintf(`{path: /%s, upstream: %s%s}`, name, name, extra))
	}
	if len(ups) > 0 || live {
		fields = append(fields, "upstreams: ["+strings.Join(ups, ", ")+"]", "locations: ["+strings.Join(locs, ", ")+"]")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// TestAPatchIsSentOnce: after the planned patch, and with the spec recorded,
// there is nothing left to do; and what is shown covers what is sent.
func TestAPatchIsSentOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, have := drawSpec(t, "git", false), drawSpec(t, "live", true)
		w := git(t, cdn("shop", want)).has(shop, have).with(func(o *plan.Options) { o.TakeOver = allow(t, shop) })
		if rapid.Bool().Draw(t, "recorded") {
			w.applied(shop, drawSpec(t, "applied", false))
		}
		it := w.item(shop)
		if it.Op == plan.None {
			if !it.Record && w.in.Ledger.Records[it.Key].Applied == nil {
				t.Fatalf("nothing is recorded")
			}
			return
		}
		if it.Op != plan.Patch || len(it.Changes) == 0 || !plan.IsCoveredBy(it, it) {
			t.Fatalf("%s: %v", it.Op, it.Changes)
		}
		after := effect.ApplyPatch(body(t, it)["spec"], tree(t, have))
		if got := after.(map[string]any)["unmanaged"]; got == nil {
			t.Fatalf("what git does not mention went: %s", canon.Encode(after))
		}
		w.has(shop, string(canon.Encode(after))).applied(shop, want)
		w.with(func(o *plan.Options) { o.TakeOver = nil })
		if again := w.item(shop); again.Op != plan.None || again.Record {
			t.Fatalf("again: %s %v", again.Op, again.Changes)
		}
	})
}

// TestFirstContactLosesNothing: without a record and without a person's word no
// live element of a list goes.
func TestFirstContactLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := drawSpec(t, "live", true)
		w := git(t, cdn("shop", drawSpec(t, "git", false))).has(shop, have)
		it := w.item(shop)
		if it.Op != plan.Patch {
			return
		}
		after := effect.ApplyPatch(body(t, it)["spec"], tree(t, have)).(map[string]any)
		for _, list := range []string{"upstreams", "locations"} {
			for _, e := range tree(t, have).(map[string]any)[list].([]any) {
				if !holds(after[list].([]any), e.(map[string]any)) {
					t.Fatalf("%s lost %s", list, canon.Encode(e))
				}
			}
		}
	})
}

func holds(list []any, e map[string]any) bool {
	for _, o := range list {
		m := o.(map[string]any)
		if m["name"] == e["name"] && m["path"] == e["path"] && m["note"] == e["note"] {
			return true
		}
	}
	return false
}

// BenchmarkRemake: planning one object again costs the same in a set of any
// size.
func BenchmarkRemake(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			documents := make([]string, n)
			for i := range documents {
				documents[i] = cdn(fmt.Sprintf("c%d", i), fmt.Sprintf(`{hostname: c%d.example.com, tls: {forced: "true"}}`, i))
			}
			planner := plan.NewPlanner(git(b, documents...).in)
			obj := object(b, "CDN/c7", `{hostname: c7.example.com, tls: {forced: "false"}}`)
			for b.Loop() {
				planner.ReplanItem(kind.Key{Kind: "CDN", Name: "c7"}, &obj)
			}
		})
	}
}
