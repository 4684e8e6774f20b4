package requesttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/routing"
	"trueup/internal/yamledit"
)

// load reads CDNs and tests.
func load(t testing.TB, texts ...string) *manifest.Set {
	t.Helper()
	var sources []manifest.PathSource
	for i, text := range texts {
		sources = append(sources, manifest.PathSource{Data: []byte(text), Display: fmt.Sprintf("%d.yaml", i)})
	}
	set, findings, err := manifest.Load(context.Background(), sources, manifest.LoadSettings{})
	if err != nil || findings.HasErrors() {
		t.Fatalf("%.300v %.600v", err, findings)
	}
	return set
}

// run runs the tests of a set on its CDNs.
func run(set *manifest.Set) *TestResults {
	var cdns []*routing.CDN
	for _, o := range set.Objects {
		cdns = append(cdns, o.CDN())
	}
	return Run(set.Tests, routing.Side{Name: routing.Git, Site: routing.NewSite(cdns...)}, routing.PrecedencesOf(""))
}

// shop has a location of each kind.
const shop = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
  locations:
    - {path: /a/*, upstream: one, action: proxy_http, cache: {level: standard, edgeTTL: "5400", browserTTL: "0", ttlTimeUnit: second}}
    - {path: /b/*, upstream: two, cache: {edgeTTL: "90"}, cors: {enabled: "true", allowOrigins: "*"}, headers: {add: {X-A: "1"}, list: [a, b]}, rewrite: {from: /b}}
    - {path: /c, upstream: lost}
    - {path: /o*d/x, upstream: one}
    - {path: /enc%41, upstream: one}
    - {path: /bü/*, upstream: one}
  upstreams:
    - {name: one, scheme: https, servers: [{host: a.example.net, port: "443"}]}
    - {name: lost, servers: [{host: l.example.net, port: "1"}]}
    - {name: two, scheme: http, servers: [{host: b.example.net, port: "80"}, {host: c.example.net, port: "8080"}]}
`

func TestExpectations(t *testing.T) {
	for _, tt := range []struct{ path, expect, want string }{
		{"/a/x", "origin: a.example.net, action: proxy_http, level: standard, cached: 1h30m, browserCached: none, cors: null, headers: {}, rewrite: null", ""},
		{"/a/x", "origin: [a.example.net:443], cached: 90 min, browserCached: 0s", ""},
		{"/a/x", "origin: [a.example.net, b.example.net]", "origin: expected a.example.net, b.example.net, got a.example.net:443 over https from /a/* at 0.yaml:7"},
		{"/a/x", "origin: a.example.net:80", "origin: expected a.example.net:80, got"},
		{"/a/x", "origin: null", "origin: expected not set, got"},
		{"/a/x", "action: null", "action: expected not set, got proxy_http"},
		{"/a/x", "cached: none", "cached: expected none, got 1 h 30 min"},
		{"/a/x", "cors: {enabled: \"true\"}", "cors.enabled: expected true, got not set"},
		{"/b/x", "origin: [c.example.net, b.example.net:80], level: null, action: null", ""},
		{"/b/x", "origin: b.example.net", "origin: expected b.example.net, got b.example.net:80, c.example.net:8080 over http"},
		{"/b/x", "cached: 90s", "cached: expected 90s, got 90, in no known ttlTimeUnit, from"},
		{"/b/x", "cached: none", "cached: expected none, got 90, in no known ttlTimeUnit, from"},
		{"/b/x", "cors: {enabled: \"true\", allowOrigins: \"*\", maxAge: null}, headers: {add: {X-A: 1}, list: [a, b]}", ""},
		{"/b/x", "cors: null", "cors: expected not set, got on, allowOrigins: *"},
		{"/b/x", "headers: {add: {X-A: \"2\"}}", "headers.add.X-A: expected 2, got 1"},
		{"/b/x", "headers: {list: [b, a]}", "headers.list: expected b, a, got a, b"},
		{"/b/x", "rewrite: {from: {x: z}}", "rewrite.from.x: expected z, got not set"},
		{"/c", "origin: a.example.net", "origin: expected a.example.net, got l.example.net:1"},
		{"/c", "served: true", ""},
		{"/c", "served: false", "served: expected no location, got /c at 0.yaml:9"},
		{"/d", "served: false", ""},
		{"/d", "served: true", "served: expected a location, got no location matches /d"},
		{"/d", "cached: none", "served: expected a location, got no location matches /d"},
		{"/d", "served: false, cached: 1h", "served: expected no location, got no location matches /d"},
		{"/d", "", "expect: expected at least one field, got none"},
		{"/a/x", "  ", "expect: expected at least one field, got none"},
		{"/old/x", "served: false", `"/o*d/x" may match: its pattern is not documented`},
		{"/encA", "served: false", `"/enc%41" may match: its pattern is not documented`},
		{"/b%c3%bc/x", "served: false", `"/bü/*" may match: its pattern is not documented`},
		{"/en", "served: false", ""},
	} {
		expect := ""
		if tt.expect != "" {
			expect = ", expect: {" + tt.expect + "}"
		}
		set := load(t, shop, "{apiVersion: trueup/v1, kind: RequestTest, spec: {tests: [{url: \"https://shop.example.com"+tt.path+"\""+expect+"}]}}")
		r := run(set)
		got := ""
		for _, f := range r.Findings(diag.Error) {
			got += strings.TrimPrefix(f.Message, "https://shop.example.com"+tt.path+": ")
			if f.Line != 1 || f.Column == 0 || f.Path != "1.yaml" || f.Fix == "" {
				t.Errorf("%s %s: %+v", tt.path, tt.expect, f)
			}
		}
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) || (r.Failed == 1) != (tt.want != "") || r.Passed+r.Failed != 1 {
			t.Errorf("%s %s: %q, want %q", tt.path, tt.expect, got, tt.want)
		}
	}
}

// TestUpdatedTestsPass: what --update writes is what the next run expects, whatever was expected before.
func TestUpdatedTestsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.SampledFrom([]string{
			"origin: a.example.net", "origin: [b.example.net, c.example.net]", "origin: null", "action: x", "level: standard", "cached: 5m", "browserCached: none",
			"cors: null", "cors: {enabled: \"false\", maxAge: null}", "headers: {add: {X-A: \"2\", X-B: \"1\"}}", "rewrite: null", "served: true", "served: false",
		})
		name := func(text string) string { name, _, _ := strings.Cut(text, ":"); return name }
		expect := rapid.SliceOfNDistinct(field, 0, 5, name).Draw(t, "expect")
		path := rapid.SampledFrom([]string{"/a/x", "/b/x", "/c", "/d"}).Draw(t, "path")
		text := "apiVersion: trueup/v1\nkind: RequestTest\nspec:\n  tests:\n    - url: https://shop.example.com" + path + " # kept\n"
		if len(expect) > 0 {
			text += "      expect:\n        " + strings.Join(expect, "\n        ") + "\n"
		}
		set := loadText(t, text)
		r := run(set)
		for _, changes := range r.ListUpdates() {
			updated, err := yamledit.WithExpectations([]byte(text), changes)
			if err != nil {
				t.Fatal(err)
			}
			text = string(updated)
		}
		set = loadText(t, text)
		// A TTL without a unit can't be expected: a test that expects one goes on failing.
		unknown := path == "/b/x" && slices.ContainsFunc(expect, func(e string) bool { return name(e) == "cached" })
		if r := run(set); (r.Failed > 0) && !unknown || !strings.Contains(text, "# kept") {
			t.Fatalf("%v\n%s", r.Findings(diag.Error), text)
		}
	})
}

func loadText(t *rapid.T, text string) *manifest.Set {
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: []byte(shop), Display: "0.yaml"}, {Data: []byte(text), Display: "1.yaml"}}, manifest.LoadSettings{})
	if err != nil || findings.HasErrors() {
		t.Fatalf("%.300v %.600v", err, findings)
	}
	return set
}

// many returns n CDNs and a test of each.
func many(n int) (texts []string) {
	var tests strings.Builder
	tests.WriteString("apiVersion: trueup/v1\nkind: RequestTest\nspec:\n  tests:\n")
	for i := range n {
		texts = append(texts, strings.ReplaceAll(strings.ReplaceAll(shop, "shop", fmt.Sprintf("shop%d", i)), "/o*d/x", "/old"))
		fmt.Fprintf(&tests, "    - {url: \"https://shop%d.example.com/a/x\", expect: {origin: a.example.net, cached: 1h30m, cors: null}}\n", i)
	}
	return append(texts, tests.String())
}

func TestManyTestsAreFast(t *testing.T) {
	set := load(t, many(1000)...)
	start := time.Now()
	r := run(set)
	MeasureCoverage(r.Cases, set.Objects)
	if r.Passed != 1000 {
		t.Errorf("%d passed: %v", r.Passed, r.Findings(diag.Error)[:1])
	}
	t.Logf("1000 requests on 1000 CDNs: %v", time.Since(start))
}

// TestFailedTestsCost: no failure reads the whole manifest again.
func TestFailedTestsCost(t *testing.T) {
	cost := func(n int) float64 {
		locations, tests := "    - {path: /0, upstream: one}\n", "apiVersion: trueup/v1\nkind: RequestTest\nspec:\n  tests:\n"
		for i := range n {
			locations += fmt.Sprintf("    - {path: /%d/*, upstream: one}\n", i)
			tests += fmt.Sprintf("    - {url: \"https://shop.example.com/%d/x\", expect: {cached: 1s}}\n", i)
		}
		set := load(t, strings.Replace(shop, "  locations:\n", "  locations:\n"+locations, 1), tests)
		return testing.AllocsPerRun(1, func() {
			if r := run(set); r.Failed != n || r.Cases[n-1].Failures[0].Got[0].Line != 7+n {
				t.Fatalf("%d failed; the last got %+v", r.Failed, r.Cases[n-1].Failures)
			}
		})
	}
	if few, many := cost(100), cost(1000); many > 20*few {
		t.Errorf("%.0f allocations, and %.0f with 10 times as many locations and tests", few, many)
	}
}

// TestAnotherCDNHasTheHost: a failure names the file and the location of the CDN that answers, whichever that is.
func TestAnotherCDNHasTheHost(t *testing.T) {
	b := "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: b}\nspec:\n  hostname: b.example.com\n  locations:\n    - {path: /b}\n    - {path: /x, host: docs.example.com}\n"
	docs := "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: docs}\nspec: {hostname: docs.example.com, locations: [{path: /*, action: proxy}]}\n"
	set := load(t, docs, b, "{apiVersion: trueup/v1, kind: RequestTest, spec: {tests: [{url: \"https://docs.example.com/x\", expect: {action: proxy}}]}}")
	r := run(set)
	want := "https://docs.example.com/x: action: expected proxy; it depends on the platform: " +
		"proxy from /* at 0.yaml:4 (as trueup assumes); or not set from /x at 1.yaml:8 (if a location's host goes before a hostname " +
		"or if all CDNs with the host compete)"
	if found := r.Findings(diag.Error); len(found) != 1 || found[0].Message != want {
		t.Errorf("%v\nwant %s", found, want)
	}
	if c := MeasureCoverage(r.Cases, set.Objects); len(c.Missing) != 1 || c.Missing[0].Name != "/b" {
		t.Errorf("%+v", c.Missing)
	}
}
