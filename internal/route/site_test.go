package route

import (
	encoding "encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/canon"
)

func site(t testing.TB, spec string) *Site {
	t.Helper()
	tree, err := canon.Decode([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	return Read(tree.(map[string]any))
}

func TestFacetsThatDiffer(t *testing.T) {
	const start = `{"hostname": "x", "locations": [{"path": "/*", "upstream": "o", "cache": {"edgeTTL": "60", "ttlTimeUnit": "second"}}], "upstreams": [%s]}`
	const origin = `{"name": "o", "scheme": "https", "servers": [{"host": "a", "port": "443"}]}`
	before := site(t, fmt.Sprintf(start, origin))
	for name, tt := range map[string]struct {
		location, upstream string
		want               []Facet
	}{
		"nothing":              {`{"path": "/*", "upstream": "o", "cache": {"edgeTTL": 1, "ttlTimeUnit": "minute"}}`, origin, nil},
		"another TTL":          {`{"path": "/*", "upstream": "o", "cache": {"edgeTTL": "61", "ttlTimeUnit": "second"}}`, origin, []Facet{EdgeTTL}},
		"a TTL without a unit": {`{"path": "/*", "upstream": "o", "cache": {"edgeTTL": "60"}}`, origin, []Facet{EdgeTTL}},
		"an unknown unit":      {`{"path": "/*", "upstream": "o", "cache": {"edgeTTL": "60", "ttlTimeUnit": "s"}}`, origin, []Facet{EdgeTTL}},
		"no cache":             {`{"path": "/*", "upstream": "o"}`, origin, []Facet{EdgeTTL}},
		"another server":       {`{"path": "/*", "upstream": "o", "cache": {"edgeTTL": "60", "ttlTimeUnit": "second"}}`, `{"name": "o", "scheme": "https", "servers": [{"host": "b", "port": "443"}]}`, []Facet{Origin}},
		"a missing upstream":   {`{"path": "/*", "upstream": "p", "cache": {"edgeTTL": "60", "ttlTimeUnit": "second"}}`, origin, []Facet{Origin}},
		"an upstream's health": {`{"path": "/*", "upstream": "o", "cache": {"edgeTTL": "60", "ttlTimeUnit": "second"}}`, `{"name": "o", "scheme": "https", "servers": [{"host": "a", "port": 443}], "hc2": {"protocol": "tcp"}}`, []Facet{Connection}},
		"all else": {
			`{"path": "/*", "upstream": "o", "host": "x", "action": "a", "cache": {"level": "l", "edgeTTL": "60", "browserTTL": "1", "ttlTimeUnit": "second", "detectDevice": "true"},
			"cors": {"enabled": "true"}, "imgsvc": {"enabled": "true"}, "rewrite": {"a": 1}, "headers": {"a": "b"}, "new": 1}`, origin,
			[]Facet{Action, CacheLevel, BrowserTTL, Cache, CORS, Images, Rewrite, Headers, Host, Other},
		},
	} {
		after := site(t, fmt.Sprintf(`{"hostname": "x", "locations": [%s], "upstreams": [%s]}`, tt.location, tt.upstream))
		c := *NewMap(before, after).Find("x", "/a")
		if got := c.Facets(FirstInList); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if !c.Before.Plain() || !c.After.Plain() {
			t.Errorf("%s: depends on the reading", name)
		}
	}
	if ttl := before.Locations[0].Behaviour[EdgeTTL]; ttl != (Value{Time: time.Minute, Known: true}) {
		t.Errorf("edge TTL %v", ttl)
	}
}

func TestChanges(t *testing.T) {
	locations := func(paths ...string) *Site {
		var list []any
		for _, p := range paths {
			list = append(list, map[string]any{"path": p, "upstream": p})
		}
		return Read(map[string]any{"locations": list})
	}
	for name, tt := range map[string]struct {
		before, after []string
		want, unclear []string
	}{
		"lost first, then new":       {[]string{"/a/*", "/c/*"}, []string{"/b/*", "/c/*"}, []string{"/a/* by nothing", "/b/* new"}, nil},
		"only an order":              {[]string{"/a/*", "/*"}, []string{"/*", "/a/*"}, []string{"/a/* depends"}, nil},
		"an order of separate paths": {[]string{"/a/*", "/b"}, []string{"/b", "/a/*"}, nil, nil},
		"a part of a prefix":         {[]string{"/a/*"}, []string{"/a/b", "/a/*"}, []string{"/a/b changes"}, nil},
		"a shadowed location":        {[]string{"/a/*"}, []string{"/a/*", "/a/b"}, []string{"/a/b depends"}, nil},
		"a star in the middle":       {[]string{"/a*b", "/c"}, []string{"/c", "/a*b"}, nil, []string{"/a*b"}},
		"a star in the middle stays": {[]string{"/a*b", "/c"}, []string{"/a*b", "/c"}, nil, nil},
		"what no browser asks for":   {nil, []string{"/a b", "x/*", "", "/a/../b", "/%2f"}, nil, []string{"", "/%2f", "/a b", "/a/../b", "x/*"}},
		"a star alone":               {nil, []string{"*"}, []string{"* new"}, nil},
		"a list that is gone":        {[]string{"/a", "/b*"}, nil, []string{"/a by nothing", "/b* by nothing"}, nil},
	} {
		c := Compare(locations(tt.before...), locations(tt.after...))
		var got []string
		for _, class := range c.Classes {
			word := " changes"
			switch {
			case class.After[0] == nil:
				word = " by nothing"
			case class.Before[0] == nil:
				word = " new"
			case !class.Before.Plain() || !class.After.Plain():
				word = " depends"
			}
			got = append(got, class.Pattern+word)
		}
		if !slices.Equal(got, tt.want) || !slices.Equal(c.Unclear, tt.unclear) {
			t.Errorf("%s: %q, unclear %q; want %q, %q", name, got, c.Unclear, tt.want, tt.unclear)
		}
	}
}

// TestUnfinishedSpecs: no spec that decodes is too odd to compare.
func TestUnfinishedSpecs(t *testing.T) {
	checks(t, 2000)
	words := []any{nil, "", "*", "/*", "/a", "${path}", true, 1.5, []any{}, []any{nil}, map[string]any{}}
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.SampledFrom(words)
		if depth == 0 {
			return leaf
		}
		object := rapid.MapOfN(rapid.SampledFrom([]string{
			"hostname", "locations", "upstreams", "tls", "path", "host", "upstream", "cache", "edgeTTL", "name", "servers", "port",
		}), value(depth-1), 0, 5)
		return rapid.OneOf(leaf, rapid.Map(object, func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }))
	}
	rapid.Check(t, func(t *rapid.T) {
		spec := func(name string) map[string]any {
			return map[string]any{"locations": value(3).Draw(t, name), "upstreams": value(3).Draw(t, name), "hostname": value(1).Draw(t, name)}
		}
		before, after := spec("before"), spec("after")
		a, b := Read(before), Read(after)
		if c := Compare(a, a); !reflect.DeepEqual(c, Change{Of: c.Of, Same: c.Same}) {
			t.Fatalf("no change is %+v", c)
		}
		Compare(a, b)
	})
}

