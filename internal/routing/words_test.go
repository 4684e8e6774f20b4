package routing

import (
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
		draw := func(name string) Answer {
			l := map[string]any{"path": "/*", "upstream": "o"}
			for _, field := range []string{"action", "cache", "cors", "headers", "other"} {
				l[field] = value(2).Draw(t, field)
			}
			c := ConfigCDN(kind.Key{Name: name}, Read(map[string]any{
				"locations": []any{l}, "firewall": value(3).Draw(t, "firewall"), "upstreams": []any{map[string]any{"name": "o", "servers": value(2).Draw(t, "servers")}},
			}))
			return Answer{c, &c.Config().Locations[0]}
		}
		a, b := draw("a"), draw("b")
		found := compareAnswers(a, b, Reading{})
		if alike := (Reading{}).isSame(a, b); (len(found) == 0) != alike {
			t.Fatalf("alike: %v, and differences %q", alike, found)
		}
		for _, d := range found {
			if d.Before == d.After {
				t.Fatalf("%q", d)
			}
		}
	})
}
