package purge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckPath(t *testing.T) {
	for _, c := range []struct {
		path   string
		prefix bool
		ok     bool
	}{
		{"/", false, true},
		{"/*", true, true},
		{"/a/b", false, true},
		{"/a/*", true, true},
		{"/a*", true, true},
		{"/a?b=c", false, true},
		{"", false, false},
		{"*", true, false},
		{"a", false, false},
		{"a/*", true, false},
		{"https://example.com/a", false, false},
		{"/*/b", false, false},
		{"/a/**", true, false},
		{"/a*b*", true, false},
		{" /a", false, false},
	} {
		if got := CheckPath(c.path); (got == nil) != c.ok {
			t.Errorf("CheckPath(%q) = %v, want ok %v", c.path, got, c.ok)
		}
		if got := IsPrefix(c.path); got != c.prefix {
			t.Errorf("IsPrefix(%q) = %v, want %v", c.path, got, c.prefix)
		}
	}
}

func TestFindRedundant(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths []string
		want  []RedundantPath
	}{
		{"none", []string{"/a", "/b/*"}, nil},
		{"empty", nil, nil},
		{"below", []string{"/a/b", "/a/*"}, []RedundantPath{{Index: 0, By: 1}}},
		{"prefix below", []string{"/a/*", "/a/b/*"}, []RedundantPath{{Index: 1, By: 0}}},
		{"the folder itself is not below", []string{"/a", "/a/*"}, nil},
		{"the bare folder is", []string{"/a/", "/a/*"}, []RedundantPath{{Index: 0, By: 1}}},
		{"without slash", []string{"/a", "/ab", "/a*"}, []RedundantPath{{Index: 0, By: 2}, {Index: 1, By: 2}}},
		{"everything", []string{"/x", "/*", "/y/*"}, []RedundantPath{{Index: 0, By: 1}, {Index: 2, By: 1}}},
		{"nested names the outermost", []string{"/a/b/c", "/a/b/*", "/a/*"}, []RedundantPath{{Index: 0, By: 2}, {Index: 1, By: 2}}},
		{"twice", []string{"/a", "/a"}, []RedundantPath{{Index: 1, By: 0, Duplicate: true}}},
		{"prefix twice", []string{"/a/*", "/a/*"}, []RedundantPath{{Index: 1, By: 0, Duplicate: true}}},
		{"sibling between", []string{"/a/*", "/a!", "/a0/*", "/a/z"}, []RedundantPath{{Index: 3, By: 0}}},
	} {
		if got := FindRedundant(c.paths); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// purges is the definition: what a request for the path covers.
func purges(by, path string) bool {
	if by == path {
		return true
	}
	return strings.HasSuffix(by, "*") &&
		strings.HasPrefix(strings.TrimSuffix(path, "*"), strings.TrimSuffix(by, "*"))
}

func drawPaths(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.StringMatching(`/[ab/!é]{0,5}\*?`), 0, 40).Draw(t, "paths")
}

func TestFindRedundantEqualsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := drawPaths(t)
		drop := map[int]bool{}
		for _, r := range FindRedundant(paths) {
			drop[r.Index] = true
			if r.By == r.Index || !purges(paths[r.By], paths[r.Index]) {
				t.Fatalf("%q does not purge %q", paths[r.By], paths[r.Index])
			}
			if r.Duplicate != (paths[r.By] == paths[r.Index]) {
				t.Fatalf("duplicate %v: %q, %q", r.Duplicate, paths[r.By], paths[r.Index])
			}
		}
		for i, p := range paths {
			other := slices.ContainsFunc(paths, func(q string) bool { return q != p && purges(q, p) })
			again := slices.Index(paths, p) < i
			if drop[i] != (other || again) {
				t.Fatalf("%q at %d: dropped %v, want %v", p, i, drop[i], other || again)
			}
			if drop[i] && !stillPurged(paths, drop, p) {
				t.Fatalf("nothing that is kept purges %q", p)
			}
		}
	})
}

func stillPurged(paths []string, drop map[int]bool, path string) bool {
	for i, p := range paths {
		if !drop[i] && purges(p, path) {
			return true
		}
	}
	return false
}

