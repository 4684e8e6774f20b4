package plan_test

import (
	"slices"
	"testing"

	"trueup/internal/plan"
)

// TestOverrides: what a project says of its server reaches the comparison
// (docs/design.md 0.20).
func TestOverrides(t *testing.T) {
	const (
		none  = ""
		patch = "patch"
	)
	list := func(spec string) string {
		return `{hostname: shop.example.com, upstreams: [{name: o, scheme: https, ` + spec + `}]}`
	}
	deep := func(value string) string {
		return `{hostname: shop.example.com, firewall: {enabled: true, rules: [{name: a, enabled: true,
			constraints: [[{type: known_bots, known_bots: {expected: ` + value + `, operator: equals}}]]}]}}`
	}
	locations := func(first, second string) string {
		return `{hostname: shop.example.com, upstreams: [{name: o, scheme: https}],
			locations: [{path: ` + first + `, upstream: o}, {path: ` + second + `, upstream: o}]}`
	}
	top := func(more string) string { return `{hostname: shop.example.com, ` + more + `}` }
	for _, tt := range []struct {
		name, git, live string
		override        plan.Override
		// before and after are what happens without and with it.
		before, after string
	}{
		{"ignore", top(`tls: {forced: "true"}`), top(`tls: {forced: "false"}`), plan.Override{Path: "spec.tls.forced", Ignore: true}, patch, none},
		{"ignore, in any case", top(`tls: {forced: "true"}`), top(`tls: {forced: "false"}`), plan.Override{Kind: "cdn", Path: "tls.forced", Ignore: true}, patch, none},
		{"of another kind", top(`tls: {forced: "true"}`), top(`tls: {forced: "false"}`), plan.Override{Kind: "Purge", Path: "spec.tls.forced", Ignore: true}, patch, patch},
		{"of another path", top(`tls: {forced: "true"}`), top(`tls: {forced: "false"}`), plan.Override{Path: "spec.tls.enabled", Ignore: true}, patch, patch},
		{"readonly", top(`tls: {forced: "true"}`), top(`tls: {}`), plan.Override{Path: "spec.tls.forced", ReadOnly: true}, patch, none},
		{"within a list", list(`smartRouting: "true"`), list(`smartRouting: "false"`), plan.Override{Path: "spec.upstreams.smartRouting", Ignore: true}, patch, none},
		{"within a list, written as one", list(`smartRouting: "true"`), list(`smartRouting: "false"`), plan.Override{Path: "spec.upstreams[].smartRouting", Ignore: true}, patch, none},
		{"within a list of a list", list(`servers: [{host: s, port: "1", weight: "1"}]`), list(`servers: [{host: s, port: "1", weight: "2"}]`), plan.Override{Path: "spec.upstreams[*].servers[*].weight", Ignore: true}, patch, none},
		{"within a list in a list", deep(`"true"`), deep(`"false"`), plan.Override{Path: "spec.firewall.rules.constraints.known_bots.expected", Ignore: true}, patch, none},
		{"a field the schema has not", top(`new: {thing: 1}`), top(`new: {thing: 2}`), plan.Override{Path: "spec.new.thing", Ignore: true}, patch, none},
		{"order: set", locations("/a", "/b"), locations("/b", "/a"), plan.Override{Path: "spec.locations", Order: "set"}, patch, none},
		{"order: ordered", list(`servers: [{host: a, port: "1"}, {host: b, port: "1"}]`), list(`servers: [{host: b, port: "1"}, {host: a, port: "1"}]`), plan.Override{Path: "spec.upstreams.servers", Order: "ordered"}, none, patch},
		{"key", top(`new: [{id: a, x: 1}, {id: b}]`), top(`new: [{id: b}, {id: a, x: 1}]`), plan.Override{Path: "spec.new", Key: []string{"id"}, Order: "set"}, patch, none},
		{
			"key: [] of a set", list(`servers: [{host: a, port: "1"}, {host: b, port: "1"}]`), list(`servers: [{host: b, port: "1"}, {host: a, port: "1"}]`),
			plan.Override{Path: "spec.upstreams.servers", Key: []string{}},
			none, patch,
		},
		{
			"key: [] of a list with gaps in its keys", locations("/a", "/b"), locations("/b", "/a"), plan.Override{Path: "spec.locations", Key: []string{}}, patch, patch,
		},
		{"type: number", list(`servers: [{host: s, port: "1", weight: "10"}]`), list(`servers: [{host: s, port: "1", weight: "10.0"}]`), plan.Override{Path: "spec.upstreams.servers.weight", Type: "number"}, patch, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, want := range []string{tt.before, tt.after} {
				w := git(t, cdn("shop", tt.git)).has(shop, tt.live).applied(shop, tt.git)
				if tt.override.Kind == "" {
					tt.override.Kind = "CDN"
				}
				if i == 1 {
					w.overriding(tt.override)
				}
				if it := w.item(shop); (it.Op == plan.Patch) != (want == patch) {
					t.Errorf("with %d overrides: %s %v", i, it.Op, it.Changes)
				}
			}
		})
	}
}

