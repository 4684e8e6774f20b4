package purge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAddress(t *testing.T) {
	for _, c := range []struct{ text, host, path, problem string }{
		{"/a/b.html", "", "/a/b.html", ""},
		{"/über uns/", "", "/%C3%BCber%20uns/", ""},
		{"/a%20b", "", "/a%20b", ""},
		{"/a*", "", "/a*", ""},
		{"/a#top", "", "/a", ""},
		{`/a\b`, "", "/a/b", ""},
		{"/s?q={a b}'", "", "/s?q={a%20b}%27", ""},
		{"https://Shop.Example.com./a", "shop.example.com", "/a", ""},
		{"HTTP://shop.example.com:80", "shop.example.com", "/", ""},
		{"https://shop.example.com?q", "shop.example.com", "/?q", ""},
		{"https://bücher.example/ä", "xn--bcher-kva.example", "/%C3%A4", ""},
		{"https://shop.example.com:8443/a", "", "", "has a port"},
		{"https://me:secret@shop.example.com/a", "", "", "has a user name or a password"},
		{"ftp://shop.example.com/a", "", "", "not an http"},
		{"https:///a", "", "", "has no hostname"},
		{"shop.example.com/a", "", "", "neither a path"},
		{"a", "", "", "neither a path"},
		{"", "", "", "neither a path"},
		{"/a/*/b", "", "", "has * before"},
		{"/\xff", "", "", "not UTF-8"},
		{"/a /b", "", "", "has several paths"},
		{"/a b https://shop.example.com/c", "", "", "has several paths"},
		{"/a # of a", "", "", "has a space before its #"},
		{"https://shop.example.com/a\t#", "", "", "has a space before its #"},
		{"/a\rb", "", "", "control character"},
		{"https://shop.example.com/a\tb", "", "", "control character"},
		{"/a,/b", "", "", "has several paths"},
		{"https://shop.example.com/a,https://shop.example.com/b", "", "", "has several paths"},
		{"/a,b", "", "/a,b", ""},
		{"/a/%2e%2E/b", "", "", "segment . or .."},
		{"https://shop.example.com/./b", "", "", "segment . or .."},
		{"/${X}/a", "", "", `"${X}"`},
		{"/%7B%7b .Ver %7D}/*", "", "", "placeholder"},
		{"https://shop.example.com/a?v=$VERSION", "", "", `"$VERSION"`},
		{"/%HOST%/x", "", "", "placeholder"},
		{"/%E4B%20/$5/$A", "", "/%E4B%20/$5/$A", ""},
		{"//host/z", "", "", "begins with //"},
		{`/\host/z`, "", "", "begins with //"},
	} {
		got, err := ParseAddress(c.text)
		switch {
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("ParseAddress(%q) = %v, want %q", c.text, err, c.problem)
		case c.problem != "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("ParseAddress(%q) repeats a password: %v", c.text, err)
		case c.problem == "" && (err != nil || got != Address{c.host, c.path}):
			t.Errorf("ParseAddress(%q) = %+v, %v", c.text, got, err)
		}
	}
}

