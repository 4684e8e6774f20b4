package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/plan"
)

// shortText returns the lines of an item as text.
func shortText(it plan.Item) string {
	var lines []string
	for _, l := range it.Lines() {
		line := fmt.Sprintf("%s %s: %s -> %s", l.Class, l.Path, canon.Encode(l.Live), canon.Encode(l.Desired))
		if len(l.Elements) > 0 {
			line += fmt.Sprintf(" in %d of %s: %s", len(l.Elements), l.List, strings.Join(l.Elements, ", "))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestRenames has what is a rename and what is not.
func TestRenames(t *testing.T) {
	const a, b, c = `{name: a, enabled: true}`, `{name: b, enabled: true}`, `{name: c, enabled: false}`
	for name, tt := range map[string]struct{ field, live, git, want string }{
		"a host of several locations": {
			"locations", `{path: /a, host: x.example.com}, {path: /b, host: x.example.com, upstream: o}`, `{path: /a, host: y.example.com}, {path: /b, host: y.example.com, upstream: o}`,
			`change locations.host: "x.example.com" -> "y.example.com" in 2 of locations: /a, /b`,
		},
		"the path of one location": {
			"locations", `{path: /a, upstream: o}, {path: /*}`, `{path: /b, upstream: o}, {path: /*}`,
			`change locations[/b].path: "/a" -> "/b"`,
		},
		"a host and a path": {
			"locations", `{path: /a, host: x.example.com}`, `{path: /b, host: y.example.com}`,
			"removed locations[/a]: {\"host\":\"x.example.com\",\"path\":\"/a\"} -> null\nchange locations[/b]: null -> {\"host\":\"y.example.com\",\"path\":\"/b\"}",
		},
		"another value too": {
			"firewall.rules", `{name: a, enabled: true, action: {type: x, x: 1}}`, `{name: b, enabled: false, action: {type: x, x: 1}}`,
			"change firewall.rules[b].enabled: true -> false\nchange firewall.rules[b].name: \"a\" -> \"b\"",
		},
		"a host and a value": {
			"locations", `{path: /a, host: x.example.com, action: a, upstream: o}, {path: /b, host: x.example.com, upstream: o}`,
			`{path: /a, host: y.example.com, action: a, upstream: p}, {path: /b, host: y.example.com, upstream: o}`,
			"change locations.host: \"x.example.com\" -> \"y.example.com\" in 2 of locations: /a, /b\nchange locations[/a].upstream: \"o\" -> \"p\"",
		},
		"too many other values": {
			"firewall.rules", a, `{name: b, enabled: false}`,
			"removed firewall.rules[a]: {\"enabled\":true,\"name\":\"a\"} -> null\nchange firewall.rules[b]: null -> {\"enabled\":false,\"name\":\"b\"}",
		},
		"one field of several elements": {
			"locations", `{path: /a, upstream: o}, {path: /b, upstream: o}, {path: /c, upstream: p}`, `{path: /a, upstream: q}, {path: /b, upstream: q}, {path: /c, upstream: q}`,
			"change locations.upstream: \"o\" -> \"q\" in 2 of locations: /a, /b\nchange locations[/c].upstream: \"p\" -> \"q\"",
		},
		"two new names": {
			"upstreams", a, b + `, {name: z, enabled: true}`,
			"removed upstreams[a]: {\"enabled\":true,\"name\":\"a\"} -> null\nchange upstreams[b]: null -> {\"enabled\":true,\"name\":\"b\"}\nchange upstreams[z]: null -> {\"enabled\":true,\"name\":\"z\"}",
		},
		"a rule with another in front of it": {
			"firewall.rules", a, `{name: new, enabled: false}, ` + b,
			"change firewall.rules[b].name: \"a\" -> \"b\"\nchange firewall.rules[new]: null -> {\"enabled\":false,\"name\":\"new\"}",
		},
		"a rule at another position": {
			"firewall.rules", a + ", " + c, c + ", " + b,
			"change firewall.rules[b].name: \"a\" -> \"b\"\nchange firewall.rules[c]: null -> null",
		},
		"an upstream at another position": {
			"upstreams", a + ", " + c, c + ", " + b, `change upstreams[b].name: "a" -> "b"`,
		},
		"a server": {
			"upstreams", `{name: o, servers: [{host: x.example.com, port: "443"}]}`, `{name: o, servers: [{host: y.example.com, port: "443"}]}`,
			`change upstreams[o].servers[y.example.com:443].host: "x.example.com" -> "y.example.com"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := func(list string) string {
				if before, after, ok := strings.Cut(tt.field, "."); ok {
					return fmt.Sprintf("{hostname: h.example.com, %s: {%s: [%s]}}", before, after, list)
				}
				return fmt.Sprintf("{hostname: h.example.com, %s: [%s]}", tt.field, list)
			}
			it := git(t, cdn("shop", spec(tt.git))).has(shop, spec(tt.live)).applied(shop, spec(tt.live)).item(shop)
			if got := shortText(it); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestRenamesOutsideGit: what another client renamed is one line of drift, and what the platform added to
// an element stays.
func TestRenamesOutsideGit(t *testing.T) {
	const was, is = `{hostname: h.example.com, firewall: {rules: [{name: a, enabled: true}]}}`, `{hostname: h.example.com, firewall: {rules: [{name: b, enabled: true, more: "1"}]}}`
	w := git(t, cdn("shop", was)).has(shop, strings.Replace(is, `, more: "1"`, "", 1)).applied(shop, was)
	if got, want := shortText(w.item(shop)), `drift-overwritten firewall.rules[a].name: "b" -> "a"`; got != want || w.make().Summary.Drifted != 1 {
		t.Errorf("%s, %+v", got, w.make().Summary)
	}
	w = git(t, cdn("shop", was)).has(shop, is).applied(shop, strings.Replace(is, `, more: "1"`, "", 1))
	it := w.item(shop)
	if got, want := shortText(it), `change firewall.rules[a].name: "b" -> "a"`; got != want || len(it.Collateral) > 0 || len(it.Preserved) != 1 {
		t.Errorf("%s, %v", got, it.Collateral)
	}
	if s := w.make().Summary; s.Removed != 0 || s.Security != 0 {
		t.Errorf("%+v", s)
	}
}

// TestLinesAreExact: the lines of a random edit are all that changes, and together make git of live.
func TestLinesAreExact(t *testing.T) {
	renames := 0
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]string{"locations", "upstreams"}).Draw(t, "list")
		before := drawElements(t, list)
		after := edited(t, list, before)
		of := func(elements []map[string]any) string {
			return string(canon.Encode(map[string]any{"hostname": "h.example.com", list: anyOf(elements)}))
		}
		it := git(t, cdn("shop", of(after))).has(shop, of(before)).applied(shop, of(before)).item(shop)
		shown := 0
		for _, l := range it.Lines() {
			shown += max(1, len(l.Elements))
			if field := l.Path[strings.LastIndexByte(l.Path, '.')+1:]; slices.Contains([]string{"host", "path", "name"}, field) {
				renames++
				checkRename(t, it, l, field, before, after)
			}
		}
		if shown != len(it.Changes) {
			t.Fatalf("%d changes are shown, want %d", shown, len(it.Changes))
		}
		if it.Op == plan.Patch && it.FindUnshownChange(it.Request.Body, canon.MustDecode([]byte(of(before)))) != "" {
			t.Fatalf("the lines are not what is sent: %v", it.Lines())
		}
	})
	if renames == 0 && !testing.Short() { // which draws too few to be sure
		t.Error("nothing was renamed")
	}
}

// checkRename: the elements of live had the old value, those of git have the new one, and git has no element of the old key.
func checkRename(t *rapid.T, it plan.Item, l plan.ChangeLine, field string, before, after []map[string]any) {
	count := func(list []map[string]any, value any) (n int) {
		for _, e := range list {
			if e[field] == value {
				n++
			}
		}
		return n
	}
	n := max(1, len(l.Elements))
	if count(before, l.Live) < n || count(after, l.Desired) < n {
		t.Fatalf("%s: %v", l.Path, it.Changes)
	}
}

func drawElements(t *rapid.T, list string) (out []map[string]any) {
	seen := map[string]bool{}
	for range rapid.IntRange(0, 6).Draw(t, "elements") {
		e := drawElement(t, list)
		if id := fmt.Sprint(e["host"], e["path"], e["name"]); !seen[id] {
			seen[id] = true
			out = append(out, e)
		}
	}
	return out
}

func drawElement(t *rapid.T, list string) map[string]any {
	one := func(values ...string) string { return rapid.SampledFrom(values).Draw(t, "value") }
	if list == "upstreams" {
		return map[string]any{"name": one("a", "b", "c", "d", "e"), "scheme": one("http", "https")}
	}
	return map[string]any{"path": one("/a", "/b", "/c"), "host": one("x.example.com", "y.example.com", "z.example.com"), "upstream": one("o", "p")}
}

// edited returns a list with other names, values and elements, and perhaps in another order.
func edited(t *rapid.T, list string, before []map[string]any) []map[string]any {
	var out []map[string]any
	from := rapid.SampledFrom([]string{"x.example.com", "a", "/a", ""}).Draw(t, "from")
	to := map[string]string{"x.example.com": "w.example.com", "a": "f", "/a": "/d"}[from]
	for _, e := range before {
		e = maps.Clone(e)
		switch rapid.IntRange(0, 7).Draw(t, "edit") {
		case 0:
			continue
		case 1:
			e = drawElement(t, list)
		case 2:
			out = append(out, drawElement(t, list))
		}
		for k, v := range e {
			if v == from {
				e[k] = to
			}
		}
		out = append(out, e)
	}
	seen := map[string]bool{}
	out = slices.DeleteFunc(out, func(e map[string]any) bool {
		id := fmt.Sprint(e["host"], e["path"], e["name"])
		twice := seen[id]
		seen[id] = true
		return twice
	})
	if len(out) > 1 && rapid.IntRange(0, 3).Draw(t, "shuffled") == 0 {
		out = rapid.Permutation(out).Draw(t, "order")
	}
	return out
}

func anyOf(elements []map[string]any) []any {
	out := make([]any, len(elements))
	for i, e := range elements {
		out[i] = e
	}
	return out
}
