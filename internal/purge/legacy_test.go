package purge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func legacy() LegacyListParser {
	return LegacyListParser{Hosts: NewHosts([]string{"shop.example.com", "example.com", "Blog.Example.org.", "Bücher.example.com"}), Service: "https://purge.example.net/v1/"}
}

// place places the entries of a list, and returns why the others have no place.
func (l LegacyListParser) place(list ...ListEntry) (wanted []WantedPath, unplaced []string) {
	for _, line := range list {
		if found, err := l.ParseEntry(line.Text); err != nil {
			unplaced = append(unplaced, err.Error())
		} else {
			wanted = append(wanted, found...)
		}
	}
	return wanted, unplaced
}

func TestLegacyPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"https://shop.example.com/a.css":                                          "shop.example.com  /a.css",
		"https://www.shop.example.com/a.css":                                      "shop.example.com www /a.css",
		"http://a.b.shop.example.com":                                             "shop.example.com a.b /",
		"https://img.example.com/*":                                               "example.com img /*",
		"https://WWW.SHOP.example.com.:443/A#top":                                 "shop.example.com www /A",
		"http://blog.example.org:80/":                                             "Blog.Example.org.  /",
		"https://xn--bcher-kva.example.com/a":                                     "Bücher.example.com  /a",
		"https://www.BÜCHER.example.com/a":                                        "Bücher.example.com www /a",
		"//shop.example.com/a":                                                    "shop.example.com  /a",
		"www.shop.example.com/a/**":                                               "shop.example.com www /a/*",
		"shop.example.com":                                                        "shop.example.com  /",
		"https://shop.example.com/ä b/%2Fc|d":                                     "shop.example.com  /%C3%A4%20b/%2Fc|d",
		"https://shop.example.com/to/https://x.org/":                              "shop.example.com  /to/https://x.org/",
		"https://purge.example.net/v1?url=https%3A%2F%2Fwww.shop.example.com%2Fa": "shop.example.com www /a",
		"https://purge.example.net/v1/?soft=1&u=//shop.example.com/b&u=https://example.com/c&x=/d": "shop.example.com  /b,example.com  /c",
		"HTTPS://PURGE.example.net/v1/all?q=https://example.com/c%23d":                             "example.com  /c",
	} {
		wanted, unplaced := legacy().place(ListEntry{text, 1})
		var got []string
		for _, w := range wanted {
			got = append(got, w.Hostname+" "+w.Subdomain+" "+w.Path)
		}
		if len(unplaced) > 0 || strings.Join(got, ",") != want {
			t.Errorf("%s: %q, %+v", text, got, unplaced)
		}
	}
}

// TestLegacyOfAnUnknownService: a request is known by the address in its query
// alone.
func TestLegacyOfAnUnknownService(t *testing.T) {
	l := legacy()
	l.Service = ""
	wanted, unplaced := l.place(ListEntry{"https://old.example.net/purge?target=https://example.com/c", 1})
	if len(wanted) != 1 || wanted[0].Path != "/c" || len(unplaced) > 0 {
		t.Errorf("%+v, %+v", wanted, unplaced)
	}
}

func TestLegacyPlacesNothingElse(t *testing.T) {
	for text, part := range map[string]string{
		"/a.css":                      "names no host",
		"a.css":                       "neither a path",
		"https://other.example.net/a": "which no known CDN",
		"https://social.example.net/share?of=https://example.com/c": "which no known CDN",
		"https://example.com/a # the start":                         "more than one address",
		"https://example.com/a https://example.com/b":               "more than one address",
		"https://example.com/a,HTTPS://example.com/b":               "more than one address",
		"https://example.com/a\t200":                                "more than one address",
		"https://notshop.example.net/a":                             "which no known CDN",
		"https://xshop.example.org/a":                               "which no known CDN",
		"ftp://shop.example.com/a":                                  "not an http",
		"curl -X PURGE https://shop.example.com/":                   "more than one address",
		"https://u:p@shop.example.com/a":                            "user name",
		"https://shop.example.com:8443/a":                           "port",
		"https:///a":                                                "no hostname",
		"https://shop.example.com/a?v=3":                            "has a query",
		"https://shop.example.com?v=3":                              "has a query",
		"https://shop.example.com/img/*/a.png":                      "before its last character",
		"https://shop.example.com/*.css":                            "before its last character",
		"https://*.shop.example.com/a":                              "* in its host",
		"https://my_img.shop.example.com/a":                         "is not a subdomain",
		"https://-a.shop.example.com/a":                             "is not a subdomain",
		"https://shop.example.com.shop.example.com/a":               "is not a subdomain",
		"https://shop.example.com/a/../b":                           "segment",
		"https://shop.example.com/a/%2E%2e/b":                       "segment",
		"https://shop.example.com/\xff":                             "UTF-8",
		"https://purge.example.net/v1/":                             "without an address",
		"https://purge.example.net/v1?path=/a":                      "without an address",
		"https://purge.example.net/v1?u=https://example.com/a%3Fb":  "names",
		"https://purge.example.net/v1?u=https://other.example.net/": "names",
		"https://purge.example.net/v10?url=/a":                      "which no known CDN",
		"javascript:alert(1)":                                       "neither a path",
		"3":                                                         "neither a path",
		"<nil>":                                                     "neither a path",
	} {
		wanted, unplaced := legacy().place(ListEntry{text, 7})
		if len(wanted) > 0 || len(unplaced) != 1 || !strings.Contains(unplaced[0], part) || !strings.Contains(unplaced[0], ": ") {
			t.Errorf("%q: %+v, %+v", text, wanted, unplaced)
		}
	}
}