// TestAddressesAreASCII: whatever is named, what comes out is plain, and names the
// same when it is read again.
func TestAddressesAreASCII(t *testing.T) {
	for _, text := range []string{"/ʰA%", "/%ABC%"} {
		if a, err := ParseAddress(text); err != nil {
			t.Errorf("%q became %q, %v", text, a.Path, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, err := ParseAddress("/" + rapid.String().Draw(t, "text"))
		if err != nil {
			return
		}
		if strings.ContainsFunc(a.Path, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%q is not plain", a.Path)
		}
		if again, err := ParseAddress(a.Path); err != nil || again != a {
			t.Fatalf("%q became %q, %v", a.Path, again.Path, err)
		}
		served, _ := Mappings{{To: Address{Path: "/"}}}.ServedAddresses(rapid.StringN(0, 20, -1).Draw(t, "name"), CleanPages)
		for _, a := range served {
			if strings.ContainsAny(a.Path, "?#*\\ \n") {
				t.Fatalf("%q does not stand for itself", a.Path)
			}
		}
	})
}

func TestPlace(t *testing.T) {
	hosts := NewHosts([]string{"Shop.example.com", "example.com", "img.shop.example.com."})
	for _, c := range []struct{ host, hostname, subdomain string }{
		{"shop.example.com", "Shop.example.com", ""},
		{"WWW.shop.example.com.", "Shop.example.com", "www"},
		{"a.b.example.com", "example.com", "a.b"},
		{"img.shop.example.com", "img.shop.example.com.", ""},
		{"myshop.example.com", "example.com", "myshop"},
		{"example.org", "", ""},
		{"com", "", ""},
		{"", "", ""},
	} {
		hostname, subdomain, ok := hosts.FindHostname(c.host)
		if hostname != c.hostname || subdomain != c.subdomain || ok != (c.hostname != "") {
			t.Errorf("Place(%q) = %q, %q, %v", c.host, hostname, subdomain, ok)
		}
	}
}

func TestMappings(t *testing.T) {
	var m Mappings
	for _, text := range []string{
		"public/ -> /", "public/blog/ -> https://Blog.example.com/", "public/blog/ -> /b/", "robots.txt->/robots.txt", "./docs/->/d%C3%B6cs/",
	} {
		each, err := ParseMapping(text)
		if err != nil {
			t.Fatal(err)
		}
		m = append(m, each)
	}
	for _, c := range []struct {
		name string
		want []Address
	}{
		{"public/a b/ü.html", []Address{{Path: "/a%20b/%C3%BC.html"}}},
		{"public/100%?#\\.html", []Address{{Path: "/100%25%3F%23%5C.html"}}},
		{"public/index.html", []Address{{Path: "/index.html"}, {Path: "/"}}},
		{"public/a/index.html", []Address{{Path: "/a/index.html"}, {Path: "/a/"}, {Path: "/a"}}},
		{"public/xindex.html", []Address{{Path: "/xindex.html"}}},
		{"public/blog/x", []Address{{"blog.example.com", "/x"}, {Path: "/b/x"}}},
		{"public/latin\xe9", []Address{{Path: "/latin%E9"}}},
		{"robots.txt", []Address{{Path: "/robots.txt"}}},
		{"robots.txt.bak", nil},
		{"docs/a", []Address{{Path: "/d%C3%B6cs/a"}}},
		{"publication/a", nil},
	} {
		got, err := m.ServedAddresses(c.name, IndexPages)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Serve(%q) = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := m.ServedAddresses("public/a*b", IndexPages); err == nil {
		t.Error("a name with a star is served")
	}
	for pages, want := range map[string][]Address{FilePages: {{Path: "/a.html"}}, IndexPages: {{Path: "/a.html"}}, CleanPages: {{Path: "/a.html"}, {Path: "/a"}}} {
		if got, _ := m.ServedAddresses("public/a.html", pages); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", pages, got, want)
		}
	}
	if got, _ := m.ServedAddresses("public/a/index.html", FilePages); len(got) != 1 {
		t.Errorf("files alone: %v", got)
	}
	for _, text := range []string{
		"", "public/", "public/ > /", " -> /", "/abs/ -> /", "../up/ -> /", "public/../../x/ -> /", "public -> /", "public/ -> /x",
		"public/ -> x/", "public/ -> /*", "public/ -> /?a/", "public/ -> /#a/", "public/ -> ftp://a/",
	} {
		if m, err := ParseMapping(text); err == nil {
			t.Errorf("ParseMapping(%q) = %+v", text, m)
		}
	}
}

func TestReadLines(t *testing.T) {
	got, err := ReadLines(strings.NewReader("\uFEFF/a\r\n\n # no\n\t/b c \n#/d\n/e#f"))
	want := []ListEntry{{"/a", 1}, {"/b c", 4}, {"/e#f", 6}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ReadLines(strings.NewReader("/" + strings.Repeat("a", maxLine))); err == nil {
		t.Error("a line without an end is read")
	}
}

func TestComposeKeepsHostsApart(t *testing.T) {
	got := ComposeRequests([]WantedPath{
		{"b.com", "", "/x"},
		{"a.com", "www", "/both"},
		{"a.com", "", "/both"},
		{"a.com", "", "/own"},
		{"a.com", "img", "/i/*"},
		{"a.com", "www", "/i/*"},
		{"a.com", "www", "/i/1"},
		{"a.com", "", "/i/2"},
		{"a.com", "", "/own"},
	})
	want := []ReducedPurge{
		{Spec: Spec{"a.com", nil, []string{"/own"}}, Dropped: []DroppedPath{{"/i/2", "/i/*"}}},
		{Spec: Spec{"a.com", []string{"img", "www"}, []string{"/i/*"}}},
		{Spec: Spec{"a.com", []string{"www"}, []string{"/both"}}, Dropped: []DroppedPath{{"/i/1", "/i/*"}}},
		{Spec: Spec{"b.com", nil, []string{"/x"}}},
	}
	for i := range got {
		if len(got[i].Subdomains) == 0 {
			got[i].Subdomains = nil
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// covers is the definition: what the requests purge.
func covers(all []ReducedPurge, w WantedPath) bool {
	return slices.ContainsFunc(all, func(c ReducedPurge) bool {
		return c.Hostname == w.Hostname && (w.Subdomain == "" || slices.Contains(c.Subdomains, w.Subdomain)) &&
			slices.ContainsFunc(c.Paths, func(p string) bool { return purges(p, w.Path) })
	})
}

func TestComposePurgesWhatIsWantedAndNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) WantedPath {
			return WantedPath{
				rapid.SampledFrom([]string{"a.com", "b.com"}).Draw(t, "host"),
				rapid.SampledFrom([]string{"", "", "www", "img"}).Draw(t, "sub"),
				rapid.StringMatching(`/([ab]/){0,3}[ab]?\*?`).Draw(t, "path"),
			}
		}), 0, 30).Draw(t, "wanted")
		got := ComposeRequests(wanted)
		for _, w := range wanted {
			if !covers(got, w) {
				t.Fatalf("%+v is not purged by %+v", w, got)
			}
		}
		for i, c := range got {
			if needless := FindRedundant(c.Paths); len(needless) > 0 {
				t.Fatalf("%v holds what it need not: %v", c.Paths, needless)
			}
			for _, p := range c.Paths {
				if by, ok := coveredBy(slices.Delete(slices.Clone(got), i, i+1), c, p); ok {
					t.Fatalf("%s of %+v is purged by %+v", p, c, by)
				}
				if !slices.ContainsFunc(wanted, func(w WantedPath) bool { return w.Hostname == c.Hostname && w.Path == p }) {
					t.Fatalf("nobody wanted %s", p)
				}
			}
		}
	})
}