func TestParse(t *testing.T) {
	got, err := ParseSpec(map[string]any{
		"hostname": "a.example.com", "subdomains": []any{"www"}, "paths": []any{"/b", "/a"}, "new": true,
	})
	want := Spec{Hostname: "a.example.com", Subdomains: []string{"www"}, Paths: []string{"/b", "/a"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := ParseSpec(nil); err != nil || !reflect.DeepEqual(got, Spec{}) {
		t.Errorf("empty: got %+v, %v", got, err)
	}
	for field, v := range map[string]any{"hostname": 1, "subdomains": "www", "paths": []any{"/a", nil}} {
		if _, err := ParseSpec(map[string]any{field: v}); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{Hostname: "h", Subdomains: rapid.SliceOf(rapid.StringMatching(`[a-c]`)).Draw(t, "subs"), Paths: drawPaths(t)}
		before := slices.Clone(s.Paths)
		c := s.Canonical()
		if !slices.Equal(s.Paths, before) {
			t.Fatal("the input was changed")
		}
		mixed := Spec{
			Hostname: "h", Subdomains: rapid.Permutation(s.Subdomains).Draw(t, "subs again"),
			Paths: append(rapid.Permutation(s.Paths).Draw(t, "paths again"), s.Paths...),
		}
		if !reflect.DeepEqual(mixed.Canonical().Tree(), c.Tree()) {
			t.Fatalf("order or repetition matters: %v, %v", mixed.Canonical(), c)
		}
		if !reflect.DeepEqual(c.Canonical().Tree(), c.Tree()) {
			t.Fatal("not idempotent")
		}
		if mixed.Usage() != s.Usage() {
			t.Fatalf("usage depends on order: %v, %v", mixed.Usage(), s.Usage())
		}
		back, err := ParseSpec(s.Tree())
		if err != nil || !slices.Equal(back.Paths, s.Paths) || !slices.Equal(back.Subdomains, s.Subdomains) {
			t.Fatalf("Tree and Parse differ: %v, %v", back, err)
		}
	})
}

func TestUsage(t *testing.T) {
	one := Spec{Paths: []string{"/a", "/b", "/a", "/c/*"}}.Usage()
	if one != (Usage{1, 2, 1}) {
		t.Errorf("usage %+v", one)
	}
	if sum := one.Add(Usage{2, 3, 4}); sum != (Usage{3, 5, 5}) {
		t.Errorf("sum %+v", sum)
	}
	if p := one.PessimisticUsage(2); p != (Usage{1, 6, 3}) {
		t.Errorf("pessimistic %+v", p)
	}
	for _, c := range []struct {
		u     Usage
		over  []string
		parts int
	}{
		{Usage{}, nil, 1},
		{Usage{100, 20000, 1000}, nil, 1},
		{Usage{101, 20000, 1000}, []string{"101 purge requests (at most 100)"}, 1},
		{Usage{1, 20001, 1000}, []string{"20001 absolute paths (at most 20000)"}, 2},
		{Usage{1, 40001, 2001}, []string{"40001 absolute paths (at most 20000)", "2001 prefix paths (at most 1000)"}, 3},
	} {
		if got := c.u.Exceeds(HostLimits()); !slices.Equal(got, c.over) {
			t.Errorf("%+v exceeds %q, want %q", c.u, got, c.over)
		}
		if got := c.u.CountParts(HostLimits()); got != c.parts {
			t.Errorf("%+v in %d parts, want %d", c.u, got, c.parts)
		}
	}
}

func TestCoverEqualsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.Custom(drawPaths), 0, 4).Draw(t, "lists")
		allowed := rapid.SliceOfN(rapid.Bool(), len(lists), len(lists)).Draw(t, "allowed")
		c := NewPrefixIndex(lists...)
		for _, path := range drawPaths(t) {
			want, found := narrowest(lists, allowed, path)
			by, ok := c.CoveredBy(path, func(list int) bool { return allowed[list] })
			if ok != found || by != want {
				t.Fatalf("%q: got %q, want %q", path, by, want)
			}
		}
	})
}

// narrowest is the definition of PrefixIndex.CoveredBy.
func narrowest(lists [][]string, allowed []bool, path string) (by string, ok bool) {
	for i, paths := range lists {
		for _, p := range paths {
			if allowed[i] && IsPrefix(p) && purges(p, path) && len(p) >= len(by) {
				by, ok = p, true
			}
		}
	}
	return by, ok
}

// atTheLimit are as many absolute and prefix paths as one hostname may have, of
// which half are covered.
func atTheLimit() (paths, prefixes []string) {
	for i := range MaxPrefixes {
		prefixes = append(prefixes, fmt.Sprintf("/static/section-%d/*", i*7919%MaxPrefixes))
	}
	for i := range MaxPaths {
		paths = append(paths, fmt.Sprintf("/static/section-%d/asset-%d.js", i%(2*MaxPrefixes), i))
	}
	return paths, prefixes
}

// BenchmarkFindRedundant and BenchmarkCover run at the documented limits of one
// hostname.
func BenchmarkFindRedundant(b *testing.B) {
	paths, prefixes := atTheLimit()
	paths = append(prefixes, paths...)
	for b.Loop() {
		if n := len(FindRedundant(paths)); n != MaxPaths/2 {
			b.Fatal(n)
		}
	}
}

func BenchmarkCover(b *testing.B) {
	paths, prefixes := atTheLimit()
	for b.Loop() {
		c, n := NewPrefixIndex(prefixes), 0
		for _, path := range paths {
			if _, ok := c.CoveredBy(path, func(int) bool { return true }); ok {
				n++
			}
		}
		if n != MaxPaths/2 {
			b.Fatal(n)
		}
	}
}
