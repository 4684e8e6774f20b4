package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"trueup/internal/graph"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

const drawnSpec = `
hostname: Shop.example.com.
locations:
- {path: /a, action: proxy_http, upstream: one, host: shop.example.com, cache: {edgeTTL: "60", ttlTimeUnit: second}}
- {path: /a, action: proxy_http, upstream: one, host: www.example.com}
- {path: /gone, upstream: nowhere}
- {path: /none, action: redirect}
upstreams:
- {name: one, scheme: https, servers: [{host: A.example.net, port: "443"}, {host: b.example.net}]}
- {name: idle}
`

// graphOf writes a graph as lines that are easy to compare.
func graphOf(g graph.Graph) string {
	marks := []string{"", "~", "!~", "!!", "+", "-", "!-"}
	states := []string{"", " unused", " missing", " unlisted"}
	var b strings.Builder
	for _, h := range g.Hosts {
		fmt.Fprintf(&b, "%s %s%s", h.Key, marks[h.Mark], h.Hostname)
		if h.Blocked {
			b.WriteString(" blocked")
		}
		b.WriteString("\n")
		for _, p := range h.Paths {
			fmt.Fprintf(&b, "  %s%s%s %s%s -> %d\n", marks[p.Mark], p.Host, p.Path, p.EdgeTTL, p.TTLUnit, p.Upstream)
		}
		for _, u := range h.Upstreams {
			fmt.Fprintf(&b, "  %s%s%s:", marks[u.Mark], u.Name, states[u.State])
			for _, s := range u.Servers {
				fmt.Fprintf(&b, " %s%s", marks[s.Mark], s.Address)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func compareGraph(t *testing.T, g graph.Graph, want string) {
	t.Helper()
	if got := graphOf(g); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func indented(text string) string {
	return "\n  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

func TestGraph(t *testing.T) {
	source := manifest.Source{Display: "-", Data: []byte(strings.Join([]string{
		cdn("shop", indented(drawnSpec)), cdn("b", "{hostname: a.example.com, locations: [{path: /, upstream: x}]}"),
		cdn("c", "{hostname: c.example.com, upstreams: [{name: x}]}"), "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: d}\n",
		purge("p", "{hostname: a.example.com, paths: [/x]}"), snapshot("s", "d"), snapshot("s2", "d"),
	}, "\n---\n"))}
	// What is wrong with them does not keep them from being drawnSpec.
	set, _, err := manifest.Load(t.Context(), []manifest.Source{source}, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := graph.Make(set, nil, nil, nil)
	compareGraph(t, g, `
CDN/d 
CDN/b a.example.com
  /  -> 0
  x unlisted:
CDN/c c.example.com
  x:
CDN/shop Shop.example.com.
  /a 60second -> 0
  www.example.com/a  -> 0
  /gone  -> 2
  /none  -> -1
  one: a.example.net:443 b.example.net
  idle unused:
  nowhere missing:
`)
	if g.Undrawn["Purge"] != 1 || g.Undrawn["VolumeSnapshot"] != 2 {
		t.Errorf("%+v", g)
	}
	only := graph.Make(set, nil, nil, func(k kind.Key) bool { return k.Name == "c" })
	if len(only.Hosts) != 1 || len(only.Undrawn) != 0 {
		t.Errorf("%+v", only)
	}
}

// TestGraphMarks: what the plan shows of a location, an upstream or a server marks
// just that, by the signs of the plan's lines.
func TestGraphMarks(t *testing.T) {
	const before = `{hostname: shop.example.com, tls: {forced: "false"}, locations: [
{path: /same, upstream: one}, {path: /ttl, upstream: one, cache: {edgeTTL: "60"}}, {path: /gone, upstream: one}, {path: /drift, upstream: one, host: ""}],
upstreams: [{name: one, servers: [{host: a, port: "1"}, {host: b, port: "1", weight: "1"}, {host: c, port: "1"}]}, {name: old, servers: [{host: o, port: "1"}]}]}`
	const now = `{hostname: shop.example.com, tls: {forced: "true"}, locations: [
{path: /same, upstream: one}, {path: /ttl, upstream: one, cache: {edgeTTL: "61"}}, {path: /new, upstream: two}, {path: /drift, upstream: one, host: ""}],
upstreams: [{name: one, servers: [{host: a, port: "1"}, {host: b, port: "1", weight: "2"}, {host: d, port: "1"}]}, {name: two, servers: [{host: e, port: "1"}]}]}`
	live := strings.Replace(before, `{path: /drift, upstream: one, host: ""}`, `{path: /drift, upstream: old, host: ""}, {path: /added, upstream: one}`, 1)
	w := git(t, cdn("shop", now)).has("cdn/shop", live).applied("cdn/shop", before)
	p := w.make()
	check := func(p *plan.Plan) {
		t.Helper()
		compareGraph(t, graph.Make(w.in.Set, p, nil, nil), `
CDN/shop ~shop.example.com
  /same  -> 0
  ~/ttl 61 -> 0
  +/new  -> 1
  !~/drift  -> 0
  !-/added  -> 0
  -/gone  -> 0
  one: a:1 ~b:1 ~d:1
  +two: e:1
  -old: o:1
`)
	}
	check(p)
	kept, err := plan.Decode(fileOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	check(kept)
	if !kept.Of(w.in.Set) || kept.Of(load(t, cdn("shop", before))) {
		t.Error("the plan is taken for one of other manifests")
	}
}

func TestGraphMarksWholeObjects(t *testing.T) {
	const is = "{hostname: %s.example.com, locations: [{path: /, upstream: x}], upstreams: [{name: x}]}"
	of := func(name string) string { return strings.Replace(is, "%s", name, 1) }
	w := git(t, cdn("a", of("a")), cdn("b", of("b")), cdn("c", "{hostname: c.example.com, locations: [{path: /x, upstream: z}], upstreams: [{name: z, servers: [{host: s, port: '1'}]}]}")).
		has("cdn/b", of("b")).has("cdn/c", "{hostname: c.example.com}").foreign("cdn/other", of("other"))
	// What git never had is no removal: nothing is sent before somebody takes it over.
	w2 := git(t, cdn("d", of("d"))).has("cdn/d", `{hostname: d.example.com, locations: [{path: /, upstream: x}, {path: /live, upstream: old}],
upstreams: [{name: x, servers: [{host: s, port: "1"}]}, {name: old, servers: [{host: t, port: "1"}]}]}`)
	compareGraph(t, graph.Make(w2.in.Set, w2.make(), nil, nil), `
CDN/d d.example.com blocked
  /  -> 0
  !-/live  -> 1
  x:
  !-old: t:1
`)
	g := graph.Make(w.in.Set, w.make(), nil, nil)
	compareGraph(t, g, `
CDN/a +a.example.com
  /  -> 0
  x:
CDN/b b.example.com
  /  -> 0
  x:
CDN/c c.example.com
  +/x  -> 0
  +z: s:1
`)
	if !slices.Equal(g.Unmanaged, []kind.Key{key(t, "cdn/other")}) {
		t.Errorf("%+v", g)
	}
}
