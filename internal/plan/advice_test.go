package plan_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/rules"
)

// objectAdvice are the rules of a plan's advice with the fields that they are about.
func objectAdvice(p *plan.Plan) []string {
	var out []string
	for _, f := range p.Advice {
		out = append(out, f.Rule+" "+f.Field)
	}
	return out
}

// TestAdviceExamples: the plan gives the advice of each rule on its bad example,
// and none on the good one.
func TestAdviceExamples(t *testing.T) {
	for _, rule := range rules.All() {
		if rule.Severity != diag.Advice {
			continue
		}
		t.Run(rule.Name, func(t *testing.T) {
			for _, example := range []struct {
				text string
				want int
			}{{rule.Bad, 1}, {rule.Good, 0}} {
				w := git(t, example.text)
				if rule.Live != "" {
					o := load(t, rule.Live).Objects[0]
					w.has(o.Key().String(), string(o.Spec)).applied(o.Key().String(), string(o.Spec))
				}
				p := w.make()
				if len(p.Advice) != example.want || len(p.Silenced) > 0 {
					t.Fatalf("%v", p.Advice)
				}
				for _, f := range p.Advice {
					if f.Rule != rule.Name || f.Severity != diag.Advice || f.Path == "" || f.Line == 0 || f.Column == 0 || f.Message == "" || f.Fix == "" {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
}

const (
	wasServed = `{hostname: shop.example.com, locations: [{path: /static/*, host: shop.example.com, upstream: a, cache: {edgeTTL: "60", ttlTimeUnit: second}}, ` +
		`{path: /a.js, upstream: b, headers: {x: v1}}, {path: /none/*, upstream: b, cache: {edgeTTL: "0"}}], ` +
		`upstreams: [{name: a, scheme: https, servers: [{host: s, port: "443"}, {host: t, port: "443"}]}, {name: b, scheme: https, servers: [{host: u, port: "443"}]}]}`
	aPurge = "{hostname: shop.example.com, paths: [%s]}"
)

func TestPurgeMissing(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		purges         []string
		want           []string
	}{
		{"another TTL", `edgeTTL: "60"`, `edgeTTL: "30"`, nil, []string{"spec.locations[0]: trueup new purge --hostname shop.example.com '/static/*' writes"}},
		{"a longer TTL", `edgeTTL: "60"`, `edgeTTL: "61"`, nil, nil},
		{"a longer unit", "second", "hour", nil, nil},
		{"the same in another unit", `"60", ttlTimeUnit: second`, `"1", ttlTimeUnit: minute`, nil, nil},
		{"less in a longer unit", `"60", ttlTimeUnit: second`, `"0", ttlTimeUnit: hour`, nil, []string{"spec.locations[0]: copies cached now stay up to 1 min, and"}},
		{"an unknown unit", "second", "fortnight", nil, []string{"spec.locations[0]: copies cached now stay up to 1 min, and"}},
		{"a longer TTL and a rewrite", `edgeTTL: "60", ttlTimeUnit: second}`, `edgeTTL: "90", ttlTimeUnit: second}, rewrite: {to: /b}`, nil, []string{"spec.locations[0]: rewrite of /static/* changes: copies cached now stay up to 1 min, and"}},
		{"a header without a known TTL", "x: v1", "x: v3", nil, []string{"spec.locations[1]: copies cached now stay until they expire, and"}},
		{
			"a longer TTL and other servers", `upstream: a, cache: {edgeTTL: "60", ttlTimeUnit: second}}, {path: /a.js, upstream: b, headers: {x: v1}}, {path: /none/*, upstream: b, cache: {edgeTTL: "0"}}], upstreams: [{name: a, scheme: https, servers: [{host: s,`,
			`upstream: a, cache: {edgeTTL: "90", ttlTimeUnit: second}}, {path: /a.js, upstream: b, headers: {x: v1}}, {path: /none/*, upstream: b, cache: {edgeTTL: "0"}}], upstreams: [{name: a, scheme: https, servers: [{host: v,`, nil,
			[]string{"spec.locations[0]"},
		},
		{"another upstream of a location", "upstream: b, headers", "upstream: a, headers", nil, []string{"spec.locations[1]: shop.example.com /a.js writes"}},
		{"another header", "x: v1", "x: v2", nil, []string{"spec.locations[1]"}},
		{"a rewrite", "headers:", "rewrite: {to: /b}, headers:", nil, []string{"spec.locations[1]"}},
		{"both", "upstream: b, headers: {x: v1}", "upstream: a, headers: {x: v2}", nil, []string{"spec.locations[1]: origin, headers of /a.js changes"}},
		{"an empty rewrite", "headers:", "rewrite: {}, headers:", nil, nil},
		{"a number as text", `edgeTTL: "60"`, `edgeTTL: "60", browserTTL: "5"`, nil, nil},
		{"what is not held", "/none/*, upstream: b", "/none/*, upstream: a", nil, nil},
		{"other servers", "{host: s,", "{host: v,", nil, []string{"spec.locations[0]: shop.example.com '/static/*' writes"}},
		{"a server more", `{host: s, port: "443"}, `, `{host: s, port: "443"}, {host: v, port: "443"}, `, nil, nil},
		{"a server less", `{host: s, port: "443"}, `, "", nil, nil},
		{"another weight", `{host: s, port: "443"`, `{host: s, port: "443", weight: "2"`, nil, nil},
		{"another scheme", "name: b, scheme: https", "name: b, scheme: http", nil, []string{"spec.locations: shop.example.com /a.js writes"}},
		{"another scheme, and a purge of what is held", "name: b, scheme: https", "name: b, scheme: http", []string{"/a.js"}, nil},
		{"a purge of all", `edgeTTL: "60"`, `edgeTTL: "30"`, []string{"/*"}, nil},
		{"a purge of the same path", `edgeTTL: "60"`, `edgeTTL: "30"`, []string{"/static/*"}, nil},
		{"a purge of a part", `edgeTTL: "60"`, `edgeTTL: "30"`, []string{"/static/a/*", "/static/b"}, []string{"spec.locations[0]"}},
		{"a purge of the file", "x: v1", "x: v2", []string{"/a.js"}, nil},
		{"a new location", "{path: /a.js", "{path: /b.js, upstream: a}, {path: /a.js", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents := []string{cdn("shop", strings.Replace(strings.Replace(wasServed, c.from, c.to, 1), "host: shop.example.com, upstream", "upstream", 1))}
			if len(c.purges) > 0 {
				documents = append(documents, purge("rel-42", fmt.Sprintf(aPurge, strings.Join(c.purges, ", "))))
			}
			answered := strings.NewReplacer(`edgeTTL: "60"`, "edgeTTL: 60", `port: "443"`, "port: 443").Replace(wasServed)
			p := git(t, documents...).has(shop, answered).applied(shop, wasServed).make()
			var got diag.List
			for _, f := range p.Advice {
				if f.Rule == rules.PurgeMissing {
					got = append(got, f)
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("%v", got)
			}
			for i, want := range c.want {
				field, words, _ := strings.Cut(want, ": ")
				if got[i].Field != field || !strings.Contains(got[i].Message+" "+got[i].Fix, words) {
					t.Errorf("%s: %s %s", got[i].Field, got[i].Message, got[i].Fix)
				}
			}
		})
	}
}

func TestPurgeMissingOfHosts(t *testing.T) {
	spec := `{hostname: shop.example.com, locations: [{path: /a/*, host: %s, cache: {edgeTTL: "%d"}}]}`
	for host, covered := range map[string]bool{
		"shop.example.com": true, "SHOP.example.com": true, "www.shop.example.com": true, "img.shop.example.com": false,
		"other.example.com": true, `"*.shop.example.com"`: true, `""`: true,
	} {
		w := git(t, cdn("shop", fmt.Sprintf(spec, host, 30)), purge("rel-42", "{hostname: shop.example.com, subdomains: [www], paths: [/a/b/*, /a/*]}"))
		p := w.has(shop, fmt.Sprintf(spec, host, 60)).applied(shop, fmt.Sprintf(spec, host, 60)).make()
		if missing := slices.Contains(objectAdvice(p), "purge-missing spec.locations[0]"); missing == covered {
			t.Errorf("%s: %v", host, p.Advice)
		}
		for _, f := range p.Advice {
			if f.Rule == rules.PurgeMissing && !strings.HasPrefix(f.Fix, "trueup new purge --hostname "+host+" '/a/*' writes") {
				t.Errorf("%s: %s", host, f.Fix)
			}
		}
	}
}

// TestPurgeMissingPurgesWhatChanged: the fix purges the requests that change, and no others.
func TestPurgeMissingPurgesWhatChanged(t *testing.T) {
	const other = "{hostname: img.example.net, locations: [{path: /x}]}"
	for name, c := range map[string]struct{ locations, fix string }{
		"a hostname": {`{path: /a/*, upstream: o}`, "trueup new purge --hostname shop.example.com '/a/*' writes a purge, which apply sends after the change; or wait for the cache to expire"},
		"below that of another CDN": {
			`{path: /a/*, host: b.img.example.net, upstream: o}`,
			"trueup new purge --hostname b.img.example.net '/a/*' writes a purge, which apply sends after the change; or wait for the cache to expire",
		},
		"a host that no CDN has as hostname": {
			`{path: /a/*, host: cdn.example.org, upstream: o}`,
			"no purge can name cdn.example.org, because it is not below the hostname of a CDN; wait for the cache to expire",
		},
		"a wildcard": {`{path: /a/*, host: "*.shop.example.com", upstream: o}`, "purge each host of *.shop.example.com that clients use; or wait for the cache to expire"},
		"several hosts": {
			`{path: /a/*, host: a.shop.example.com, upstream: o}, {path: /b, host: b.shop.example.com, upstream: o}`,
			"trueup new purge 'https://a.shop.example.com/a/*' https://b.shop.example.com/b writes a purge, which apply sends after the change; or wait for the cache to expire",
		},
	} {
		spec := func(server string) string {
			return fmt.Sprintf("{hostname: shop.example.com, locations: [%s], upstreams: [{name: o, servers: [{host: %s}]}]}", c.locations, server)
		}
		p := git(t, cdn("shop", spec("a")), cdn("other", other)).has(shop, spec("b")).applied(shop, spec("b")).make()
		var fixes []string
		for _, f := range p.Advice {
			if f.Rule == rules.PurgeMissing {
				fixes = append(fixes, f.Fix)
			}
		}
		if !slices.Equal(fixes, []string{c.fix}) {
			t.Errorf("%s: %q", name, fixes)
		}
	}
}

// TestPurgeMissingOfOtherHosts: the hostname has a location of its own, and its copies stay true.
func TestPurgeMissingOfOtherHosts(t *testing.T) {
	const spec = `{hostname: shop.example.com, locations: [{path: %s, host: shop.example.com, upstream: a}, {path: /*, upstream: %s}], ` +
		`upstreams: [{name: a, servers: [{host: s}]}, {name: b, servers: [{host: t}]}]}`
	for path, missing := range map[string]bool{"/*": false, "/a/*": true} {
		was, is := fmt.Sprintf(spec, path, "b"), fmt.Sprintf(spec, path, "a")
		p := git(t, cdn("shop", is)).has(shop, was).applied(shop, was).make()
		if got := strings.Contains(fmt.Sprint(objectAdvice(p)), "purge-missing"); got != missing {
			t.Errorf("%s: %v", path, p.Advice)
		}
	}
}

// TestPurgeMissingNamesACommand: what stands in it is one word each to a shell,
// whatever the manifest holds.
func TestPurgeMissingNamesACommand(t *testing.T) {
	spec := `{hostname: shop.example.com, locations: [{path: "/it's;rm$HOME/*", cache: {edgeTTL: "%d"}}]}`
	p := git(t, cdn("shop", fmt.Sprintf(spec, 30))).has(shop, fmt.Sprintf(spec, 60)).applied(shop, fmt.Sprintf(spec, 60)).make()
	want := `trueup new purge --hostname shop.example.com '/it'\''s;rm$HOME/*' writes a purge, which apply sends after the change; or wait for the cache to expire`
	if !slices.ContainsFunc(p.Advice, func(f diag.Finding) bool { return f.Fix == want }) {
		t.Errorf("%v", p.Advice)
	}
}

// TestStaleClasses: advice is on exactly the classes of which copies are stale.
func TestStaleClasses(t *testing.T) {
	const was = `{hostname: shop.example.com, locations: [{path: /a/*, upstream: a, cors: {enabled: "true"}, cache: {edgeTTL: "60", ttlTimeUnit: second}}, {path: /*, upstream: b, cache: {edgeTTL: "5", ttlTimeUnit: second}}], ` +
		`upstreams: [{name: a, scheme: https, servers: [{host: s, port: "443"}]}, {name: b, scheme: https, servers: [{host: u, port: "443"}]}, {name: c, scheme: https, servers: [{host: u, port: "443"}]}]}`
	for _, c := range []struct{ name, from, to, want string }{
		{"CORS", `enabled: "true"`, `enabled: "false"`, "CORS of /a/* changes: copies cached now stay up to 1 min,"},
		{"a new location that has requests of another", "[{path: /a/*", "[{path: /a/b/*, upstream: b}, {path: /a/*", "origin, edge TTL, CORS of /a/b/* changes: copies cached now stay up to 1 min,"},
		{"a removed location whose requests another has", `{path: /a/*, upstream: a, cors: {enabled: "true"}, cache: {edgeTTL: "60", ttlTimeUnit: second}}, `, "", "origin, edge TTL, CORS of /a/* changes: copies cached now stay up to 1 min,"},
		{"a removed location whose requests none has", `, {path: /*, upstream: b, cache: {edgeTTL: "5", ttlTimeUnit: second}}`, "", ""},
		{"the name of an upstream", "upstream: b, cache", "upstream: c, cache", ""},
		{"a browser TTL", `"5", ttlTimeUnit`, `"5", browserTTL: "5", ttlTimeUnit`, ""},
		{"below a wider one", `"5", ttlTimeUnit: second}}]`, `"5", ttlTimeUnit: second}}, {path: /c, upstream: a}]`, "depending on the location that the platform selects, origin, edge TTL of /c changes: copies cached now stay up to 5 s,"},
		{"all but a part", "host: u", "host: v", "origin of /* (except /a/*) changes: copies cached now stay up to 5 s,"},
	} {
		p := git(t, cdn("shop", strings.Replace(was, c.from, c.to, 1))).has(shop, was).applied(shop, was).make()
		var got []string
		for _, f := range p.Advice {
			if f.Rule == rules.PurgeMissing {
				got = append(got, f.Message)
			}
		}
		if len(got) != min(1, len(c.want)) || len(got) > 0 && !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestAWaitingPurgeIsThere: what a person must decide about is not missing, and
// what was posted before the change does not cover it.
func TestAWaitingPurgeIsThere(t *testing.T) {
	const path = "{hostname: shop.example.com, paths: [/static/*]}"
	rules := func(change func(*world)) []string {
		w := git(t, cdn("shop", strings.Replace(wasServed, `"60"`, `"30"`, 1)), purge("rel-42", path)).has(shop, wasServed).applied(shop, wasServed)
		change(w)
		return objectAdvice(w.make())
	}
	if got := rules(func(w *world) { w.in.Ledger.Problem = "it is away" }); len(got) > 0 {
		t.Errorf("blocked: %v", got)
	}
	if got := rules(func(w *world) { w.sent("Purge/rel-42", "posted", path, ago()) }); !slices.Equal(got, []string{"purge-missing spec.locations[0]"}) {
		t.Errorf("posted: %v", got)
	}
}

func TestPurgesOfPaths(t *testing.T) {
	const spec = "{hostname: shop.example.com, locations: [%s], upstreams: [{name: a, servers: [{host: s}, {host: t}]}]}"
	for _, c := range []struct {
		name, locations string
		paths           []string
		want            []string
	}{
		{"all", "{path: /a/*, upstream: a}, {path: /*}", []string{"/x", "/*"}, []string{"purge-everything: /* invalidates everything cached for shop.example.com"}},
		{"all locations by prefixes", "{path: /a/*}, {path: /b/*}", []string{"/b*", "/a*"}, []string{"purge-everything: /a* invalidates"}},
		{"not all", "{path: /a/*}, {path: /b/*}", []string{"/a*", "/b/c"}, nil},
		{"files that are all", "{path: /a}", []string{"/a"}, nil},
		{"of another host too", "{path: /a/*}, {path: /b/*, host: img.shop.example.com}", []string{"/a/*"}, []string{"purge-everything: /a/* invalidates"}},
		{"outside", "{path: /a/*}, {path: /b}", []string{"/a/x", "/b", "/c", "/b/c", "/d/*"}, []string{"purge-unmatched: no location of CDN/shop serves /c, /b/c, /d/*"}},
		{"above locations", "{path: /a/b/*}, {path: /a/c}, {path: /d}", []string{"/a/*"}, nil},
		{"a pattern of files", "{path: /iso/*.sig}, {path: /b}", []string{"/iso/a", "/isa"}, []string{"purge-unmatched: serves /isa"}},
		{"no location is known", "", []string{"/a"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := git(t, cdn("shop", fmt.Sprintf(spec, c.locations)), purge("rel-42", fmt.Sprintf(aPurge, strings.Join(c.paths, ", ")))).make()
			if len(p.Advice) != len(c.want) {
				t.Fatalf("%v", p.Advice)
			}
			for i, want := range c.want {
				rule, words, _ := strings.Cut(want, ": ")
				if p.Advice[i].Rule != rule || !strings.Contains(p.Advice[i].Message, words) {
					t.Errorf("%s", p.Advice[i])
				}
			}
		})
	}
}

// TestPurgeOfWhatLeaves: a path of a location that git removes is served still.
func TestPurgeOfWhatLeaves(t *testing.T) {
	was := "{hostname: shop.example.com, locations: [{path: /old/*}, {path: /new/*}]}"
	w := git(t, cdn("shop", "{hostname: shop.example.com, locations: [{path: /new/*}]}"), purge("rel-42", fmt.Sprintf(aPurge, "/old/a")))
	if p := w.has(shop, was).applied(shop, was).make(); len(p.Advice) > 0 {
		t.Errorf("%v", p.Advice)
	}
}

// TestAdviceOfUnknownServers: of a live object that git lacks nothing is known
// but its hostname.
func TestAdviceOfUnknownServers(t *testing.T) {
	w := git(t, purge("rel-42", fmt.Sprintf(aPurge, "/a, /*"))).foreign("CDN/other", "{hostname: shop.example.com}")
	p := w.make()
	if len(p.Advice) != 1 || !strings.HasSuffix(p.Advice[0].Message, "cached for shop.example.com") {
		t.Errorf("%v", p.Advice)
	}
}

// TestAdviceOffline: what git had before stands for what is live. A purge that git
// had before is none of this change.
func TestAdviceOffline(t *testing.T) {
	posted := purge("rel-41", "{hostname: shop.example.com, paths: [/*]}")
	now := strings.Replace(wasServed, `"60"`, `"30"`, 1)
	past := plan.BaseState{Set: load(t, cdn("shop", wasServed), posted)}
	for _, c := range []struct {
		name, more string
		want       []string
	}{
		{"no purge", "{hostname: shop.example.com, paths: [/a.js]}", []string{"purge-missing spec.locations[0]"}},
		{"a purge", "{hostname: shop.example.com, paths: [/static/*]}", nil},
		{"another one too many", "{hostname: shop.example.com, paths: [/*]}", []string{"purge-everything spec.paths[0]"}},
	} {
		w := git(t, cdn("shop", now), posted, purge("rel-42", c.more))
		p := plan.MakeOffline(plan.Inputs{Set: w.in.Set}, past)
		if got := objectAdvice(p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	same := git(t, cdn("shop", wasServed), posted)
	if p := plan.MakeOffline(plan.Inputs{Set: same.in.Set}, past); len(p.Advice) > 0 {
		t.Errorf("nothing changed: %v", p.Advice)
	}
}

// TestDriftGivesNoAdvice: whoever asks what drifted does not review a change.
func TestDriftGivesNoAdvice(t *testing.T) {
	p := git(t, cdn("shop", wasServed)).has(shop, strings.Replace(wasServed, `"60"`, `"90"`, 1)).applied(shop, wasServed).make()
	if d := plan.NarrowToDrift(p); len(p.Advice) == 0 || len(d.Items) == 0 || len(d.Advice) > 0 {
		t.Errorf("%v, %v", p.Advice, d)
	}
}

// TestAnUnchangedTreeIsSilent: advice is on what a plan does.
func TestAnUnchangedTreeIsSilent(t *testing.T) {
	spec := `{hostname: shop.example.com, tls: {enabled: "true"}, locations: [{path: /*}, {path: /a}]}`
	posted := fmt.Sprintf(aPurge, "/*")
	w := git(t, cdn("shop", spec), purge("rel-42", posted)).has(shop, spec).applied(shop, spec).sent("Purge/rel-42", "posted", posted, ago())
	if p := w.make(); len(p.Advice)+len(p.Silenced) > 0 {
		t.Errorf("%v", p.Advice)
	}
}

func TestSilencedAdvice(t *testing.T) {
	p := git(t, "# trueup:ignore tls-not-forced old clients\n"+cdn("shop", `{hostname: shop.example.com, tls: {enabled: "true"}}`),
		purge("rel-42", "# trueup:ignore purge-everything a new release\n  {hostname: shop.example.com, paths: [/*]}")).make()
	if len(p.Advice) > 0 || len(p.Silenced) != 2 || p.Silenced[0].Silenced != "old clients" || p.Silenced[1].Silenced != "a new release" {
		t.Errorf("%v, %v", p.Advice, p.Silenced)
	}
}

func TestMuchAdvice(t *testing.T) {
	var locations []string
	for i := range 15 {
		locations = append(locations, fmt.Sprintf(`{path: /%d, cors: {allowOrigins: "*", allowCredentials: "true"}}`, i))
	}
	p := git(t, cdn("shop", "{hostname: shop.example.com, locations: ["+strings.Join(locations, ", ")+"]}")).make()
	if len(p.Advice) != 10 || !strings.HasSuffix(p.Advice[9].Message, "; the same object has more of these") {
		t.Errorf("%d: %v", len(p.Advice), p.Advice)
	}
}

// TestAdviceOnALargeObject: what a hostile manifest has thousands of costs no
// more than its share.
func TestAdviceOnALargeObject(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one goroutine, and slow with the race detector")
	}
	many := long.Choose(1500, 5000)
	document := func(ttl string) string {
		var locations, upstreams []string
		for i := range many {
			locations = append(locations, fmt.Sprintf(`{path: /*, host: h%d.example.com, upstream: u%d, cache: {edgeTTL: %q}, cors: {allowOrigins: "*", allowCredentials: "true"}}`, i, i, ttl))
			upstreams = append(upstreams, fmt.Sprintf("{name: u%d, servers: [{host: s%s}]}", i, ttl))
		}
		return fmt.Sprintf("{hostname: shop.example.com, locations: [%s], upstreams: [%s]}", strings.Join(locations, ", "), strings.Join(upstreams, ", "))
	}
	w := git(t, cdn("shop", document("60")))
	was := string(load(t, cdn("shop", document("30"))).Objects[0].Spec)
	w.has(shop, was).applied(shop, was)
	before := time.Now()
	p := w.make()
	if took := time.Since(before); len(p.Advice) != 20 || took > time.Minute {
		t.Errorf("%d findings in %v", len(p.Advice), took)
	}
}

// TestAdviceChangesNothing: whatever it finds, the plan is the same but for it.
func TestAdviceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, have := drawSpec(t, "git", false), drawSpec(t, "live", true)
		path := rapid.SampledFrom([]string{"/*", "/a", "/x"}).Draw(t, "path")
		build := func(comment string) *plan.Plan {
			w := git(t, comment+cdn("shop", want), purge("rel-42", fmt.Sprintf(aPurge, path)))
			return w.has(shop, have).applied(shop, have).with(func(o *plan.Options) { o.TakeOver = allow(t, shop) }).make()
		}
		loud := build("")
		quiet := build("# trueup:ignore tls-not-forced why\n# trueup:ignore purge-missing why\n")
		if slices.ContainsFunc(quiet.Advice, func(f diag.Finding) bool { return f.Rule == rules.PurgeMissing }) {
			t.Fatalf("not silenced: %v", quiet.Advice)
		}
		if !slices.ContainsFunc(loud.Items, func(it plan.Item) bool { return it.Op == plan.Patch || it.Op == plan.Post }) && len(loud.Advice) > 0 {
			t.Fatalf("advice on nothing: %v", loud.Advice)
		}
		for _, p := range []*plan.Plan{loud, quiet} {
			p.Advice, p.Silenced = nil, nil
			for i := range p.Items {
				p.Items[i].Line = 0
				for j := range p.Items[i].Changes {
					p.Items[i].Changes[j].Line = 0
				}
			}
		}
		if loud.Digest == "" || !reflect.DeepEqual(encoded(t, loud), encoded(t, quiet)) {
			t.Fatalf("not the same:\n%s\n%s", encoded(t, loud), encoded(t, quiet))
		}
	})
}

// TestAdviceOnTheCorpus: on manifests made from configurations of real sites
// advice is rare, and what it says of them is so.
func TestAdviceOnTheCorpus(t *testing.T) {
	root := os.Getenv("TRUEUP_CORPUS")
	if root == "" {
		t.Skip("TRUEUP_CORPUS is not set: it names the folder of the test corpus")
	}
	source := manifest.PathSource{FS: os.DirFS(root), Path: "cdns"}
	set, findings, err := manifest.Load(t.Context(), []manifest.PathSource{source}, manifest.LoadSettings{})
	if err != nil || findings.HasErrors() {
		t.Fatal(err, findings)
	}
	w := git(t, "")
	w.in.Set = set
	counts := map[string]int{}
	for _, f := range w.make().Advice {
		counts[f.Rule]++
	}
	same(t, "advice", counts, map[string]int{"location-unreachable": 8, "tls-not-forced": 1})
}

// BenchmarkAdvice: 1000 objects of 100 locations that are all new.
func BenchmarkAdvice(b *testing.B) {
	documents := make([]string, 1000)
	for i := range documents {
		var locations []string
		for j := range 100 {
			locations = append(locations, fmt.Sprintf(`{path: /section-%d/*, upstream: a, cache: {edgeTTL: "60"}, headers: {x: v1}}`, j))
		}
		documents[i] = cdn(fmt.Sprintf("c%d", i), fmt.Sprintf("{hostname: c%d.example.com, locations: [%s]}", i, strings.Join(locations, ", ")))
	}
	w := git(b, documents...)
	for b.Loop() {
		plan.NewPlanner(w.in).MakePlan()
	}
}
