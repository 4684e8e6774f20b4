package traffic

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/served"
)

// sides has one CDN after and before.
func sides(after, before *route.Site) []served.Side {
	side := func(name string, s *route.Site) served.Side {
		cdn := &served.CDN{Key: kind.Key{Kind: "CDN", Name: "c"}, Hostname: s.Facets[route.Hostname].Text, Site: func() *route.Site { return s }}
		return served.Side{Name: name, Catalog: served.NewCatalog(cdn)}
	}
	return []served.Side{side(served.Git, after), side(served.Live, before)}
}

func drawSite(t *rapid.T, hostname string) *route.Site {
	location := rapid.Custom(func(t *rapid.T) any {
		return map[string]any{
			"path":     rapid.SampledFrom([]string{"/*", "/a*", "/a/*", "/a/b", "/b", "/b/*"}).Draw(t, "path"),
			"host":     rapid.SampledFrom([]string{"", "", "x.h", "*.h"}).Draw(t, "host"),
			"upstream": rapid.SampledFrom([]string{"o", "p"}).Draw(t, "upstream"),
		}
	})
	return route.Read(map[string]any{"hostname": hostname, "locations": rapid.SliceOfN(location, 0, 5).Draw(t, "locations")})
}

// outcome asks each location of both sites.
func outcome(before, after *route.Site, r route.Request) (changed, unserved bool) {
	serve := func(s *route.Site) route.Winners {
		matching, _ := s.Matching(r)
		return route.Select(matching)
	}
	was, is := serve(before), serve(after)
	for i, l := range was {
		changed = changed || (l == nil) != (is[i] == nil) || l != nil && l.Behaviour != is[i].Behaviour
	}
	return changed, was[0] != nil && is[0] == nil
}

// TestWeigh compares the counts of a plan with each request of a log.
func TestWeigh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawSite(t, "old")
		after := drawSite(t, rapid.SampledFrom([]string{"old", "new"}).Draw(t, "hostname"))
		var want plan.Weight
		var log strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "requests") {
			host := rapid.SampledFrom([]string{"old", "new", "x.h", "y.h", "else"}).Draw(t, "host")
			path := rapid.SampledFrom([]string{"/", "/a", "/ab", "/a/b", "/a/c", "/b", "/b/", "/c"}).Draw(t, "path")
			fmt.Fprintf(&log, "%s 1 - - [t] \"GET %s?q HTTP/1.1\" 200\n", host, path)
			s := scale{sides: sides(after, before)}
			if _, known := s.find(host); !known {
				continue
			}
			want.Requests++
			changed, unserved := outcome(before, after, route.Request{Host: host, Path: path})
			if changed {
				want.Changed++
			}
			if unserved {
				want.Unserved++
			}
		}
		a := &plan.Answers{}
		for _, c := range route.Compare(before, after).Classes {
			g := plan.RequestGroup{Pattern: c.Pattern}
			if c.Host != "" {
				g.Hosts = []string{c.Host}
			}
			a.Groups = append(a.Groups, g)
		}
		p := &plan.Plan{Items: []plan.Item{{Key: kind.Key{Kind: "CDN", Name: "c"}, Answers: a}}}
		open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log.String())), nil }
		if err := Weigh(p, sides(after, before), []Log{{Name: "log", Open: open}}); err != nil {
			t.Fatal(err)
		}
		inGroups := int64(0)
		for _, g := range a.Groups {
			inGroups += g.Traffic.Requests
		}
		if p.Traffic.Weight != want || *a.Traffic != want || inGroups != want.Changed {
			t.Fatalf("%+v, of the CDN %+v, in groups %d; want %+v\n%s", p.Traffic.Weight, *a.Traffic, inGroups, want, log.String())
		}
	})
}

// TestAskOdd asks for what a URL can't have.
func TestAskOdd(t *testing.T) {
	site := route.Read(map[string]any{"hostname": "h", "locations": []any{map[string]any{"path": "/*", "host": "*.h", "upstream": "o"}}})
	log := "a.h 1 - - [t] \"GET /%zz HTTP/1.1\" 200\n{\"host\":\"a b.h\",\"url\":\"/\"}\n{\"host\":\"[.h\",\"url\":\"/\"}\n"
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }
	r, err := Ask(sides(site, site), []Log{{Name: "log", Open: open}}, route.Readings())
	if err != nil || len(r.Requests) != 1 || r.Requests[0].Traffic.Requests != 1 || r.Logs[0].Unread.Count != 2 {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestParseLog(t *testing.T) {
	for text, want := range map[string][2]string{
		"access.log": {"access.log", ""}, "www.example.com=access.log": {"access.log", "www.example.com"}, "H-1=-": {"-", "H-1"},
		"./a=b.log": {"./a=b.log", ""}, "=a": {"=a", ""}, "a/b=c": {"a/b=c", ""}, "h=a=b": {"a=b", "h"},
	} {
		if log := ParseLog(text); log.Name != want[0] || log.Host != want[1] {
			t.Errorf("%q is %+v", text, log)
		}
	}
}