// large is a site of n locations, with deep, shared and exact paths.
func large(n int) *Site {
	s := &Site{}
	for i := range n {
		l := Location{Path: fmt.Sprintf("/%d/%d/%d/*", i%7, i%70, i), Index: i}
		switch i % 5 {
		case 1:
			l.Path = fmt.Sprintf("/%d/%d", i%7, i)
		case 2:
			l.Path = fmt.Sprintf("/%d/%d/*", i%7, i%70)
		}
		l.Behaviour[Origin].Text = fmt.Sprint(i % 3)
		s.Locations = append(s.Locations, l)
	}
	return s
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{500, 5000, 50000} {
		before, after := large(n), large(n)
		slices.Reverse(after.Locations)
		for i := range after.Locations {
			after.Locations[i].Index = i
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compare(before, after)
			}
		})
	}
}

// hosts is a site of n hosts with a location for all their requests, and n locations of any host.
func hosts(n int) *Site {
	s := &Site{}
	for i := range n {
		s.Locations = append(s.Locations, Location{Path: "/*", Host: fmt.Sprint("h", i), Index: i})
		s.Locations[i].Behaviour[Origin].Text = fmt.Sprint(i)
	}
	for i := range n {
		s.Locations = append(s.Locations, Location{Path: fmt.Sprint("/", i, "/*"), Index: n + i})
	}
	return s
}

func BenchmarkCompareHosts(b *testing.B) {
	for _, n := range []int{300, 600, 2500} {
		before, after := hosts(n), hosts(n)
		after.Locations[n].Behaviour[EdgeTTL].Text = "1"
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c := Compare(before, after); c.Of != n*(n+1)+n+1 || len(c.Classes)+c.More != n+1 {
					b.Fatal(c.Of, len(c.Classes), c.More)
				}
			}
		})
	}
}

// TestCost: what twice as large a site costs. A site of hosts has as many classes as hosts times paths, of which
// only those that differ take memory.
func TestCost(t *testing.T) {
	for name, make := range map[string]func(int) *Site{"paths": large, "hosts": hosts} {
		cost := func(n int) float64 {
			before, after := make(n), make(n)
			after.Locations[n-1].Behaviour[EdgeTTL].Text = "1"
			return testing.AllocsPerRun(1, func() { Compare(before, after) })
		}
		if ratio := cost(1000) / cost(500); ratio > 2.5 {
			t.Errorf("%s: %.1f times as much", name, ratio)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	s := large(5000)
	m := NewMap(s, s)
	b.ReportAllocs()
	for b.Loop() {
		for i := range 20000 {
			m.Find("h", "/3/10/"+fmt.Sprint(i))
		}
	}
}

// TestTextIsThatOfTidy: what is written without a tree is what Tidy's tree is in JSON.
func TestTextIsThatOfTidy(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalars := rapid.SampledFrom([]any{nil, "", "a", "\"\n", true, encoding.Number("1.50"), encoding.Number("7")})
		if depth == 0 {
			return scalars
		}
		below := value(depth - 1)
		return rapid.OneOf(scalars,
			rapid.Map(rapid.SliceOfN(below, 0, 3), func(list []any) any { return list }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), below, 0, 3), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		v, want := value(3).Draw(t, "value"), ""
		switch tidy := Tidy(v).(type) {
		case nil:
		case string:
			want = tidy
		default:
			want = string(canon.Bytes(tidy))
		}
		if got := text(v); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
