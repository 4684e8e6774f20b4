package routing

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

// TestWordsTell: answers that differ have different words, whatever their values are.
func TestWordsTell(t *testing.T) {
	scalar := rapid.OneOf(rapid.SampledFrom([]any{nil, "", "not set", "empty", "true", true, "60", "on", "off"}), rapid.Map(rapid.String(), func(s string) any { return s }))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		below := value(depth - 1)
		return rapid.OneOf(scalar, rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"enabled", "servers", "host", "weight", "name", "rules"}), below, 0, 3), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(below, 0, 2), func(l []any) any { return l }))
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Responder {
			l := map[string]any{"path": "/*", "upstream": "o"}
			for _, field := range []string{"action", "cache", "cors", "headers", "other"} {
				l[field] = value(2).Draw(t, field)
			}
			c := NewCDNFromConfig(kind.Key{Name: name}, ReadConfig(map[string]any{
				"locations": []any{l}, "firewall": value(3).Draw(t, "firewall"), "upstreams": []any{map[string]any{"name": "o", "servers": value(2).Draw(t, "servers")}},
			}))
			return Responder{c, &c.Config().Locations[0]}
		}
		a, b := draw("a"), draw("b")
		found := newOutcomeCache().compareAnswers(a, b, Interpretation{})
		if alike := (Interpretation{}).isSame(a, b); (len(found) == 0) != alike {
			t.Fatalf("alike: %v, and differences %q", alike, found)
		}
		for _, d := range found {
			if d.Before == d.After {
				t.Fatalf("%q", d)
			}
		}
	})
}

// TestNamesForgeNoWords: a name can't be read as words of the sentence that has it.
func TestNamesForgeNoWords(t *testing.T) {
	const forged = "log off → on; firewall rules login"
	rules := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name})
		}
		return list
	}
	for _, c := range []struct {
		a, b any
		want string
	}{
		{rules("a"), rules("a", forged), `rules "log off → on; firewall rules login" off → on`},
		{rules("a", forged), rules(forged, "a"), `order of rules a, "log off → on; firewall rules login" → "log off → on; firewall rules login", a`},
		{map[string]any{"id": "a"}, map[string]any{"id": "a → b"}, `rules id a → "a → b"`},
		{[]any{"a"}, []any{"a", map[string]any{forged: "b, c"}}, `rules a → a, ("log off → on; firewall rules login": "b, c")`},
	} {
		if found := compareTrees("rules", c.a, c.b); len(found) != 1 || found[0].String() != c.want {
			t.Errorf("%v, want %s", found, c.want)
		}
	}
}

// TestRemovalNamesEach: a list that loses all its objects names each of them.
func TestRemovalNamesEach(t *testing.T) {
	list := []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}
	for _, empty := range []any{nil, []any{}} {
		if found := compareTrees("rules", list, empty); len(found) != 2 || found[0].String() != "rules a on → off" || found[1].String() != "rules b on → off" {
			t.Errorf("%v", found)
		}
	}
	if found := compareTrees("rules", list, "text"); len(found) != 1 || found[0].What != "rules" {
		t.Errorf("%v", found)
	}
}

// TestLongOriginsNameWhatDiffers: of many servers, those that come, go or weigh otherwise are named.
func TestLongOriginsNameWhatDiffers(t *testing.T) {
	origin := func(extra ...string) ServedValue {
		var servers []any
		for i := range 12 {
			servers = append(servers, map[string]any{"host": fmt.Sprintf("server-%02d.example.net", i), "port": "443", "weight": "1"})
		}
		for _, host := range extra {
			host, weight, _ := strings.Cut(host, "*")
			servers = append(servers, map[string]any{"host": host, "port": "443", "weight": cmp.Or(weight, "1")})
		}
		return readOrigin("o", []map[string]any{{"name": "o", "scheme": "https", "servers": servers}})[0]
	}
	location := func(v ServedValue) *Location { return &Location{Behaviour: Behaviour{Origin: v}} }
	for _, c := range []struct {
		before, after ServedValue
		want          string
	}{
		{origin("a"), origin("b"), "origin a:443 and 12 others → b:443 and 12 others"},
		{origin(), origin("b"), "origin 12 others → b:443 and 12 others"},
		{origin("a"), origin(), "origin a:443 and 12 others → 12 others"},
		{origin("a*2"), origin("a*3"), "origin a:443 weight 2 and 12 others → a:443 weight 3 and 12 others"},
		{origin("a", "c", "d", "e", "f"), origin("b"), "origin a:443, c:443, d:443 and 14 others → b:443 and 12 others"},
	} {
		found := newOutcomeCache().compareAnswers(Responder{Location: location(c.before)}, Responder{Location: location(c.after)}, Interpretation{})
		if len(found) != 1 || found[0].String() != c.want {
			t.Errorf("%v, want %s", found, c.want)
		}
	}
}

// TestNewNamesOfRulesAreNoChange: no request notices what a rule of the firewall is called, and what it does goes by its new name.
func TestNewNamesOfRulesAreNoChange(t *testing.T) {
	firewall := func(rules ...any) Responder {
		list := []any{}
		for i := 0; i < len(rules); i += 2 {
			list = append(list, map[string]any{"name": rules[i], "limit": rules[i+1]})
		}
		c := NewCDNFromConfig(kind.Key{Name: "a"}, ReadConfig(map[string]any{"hostname": "a", "locations": []any{map[string]any{"path": "/*"}}, "firewall": map[string]any{"rules": list}}))
		return Responder{c, &c.Config().Locations[0]}
	}
	for _, c := range []struct {
		before, after Responder
		want          string
	}{
		{firewall("bots", "1"), firewall("known-bots", "1"), "[]"},
		{firewall("a", "1", "b", "2"), firewall("b", "1", "a", "2"), "[]"},
		{firewall("a", "1", "b", "2"), firewall("c", "1", "b", "3"), "[firewall rules b limit 2 → 3]"},
		{firewall("a", "1", "b", "2"), firewall("c", "1", "b", "2", "d", "4"), "[firewall rules d off → on]"},
		{firewall("a", "1", "b", "2"), firewall("b", "2", "c", "1"), "[order of firewall rules c, b → b, c]"},
		{firewall("a", "1"), firewall("c", "2"), "[firewall rules a on → off firewall rules c off → on]"},
	} {
		if got := fmt.Sprint(newOutcomeCache().compareAnswers(c.before, c.after, Interpretation{})); got != c.want || (got == "[]") != (Interpretation{}).isSame(c.before, c.after) {
			t.Errorf("%s, want %s", got, c.want)
		}
		if got := c.after.Describe(Firewall); !strings.HasPrefix(got, "rules: (") {
			t.Error(got)
		}
	}
}
