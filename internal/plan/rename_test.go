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

// said returns the lines of an item as text.
func said(it plan.Item) string {
	var lines []string
	for _, l := range it.Lines() {
		line := fmt.Sprintf("%s %s: %s -> %s", l.Class, l.Path, canon.Bytes(l.Live), canon.Bytes(l.Desired))
		if l.Rename != nil {
			var names []string
			for _, e := range l.Rename.Elements {
				names = append(names, e.Name)
			}
			line += fmt.Sprintf(" in %d of %s: %s", len(names), l.Rename.List, strings.Join(names, ", "))
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
			`change locations[/a].path: "/a" -> "/b" in 1 of locations: `,
		},
		"a host and a path": {
			"locations", `{path: /a, host: x.example.com}`, `{path: /b, host: y.example.com}`,
			"removed locations[/a]: {\"host\":\"x.example.com\",\"path\":\"/a\"} -> null\nchange locations[/b]: null -> {\"host\":\"y.example.com\",\"path\":\"/b\"}",
		},
		"another value too": {
			"firewall.rules", a, `{name: b, enabled: false}`,
			"removed firewall.rules[a]: {\"enabled\":true,\"name\":\"a\"} -> null\nchange firewall.rules[b]: null -> {\"enabled\":false,\"name\":\"b\"}",
		},
		"two new names": {
			"upstreams", a, b + `, {name: z, enabled: true}`,
			"removed upstreams[a]: {\"enabled\":true,\"name\":\"a\"} -> null\nchange upstreams[b]: null -> {\"enabled\":true,\"name\":\"b\"}\nchange upstreams[z]: null -> {\"enabled\":true,\"name\":\"z\"}",
		},
		"a rule with another in front of it": {
			"firewall.rules", a, `{name: new, enabled: false}, ` + b,
			"change firewall.rules[a].name: \"a\" -> \"b\" in 1 of firewall.rules: \nchange firewall.rules[new]: null -> {\"enabled\":false,\"name\":\"new\"}",
		},
		"a rule at another position": {
			"firewall.rules", a + ", " + c, c + ", " + b,
			"removed firewall.rules[a]: {\"enabled\":true,\"name\":\"a\"} -> null\nchange firewall.rules[b]: null -> {\"enabled\":true,\"name\":\"b\"}",
		},
		"an upstream at another position": {
			"upstreams", a + ", " + c, c + ", " + b, `change upstreams[a].name: "a" -> "b" in 1 of upstreams: `,
		},
		"a server": {
			"upstreams", `{name: o, servers: [{host: x.example.com, port: "443"}]}`, `{name: o, servers: [{host: y.example.com, port: "443"}]}`,
			`change upstreams[o].servers[x.example.com:443].host: "x.example.com" -> "y.example.com" in 1 of upstreams[o].servers: 443`,
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
			if got := said(it); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestRenamesOutsideGit: what another client renamed is one line of drift, and what the platform added to
// an element is still shown as lost.
func TestRenamesOutsideGit(t *testing.T) {
	const was, is = `{hostname: h.example.com, firewall: {rules: [{name: a, enabled: true}]}}`, `{hostname: h.example.com, firewall: {rules: [{name: b, enabled: true, more: "1"}]}}`
	w := git(t, cdn("shop", was)).has(shop, strings.Replace(is, `, more: "1"`, "", 1)).applied(shop, was)
	if got, want := said(w.item(shop)), `drift-overwritten firewall.rules[b].name: "b" -> "a" in 1 of firewall.rules: `; got != want || w.make().Summary.Drifted != 1 {
		t.Errorf("%s, %+v", got, w.make().Summary)
	}
	w = git(t, cdn("shop", was)).has(shop, is).applied(shop, strings.Replace(is, `, more: "1"`, "", 1))
	it := w.item(shop)
	if got, want := said(it), `change firewall.rules[b].name: "b" -> "a" in 1 of firewall.rules: `; got != want || len(it.Collateral) != 1 {
		t.Errorf("%s, %v", got, it.Collateral)
	}
	if s := w.make().Summary; s.Removed != 0 || s.Security != 2 {
		t.Errorf("%+v", s)
	}
}

// TestRenamesAreExact: a rename of a removed element gives the added one, each change is on one line, and
// renamed elements keep their position among those that both lists have.
func TestRenamesAreExact(t *testing.T) {
	renames := 0
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]string{"locations", "upstreams"}).Draw(t, "list")
		before := drawElements(t, list)
		after := edited(t, list, before)
		of := func(elements []map[string]any) string {
			return string(canon.Bytes(map[string]any{"hostname": "h.example.com", list: anyOf(elements)}))
		}
		it := git(t, cdn("shop", of(after))).has(shop, of(before)).applied(shop, of(before)).item(shop)
		lines, covered := it.Lines(), map[int]bool{}
		for _, l := range lines {
			if l.Rename == nil {
				continue
			}
			renames++
			for _, e := range l.Rename.Elements {
				i, j := indexOf(it, e.Removed), indexOf(it, e.Added)
				if covered[i] || covered[j] || i == j {
					t.Fatalf("twice in %v", lines)
				}
				covered[i], covered[j] = true, true
				got := maps.Clone(it.Changes[i].Live.(map[string]any))
				if got[l.Rename.Field] != l.Rename.From {
					t.Fatalf("%v is not of %s", l.Rename, canon.Bytes(got))
				}
				got[l.Rename.Field] = l.Rename.To
				if want := it.Changes[j].Desired; string(canon.Bytes(got)) != string(canon.Bytes(want)) {
					t.Fatalf("%v gives %s, want %s", l.Rename, canon.Bytes(got), canon.Bytes(want))
				}
				before = renameIn(before, it.Changes[i].Live, got)
			}
		}
		checkLines(t, it, lines, covered)
		if list == "locations" && !slices.ContainsFunc(it.Changes, func(c plan.Change) bool { return c.Moved }) {
			checkOrder(t, before, after)
		}
	})
	if renames == 0 {
		t.Error("nothing was renamed")
	}
}

func indexOf(it plan.Item, path string) int {
	return slices.IndexFunc(it.Changes, func(c plan.Change) bool { return c.Path == path })
}

func checkLines(t *rapid.T, it plan.Item, lines []plan.Line, covered map[int]bool) {
	shown := map[string]int{}
	for _, l := range lines {
		if l.Rename == nil {
			shown[l.Path+string(canon.Bytes(l.Live))]++
		}
	}
	for i, c := range it.Changes {
		if n := shown[c.Path+string(canon.Bytes(c.Live))]; covered[i] == (n > 0) || n > 1 {
			t.Fatalf("%s is on %d lines, and in a rename %t", c.Path, n, covered[i])
		}
	}
}

// checkOrder checks that the elements of both lists have one order.
func checkOrder(t *rapid.T, before, after []map[string]any) {
	common := func(of, other []map[string]any) (texts []string) {
		for _, e := range of {
			if slices.ContainsFunc(other, func(o map[string]any) bool { return e["path"] == o["path"] && e["host"] == o["host"] }) {
				texts = append(texts, fmt.Sprint(e["host"], e["path"]))
			}
		}
		return texts
	}
	if x, y := common(before, after), common(after, before); !slices.Equal(x, y) {
		t.Fatalf("the order %v is not %v", x, y)
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

func renameIn(list []map[string]any, was any, is map[string]any) []map[string]any {
	out := slices.Clone(list)
	for i, e := range list {
		if string(canon.Bytes(e)) == string(canon.Bytes(was)) {
			out[i] = is
		}
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