// coveredBy finds a request that purges a path on all names of another request.
func coveredBy(rest []ReducedPurge, c ReducedPurge, path string) (ReducedPurge, bool) {
	at := slices.IndexFunc(rest, func(r ReducedPurge) bool {
		return r.Hostname == c.Hostname && hasAll(r.Subdomains, c.Subdomains) &&
			slices.ContainsFunc(r.Paths, func(p string) bool { return purges(p, path) })
	})
	if at < 0 {
		return ReducedPurge{}, false
	}
	return rest[at], true
}

func TestSplit(t *testing.T) {
	spec := Spec{Hostname: "a.com", Subdomains: []string{"www"}}
	for i := range 25 {
		spec.Paths = append(spec.Paths, fmt.Sprintf("/%02d", i))
	}
	spec.Paths = append(spec.Paths, "/p/*", "/q/*", "/r/*")
	limits := Usage{Requests: 1, Paths: 10, Prefixes: 2}
	parts := spec.SplitByLimits(limits)
	var all []string
	for _, p := range parts {
		if over := p.Usage().Exceeds(limits); over != nil || p.Hostname != "a.com" || len(p.Subdomains) != 1 || len(p.Paths) == 0 {
			t.Errorf("%+v: %v", p, over)
		}
		if u := p.Usage(); u.Paths < 8 || u.Paths > 9 || u.Prefixes != 1 {
			t.Errorf("not of a size: %+v", u)
		}
		all = append(all, p.Paths...)
	}
	slices.Sort(all)
	if len(parts) != 3 || !slices.Equal(all, spec.Paths) {
		t.Errorf("got %d parts with %v", len(parts), all)
	}
	if parts := spec.SplitByLimits(HostLimits()); len(parts) != 1 || !slices.Equal(parts[0].Paths, spec.Paths) {
		t.Errorf("what fits is split: %+v", parts)
	}
}

func TestSpecCovers(t *testing.T) {
	spec := func(subdomains string, paths ...string) Spec {
		return Spec{Hostname: "shop.example.com", Subdomains: strings.Fields(subdomains), Paths: paths}
	}
	wide := spec("www img", "/b/*", "/a")
	other := wide
	other.Hostname = "docs.example.com"
	for i, c := range []struct {
		spec Spec
		want bool
	}{
		{wide, true},
		{spec("", "/a"), true},
		{spec("img", "/b/x", "/b/y/*", "/a", "/a"), true},
		{spec("api", "/a"), false},
		{spec("", "/*"), false},
		{spec("", "/a", "/c"), false},
		{spec("", "/a/*"), false},
		{other, false},
	} {
		if wide.CoversSpec(c.spec) != c.want {
			t.Errorf("%d: %v covers %v: %v", i, wide, c.spec, !c.want)
		}
	}
}