// TestTypesOfOverrides: a documented type is that in which kept fields are sent.
func TestTypesOfOverrides(t *testing.T) {
	of := func(port, weight string) string {
		return `{hostname: shop.example.com, upstreams: [{name: o, scheme: https, servers: [{host: s, port: "` + port + `", new: ` + weight + `}]}]}`
	}
	for name, want := range map[string]any{"text": "true", "boolean": true} {
		it := git(t, cdn("shop", `{hostname: shop.example.com, upstreams: [{name: o, scheme: http, servers: [{host: s, port: "1"}]}]}`)).
			has(shop, of("1", "true")).
			overriding(plan.Override{Kind: "CDN", Path: "spec.upstreams.servers.new", Type: name}).item(shop)
		same(t, name, body(t, it), map[string]any{"spec": map[string]any{"upstreams": []any{map[string]any{
			"name": "o", "scheme": "http", "servers": []any{map[string]any{"host": "s", "port": "1", "new": want}},
		}}}})
	}
}

// TestOverridesStayWithTheirPlan: the kinds' schemas are shared.
func TestOverridesStayWithTheirPlan(t *testing.T) {
	k := kindOf(t, "CDN")
	plan.RulesFor(k, []plan.Override{{Kind: "CDN", Path: "spec.locations", Order: "set", Ignore: true, Key: []string{"x"}}})
	if r := plan.RulesFor(k, nil).Fields["locations"]; r.Set || r.Ignore || len(r.Key) != 2 {
		t.Errorf("rules %+v", r)
	}
}

// TestAnEmptyKeyPairsByPosition: what is shown as changed is the element at that
// place, and in the digest of a plan it is another override than one without a key.
func TestAnEmptyKeyPairsByPosition(t *testing.T) {
	servers := func(first, second string) string {
		return `{hostname: shop.example.com, upstreams: [{name: o, servers: [{host: ` + first + `, port: "1"}, {host: ` + second + `, port: "1"}]}]}`
	}
	digests := map[string]bool{}
	for _, key := range [][]string{nil, {}} {
		w := git(t, cdn("shop", servers("a", "b"))).has(shop, servers("a", "c")).applied(shop, servers("a", "b"))
		w.overriding(plan.Override{Kind: "CDN", Path: "spec.upstreams.servers", Key: key, Type: "text"})
		var paths []string
		for _, c := range w.item(shop).Changes {
			paths = append(paths, c.Path)
		}
		byPosition := slices.Contains(paths, "upstreams[o].servers[1].host")
		if byPosition != (key != nil) {
			t.Errorf("key %#v: %v", key, paths)
		}
		digests[plan.Redact(w.make()).Digest] = true
	}
	if len(digests) != 2 {
		t.Error("the two have one digest")
	}
}

// TestNewElementsHaveTheirPlace: an element that is added before others says where.
func TestNewElementsHaveTheirPlace(t *testing.T) {
	spec := func(paths string) string { return "{hostname: a.example.com, locations: [" + paths + "]}" }
	for paths, want := range map[string]*plan.ListPosition{
		"{path: /new}, {path: /a}, {path: /b}": {Desired: 1, Of: 3},
		"{path: /a}, {path: /new}, {path: /b}": {Desired: 2, Of: 3},
		"{path: /a}, {path: /b}, {path: /new}": nil,
	} {
		live := spec("{path: /a}, {path: /b}")
		it := find(t, git(t, cdn("a", spec(paths))).has("CDN/a", live).applied("CDN/a", live).explained(since(t, cdn("a", live))), "CDN/a")
		if len(it.Changes) != 1 || (it.Changes[0].Position == nil) != (want == nil) || want != nil && *it.Changes[0].Position != *want {
			t.Errorf("%s: %+v", paths, it.Changes)
		}
	}
}