func TestLegacyQueries(t *testing.T) {
	for _, c := range []struct {
		policy     string
		text, want string
	}{
		{QueryDropped, "https://example.com/a?v=3#x", "/a"},
		{QueryDropped, "https://example.com?v=3", "/"},
		{QueryPrefix, "https://example.com/a?v=3", "/a*"},
		{QueryPrefix, "https://example.com/?v=3", ""},
		{QueryPrefix, "https://example.com?v=3", ""},
		{QueryPrefix, "/?v=3", ""},
		{QueryKept, "https://example.com/a?v=é", "/a?v=%C3%A9"},
		{QueryKept, "https://example.com/a?v=*", ""},
		{QueryKept, "/b?v", "/b?v"},
	} {
		l := legacy()
		l.Query, l.Host = c.policy, "www.example.com"
		wanted, unplaced := l.place(ListEntry{c.text, 1})
		switch {
		case len(wanted)+len(unplaced) != 1:
			t.Errorf("%s: %+v, %+v", c.text, wanted, unplaced)
		case c.want == "" && len(wanted) > 0, c.want != "" && (len(wanted) == 0 || wanted[0].Path != c.want):
			t.Errorf("%s %s: %+v, %+v", c.policy, c.text, wanted, unplaced)
		}
	}
}

func TestReadLegacyList(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "[]",
		"# c\n\n /a \r\n/b\n":                    "[{/a 3} {/b 4}]",
		"\uFEFF/a\n":                             "[{/a 1}]",
		"[]":                                     "[]",
		" [\"/a\",\n \" /b\\u00e9\",\n \"c\"]\n": "[{/a 1} {/bé 2} {c 3}]",
	} {
		list, err := ReadLegacyList([]byte(text))
		if got := fmt.Sprint(list); err != nil || got != want {
			t.Errorf("%q: %v\n%s\nwant\n%s", text, err, got, want)
		}
	}
	for text, part := range map[string]string{
		"[\n\"a\"": "not a JSON list", "[1]": "not a JSON list", "[\"a\"}": "not a JSON list", "{\"urls\": [\"/a\"]}": "not a JSON list", strings.Repeat("a", 70<<10): "more than",
	} {
		if _, err := ReadLegacyList([]byte(text)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestLegacyPurgesWhatIsAsked: requests that are made of a list purge each address
// that has a place, and nothing that nobody asked for but on the hostname itself.
func TestLegacyPurgesWhatIsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.Custom(func(t *rapid.T) string {
			host := rapid.SampledFrom([]string{"shop.example.com", "www.shop.example.com", "img.shop.example.com", "example.com", "a.example.com", "b.net"}).Draw(t, "host")
			return "https://" + host + rapid.StringMatching(`(/[ab]{1,2}){1,3}/?\*?`).Draw(t, "path")
		})
		var list []ListEntry
		for i, text := range rapid.SliceOfN(address, 0, 30).Draw(t, "list") {
			list = append(list, ListEntry{text, i + 1})
		}
		wanted, unplaced := legacy().place(list...)
		if len(wanted)+len(unplaced) != len(list) {
			t.Fatalf("%d and %d of %d", len(wanted), len(unplaced), len(list))
		}
		requests := ComposeRequests(wanted)
		for _, w := range wanted {
			if !slices.ContainsFunc(requests, func(c ReducedPurge) bool {
				return c.Hostname == w.Hostname && (w.Subdomain == "" || slices.Contains(c.Subdomains, w.Subdomain)) &&
					slices.ContainsFunc(c.Paths, func(p string) bool { return purges(p, w.Path) })
			}) {
				t.Fatalf("nothing purges %+v", w)
			}
		}
		for _, c := range requests {
			for _, p := range c.Paths {
				for _, s := range c.Subdomains {
					if !slices.Contains(wanted, WantedPath{c.Hostname, s, p}) {
						t.Fatalf("nobody asked for %s on %s of %s", p, s, c.Hostname)
					}
				}
			}
		}
	})
}

func FuzzLegacy(f *testing.F) {
	f.Add("https://www.shop.example.com/a?b#c")
	f.Add("[\"//example.com/*\", 1]")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadLegacyList([]byte(text))
		if err != nil {
			return
		}
		wanted, _ := legacy().place(list...)
		for _, w := range wanted {
			if CheckPath(w.Path) != nil || strings.ContainsAny(w.Path, " \n\r\t\x00") || !isSubdomain(w.Subdomain, w.Hostname) {
				t.Errorf("%q: %+v", text, w)
			}
		}
	})
}
