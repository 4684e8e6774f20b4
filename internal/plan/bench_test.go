package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// large is a spec of so many locations, in which text stands in for what git and
// live may differ in.
func large(name string, locations int, ttl string) string {
	list := make([]string, locations)
	for i := range list {
		list[i] = fmt.Sprintf(`{path: /section-%d/*, host: %s.example.com, action: proxy_http, upstream: u%d, cache: {level: standard, edgeTTL: %q, ttlTimeUnit: second}, headers: {}}`,
			i, name, i%3, ttl)
	}
	var upstreams []string
	for i := range 3 {
		upstreams = append(upstreams, fmt.Sprintf(`{name: u%d, scheme: https, servers: [{host: a%d.example.com, port: "443", weight: "1"}, {host: b.example.com, port: "443", weight: "2"}]}`, i, i))
	}
	return fmt.Sprintf("{hostname: %s.example.com, tls: {forced: \"true\"}, upstreams: [%s], locations: [%s]}",
		name, strings.Join(upstreams, ", "), strings.Join(list, ", "))
}

// crowd is a world of so many objects, of which so many hundredths differ, and of more documents.
func crowd(t tester, n, percent, locations int, more ...string) *world {
	documents := make([]string, n)
	for i := range documents {
		name := fmt.Sprintf("c%d", i)
		documents[i] = cdn(name, large(name, locations, "3600"))
	}
	w := git(t, append(documents, more...)...)
	for i := range n {
		name, ttl := fmt.Sprintf("c%d", i), "3600"
		if i*percent/100 != (i+1)*percent/100 {
			ttl = "60"
		}
		w.has("CDN/"+name, large(name, locations, ttl)).applied("CDN/"+name, large(name, locations, ttl))
	}
	return w
}

// BenchmarkMake plans objects of six locations of which some or all differ, and
// one large object.
func BenchmarkMake(b *testing.B) {
	for _, c := range []struct{ objects, percent, locations int }{
		{100, 0, 6}, {1000, 0, 6}, {1000, 1, 6}, {100, 100, 6}, {1000, 100, 6}, {1, 100, 500}, {1, 100, 5000},
	} {
		b.Run(fmt.Sprintf("objects=%d/changed=%d/locations=%d", c.objects, c.percent, c.locations), func(b *testing.B) {
			w := crowd(b, c.objects, c.percent, c.locations)
			b.ReportAllocs()
			for b.Loop() {
				plan.NewPlanner(w.in).MakePlan()
			}
		})
	}
}

// BenchmarkFile writes and reads the file of a plan, and compares it with another.
func BenchmarkFile(b *testing.B) {
	for _, n := range []int{100, 1000} {
		made := crowd(b, n, 100, 6).make()
		file := fileOf(b, made)
		b.Run(fmt.Sprintf("encode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fileOf(b, made)
			}
		})
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := plan.DecodePlan(file); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("differences/%d", n), func(b *testing.B) {
			other := crowd(b, n, 0, 6).make()
			b.ReportAllocs()
			for b.Loop() {
				plan.Differences(made, other)
			}
		})
	}
}

// BenchmarkPurges plans requests of one hostname at its limits, and as many of
// hostnames of their own, with what was sent before.
func BenchmarkPurges(b *testing.B) {
	paths := make([]string, 20000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/static/section-%d/asset-%d.js", i%2000, i)
	}
	huge := git(b, cdn("a", large("a", 500, "60")), purge("p", fmt.Sprintf("{hostname: a.example.com, paths: [%s]}", strings.Join(paths, ", "))))
	documents := []string{cdn("a", large("a", 6, "60"))}
	for i := range 1000 {
		documents = append(documents, purge(fmt.Sprintf("p%d", i), fmt.Sprintf("{hostname: a.example.com, paths: [/x/%d, /y/%d/*]}", i, i)))
	}
	small := git(b, documents...)
	for i := range 1000 {
		small.sent(fmt.Sprintf("Purge/old%d", i), ledger.Posted, fmt.Sprintf("{hostname: b.example.com, paths: [/x/%d]}", i), ago())
	}
	for name, w := range map[string]*world{"20000 paths": huge, "1000 requests": small} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plan.NewPlanner(w.in).MakePlan()
			}
		})
	}
}

// BenchmarkOffline compares a request of many paths with itself in another order,
// and with one path more in front.
func BenchmarkOffline(b *testing.B) {
	for _, n := range []int{2000, 19999} {
		var paths []string
		for i := range n {
			paths = append(paths, fmt.Sprintf("/p/%d", i))
		}
		request := func() string { return purge("p", "{hostname: a.example.com, paths: ["+strings.Join(paths, ", ")+"]}") }
		was := load(b, request())
		paths = append([]string{"/new"}, paths...)
		more := git(b, request())
		slices.Reverse(paths)
		turned := git(b, request())
		for name, w := range map[string]*world{"one more": more, "turned round": turned} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p := plan.MakeOffline(w.in, plan.BaseState{Set: was})
					if got := len(find(b, p, key(b, "Purge/p").String()).Changes); got != 1 {
						b.Fatalf("%d changes", got)
					}
				}
			})
		}
	}
}
