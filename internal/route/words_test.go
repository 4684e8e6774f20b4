package route

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDescribe(t *testing.T) {
	s := site(t, `{"locations": [
		{"path": "/a", "upstream": "o", "action": "proxy_http", "cache": {"level": "standard", "edgeTTL": "3600", "browserTTL": "5", "ttlTimeUnit": "second", "detectDevice": "true"},
		 "cors": {"enabled": "true", "allowOrigins": "*"}, "imgsvc": {"enabled": "false"}, "headers": {"X": ["a", {"b": null}]}},
		{"path": "/b", "upstream": "p", "host": "H.", "cache": {"edgeTTL": "60"}}, {"path": "/c"}, {"path": "/d", "upstream": "w"}],
		"upstreams": [{"name": "o", "scheme": "https", "servers": [{"host": "B", "port": 443, "weight": "1"}, {"host": "a", "port": "443", "weight": 1}]},
		{"name": "w", "servers": [{"host": "a", "weight": 1}, {"host": "b"}]}]}`)
	for i, want := range [][facets]string{
		{"a:443, b:443 over https", "not set", "proxy_http", "standard", "1 h", "5 s", "detectDevice: true", "on, allowOrigins: *", "off", "not set", "X: (a, not set)", "any", "not set"},
		{"upstream p", "not set", "not set", "not set", "60", "not set", "not set", "not set", "not set", "not set", "not set", "h", "not set"},
		{"no upstream", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "any", "not set"},
		{"a weight 1, b weight not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "not set", "any", "not set"},
	} {
		for f, want := range want {
			if got := s.Locations[i].Describe(Facet(f)); got != want {
				t.Errorf("%s of %s: %q, want %q", Facet(f), s.Locations[i].Path, got, want)
			}
		}
	}
	if got := s.Locations[0].Servers(); !slices.Equal(got, []string{"a:443", "b:443"}) {
		t.Errorf("servers %q", got)
	}
}

func TestDifferencesInWords(t *testing.T) {
	before := site(t, `{"tls": {"enabled": "true"}, "firewall": {"enabled": false}, "locations": [{"path": "/*", "upstream": "o", "cors": {"enabled": "true", "allowOrigins": "a"}, "cache": {"edgeTTL": "60", "ttlTimeUnit": "minute"}}],
		"upstreams": [{"name": "o", "scheme": "https", "servers": [{"host": "a", "port": "443", "weight": "1"}]}]}`)
	after := site(t, `{"tls": {"enabled": "true", "forced": "true"}, "firewall": {"enabled": true}, "locations": [{"path": "/*", "upstream": "o", "cors": {"enabled": "false", "allowOrigins": "b"}, "headers": {"X": "1"}}],
		"upstreams": [{"name": "o", "scheme": "https", "servers": [{"host": "a", "port": "443", "weight": "2"}]}]}`)
	want := []Difference{
		{"origin", "a:443 weight 1", "a:443 weight 2"},
		{"edge TTL", "1 h", "not set"},
		{"CORS allowOrigins", "a", "b"},
		{"CORS", "on", "off"},
		{"headers X", "not set", "1"},
	}
	if got := Differences(&before.Locations[0], &after.Locations[0]); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := before.Differences(after); !slices.Equal(got, []Difference{{"TLS forced", "not set", "true"}, {"firewall", "off", "on"}}) {
		t.Errorf("%q", got)
	}
}

// TestServersThatStayAreFirst: a server that stays does not seem to move.
func TestServersThatStayAreFirst(t *testing.T) {
	servers := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3, rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		location := func(hosts []string) *Location {
			var servers []any
			for _, host := range slices.Sorted(slices.Values(hosts)) { // as Read does
				servers = append(servers, map[string]any{"host": host})
			}
			return &Location{Behaviour: Behaviour{Origin: opaque(map[string]any{"servers": servers})}}
		}
		before, after := location(servers.Draw(t, "before")), location(servers.Draw(t, "after"))
		for _, d := range Differences(before, after) {
			was, is := strings.Split(d.Before, ", "), strings.Split(d.After, ", ")
			if len(was) != len(before.Servers()) || len(is) != len(after.Servers()) {
				t.Fatalf("servers are lost: %v", d)
			}
			var common []string
			for _, s := range was {
				if slices.Contains(is, s) {
					common = append(common, s)
				}
			}
			if n := len(common); !slices.Equal(was[:n], common) || !slices.Equal(is[:n], common) {
				t.Fatalf("%q → %q: %q stay", was, is, common)
			}
		}
	})
}

// TestWordsTell: behaviours that differ have different words, whatever their values are.
func TestWordsTell(t *testing.T) {
	checks(t, 2000)
	scalar := rapid.OneOf(rapid.SampledFrom([]any{nil, "", "not set", "empty", "true", true, "60", "on"}), rapid.Map(rapid.String(), func(s string) any { return s }))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		below := value(depth - 1)
		return rapid.OneOf(scalar, rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"enabled", "servers", "host", "weight"}), below, 0, 3), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(below, 0, 2), func(l []any) any { return l }))
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func() *Site {
			l := map[string]any{"path": "/*", "upstream": "o"}
			for _, field := range []string{"action", "cache", "cors", "headers", "host", "other"} {
				l[field] = value(2).Draw(t, field)
			}
			return Read(map[string]any{"locations": []any{l}, "tls": value(2).Draw(t, "tls"), "upstreams": []any{map[string]any{"name": "o", "servers": value(2).Draw(t, "servers")}}})
		}
		a, b := draw(), draw()
		found := Differences(&a.Locations[0], &b.Locations[0])
		if (len(found) > 0) != (a.Locations[0].Behaviour != b.Locations[0].Behaviour) {
			t.Fatalf("%q", found)
		}
		site := a.Differences(b)
		if (len(site) > 0) != (a.Facets != b.Facets) {
			t.Fatalf("%q", site)
		}
		for _, d := range append(found, site...) {
			if d.Before == d.After {
				t.Fatalf("%q", d)
			}
		}
	})
}

func TestSiteInWords(t *testing.T) {
	rule := map[string]any{"name": "a", "enabled": true}
	for want, firewall := range map[string]any{
		"on, rules: (a, a)":   map[string]any{"enabled": true, "rules": []any{rule, rule}},
		"off, rules: (empty)": map[string]any{"enabled": false, "rules": []any{}},
		"not set":             nil,
		"odd":                 "odd",
	} {
		if got := Read(map[string]any{"firewall": firewall}).Describe(Firewall); got != want {
			t.Errorf("%v: %q, want %q", firewall, got, want)
		}
	}
}
