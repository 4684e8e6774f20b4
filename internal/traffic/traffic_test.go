package traffic

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/served"
)

func key(i int) kind.Key { return kind.Key{Kind: "CDN", Name: fmt.Sprint("c", i)} }

func cdnOf(i int, s *route.Site) *served.CDN {
	return &served.CDN{Key: key(i), Hostname: s.Facets[route.Hostname].Text, Site: func() *route.Site { return s }}
}

// world has the sites of CDNs by number.
type world map[int]*route.Site

func (w world) side() served.Side {
	var cdns []*served.CDN
	for i, s := range w {
		cdns = append(cdns, cdnOf(i, s))
	}
	return served.Side{Catalog: served.NewCatalog(cdns...)}
}

func drawSite(t *rapid.T) *route.Site {
	location := rapid.Custom(func(t *rapid.T) any {
		return map[string]any{
			"path":     rapid.SampledFrom([]string{"/*", "/a*", "/a/*", "/a/b", "/b", "/b/*", "/a*c"}).Draw(t, "path"),
			"host":     rapid.SampledFrom([]string{"", "", "", "old", "x.h", "*.h"}).Draw(t, "host"),
			"upstream": rapid.SampledFrom([]string{"o", "p"}).Draw(t, "upstream"),
		}
	})
	return route.Read(map[string]any{
		"hostname":  rapid.SampledFrom([]string{"old", "new", "x.h", "more", "less"}).Draw(t, "hostname"),
		"locations": rapid.SliceOfN(location, 0, 4).Draw(t, "locations"),
		"tls":       rapid.SampledFrom([]any{nil, nil, "on"}).Draw(t, "tls"),
	})
}

// changed draws a site that has much of another.
func changed(t *rapid.T, s *route.Site) *route.Site {
	other := drawSite(t)
	for f := range s.Facets {
		if rapid.Bool().Draw(t, "as before") {
			other.Facets[f] = s.Facets[f]
		}
	}
	if rapid.Bool().Draw(t, "same locations") {
		other.Locations = s.Locations
	}
	return other
}

// owners asks each CDN whether it has a host: first by its hostname, then by a location of it, then by one of the
// longest domain above it.
func (w world) owners(host string) (found []int) {
	has := []func(*route.Site) bool{func(s *route.Site) bool { return s.Facets[route.Hostname].Text == host }}
	names := []string{host}
	for _, above, more := strings.Cut(host, "."); more; _, above, more = strings.Cut(above, ".") {
		names = append(names, "*."+above)
	}
	for _, name := range names {
		has = append(has, func(s *route.Site) bool {
			return slices.ContainsFunc(s.Locations, func(l route.Location) bool { return l.Host == name })
		})
	}
	for _, has := range has {
		for i, s := range w {
			if has(s) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// asked is what the worlds do with one request.
type asked struct {
	several bool
	cdns    []int
	list    int // of its group: 0 for those that change; -1 if it has none
	weight  plan.Weight
}

// ask asks each CDN, and each of its locations.
func ask(before, after world, r route.Request, rules []route.Reading) (a asked) {
	was, is := before.owners(r.Host), after.owners(r.Host)
	if a.several = len(was) > 1 || len(is) > 1; a.several || len(was)+len(is) == 0 {
		return a
	}
	serves := [2]bool{len(was) > 0, len(is) > 0}
	if len(is) == 0 && after[was[0]] != nil && before[was[0]].Facets[route.Hostname].Text != r.Host {
		is = was
	}
	if len(was) == 0 && before[is[0]] != nil && after[is[0]].Facets[route.Hostname].Text != r.Host {
		was = is
	}
	differ := len(was) != len(is)
	var sites [2]*route.Site
	var winners [2]route.Winners
	isUnclear := false
	for i, side := range []struct {
		world
		owners []int
	}{{before, was}, {after, is}} {
		sites[i] = &route.Site{}
		if len(side.owners) > 0 {
			sites[i] = side.world[side.owners[0]]
		}
		var matching []*route.Location
		for j := range sites[i].Locations {
			l := &sites[i].Locations[j]
			start, rest, star := strings.Cut(l.Path, "*")
			isUnclear = isUnclear || rest != "" && strings.HasPrefix(r.Path, start)
			if rest == "" && l.MayServe(r.Host) && (l.Path == r.Path || star && strings.HasPrefix(r.Path, start)) {
				matching = append(matching, l)
			}
		}
		if serves[i] {
			winners[i] = route.Select(matching).Under(rules)
		}
	}
	for _, f := range []route.SiteFacet{route.TLS, route.OtherOfSite} {
		differ = differ || sites[0].Facets[f] != sites[1].Facets[f]
	}
	alike := 0
	for i, l := range winners[0] {
		if l.Alike(winners[1][i]) {
			alike++
		}
	}
	a.cdns = slices.Compact(append(slices.Clone(was), is...))
	if a.list = -1; len(was) == 1 && slices.Equal(was, is) {
		a.list = alike / len(winners[0])
	}
	a.weight.Requests = 1
	switch {
	case isUnclear && !slices.Equal(sites[0].Locations, sites[1].Locations):
		a.weight.MayChange = 1
	case winners[0][0] != nil && winners[1][0] == nil:
		a.weight.Unserved = 1
	case winners[0][0] == nil && winners[1][0] != nil:
		a.weight.ServedFirst = 1
	case alike == 0:
		a.weight.Changed = 1
	case alike < len(winners[0]) || differ:
		a.weight.MayChange = 1
	}
	return a
}

func groupsOf(classes []route.Class) (groups []plan.RequestGroup) {
	for _, c := range classes {
		g := plan.RequestGroup{Pattern: c.Pattern}
		if c.Host != "" {
			g.Hosts = []string{c.Host}
		}
		groups = append(groups, g)
	}
	return groups
}

// TestWeigh compares the counts of a plan with each request of a log.
func TestWeigh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := [][]route.Reading{nil, route.Readings(), {route.FirstInList}, {route.LongestPath}, {route.LongestHost}}[rapid.IntRange(0, 4).Draw(t, "rules")]
		git, before, after := world{}, world{}, world{}
		p := &plan.Plan{}
		for i := range 3 {
			it := plan.Item{Key: key(i)}
			if rapid.Bool().Draw(t, "is live") {
				before[i] = drawSite(t)
				after[i] = before[i]
			}
			if rapid.IntRange(0, 3).Draw(t, "in git") > 0 {
				git[i] = drawSite(t)
				if before[i] != nil {
					git[i] = changed(t, before[i])
				}
			}
			switch {
			case rapid.IntRange(0, 3).Draw(t, "blocked") == 0:
				it.Op = rapid.SampledFrom([]plan.Op{plan.Blocked, plan.Kept, plan.None}).Draw(t, "op")
			case git[i] == nil && before[i] == nil:
				continue
			case git[i] == nil:
				it.Op = plan.Delete
				delete(after, i)
			case before[i] == nil:
				it.Op, after[i] = plan.Create, git[i]
			default:
				it.Op, after[i] = plan.Patch, git[i]
				it.Answers = &plan.Answers{}
				change := route.Compare(before[i], git[i], rules...)
				it.Answers.Groups, it.Answers.Unchanged = groupsOf(change.Classes), groupsOf(change.Same)
			}
			p.Items = append(p.Items, it)
		}
		var want plan.Traffic
		ofItem, inGroups := map[int]*plan.Weight{0: {}, 1: {}, 2: {}}, map[int][2]int64{}
		var log strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "requests") {
			host := rapid.SampledFrom([]string{"old", "new", "x.h", "y.h", "more", "else"}).Draw(t, "host")
			path := rapid.SampledFrom([]string{"/", "/a", "/ab", "/a/b", "/a/c", "/b", "/b/", "/c"}).Draw(t, "path")
			fmt.Fprintf(&log, "%s 1 - - [t] \"GET %s?q HTTP/1.1\" 200\n", host, path)
			a := ask(before, after, route.Request{Host: host, Path: path}, rules)
			if a.several {
				want.Several++
			}
			want.Add(a.weight)
			for _, i := range a.cdns {
				ofItem[i].Add(a.weight)
				if sums := inGroups[i]; a.list >= 0 {
					sums[a.list]++
					inGroups[i] = sums
				}
			}
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log.String())), nil }
		if err := Weigh(p, []served.Side{git.side(), before.side()}, []Log{{Name: "log", Open: open}}, rules); err != nil {
			t.Fatal(err)
		}
		if p.Traffic.Weight != want.Weight || p.Traffic.Several != want.Several {
			t.Fatalf("%+v, %d of several; want %+v\n%s", p.Traffic.Weight, p.Traffic.Several, want, log.String())
		}
		for _, it := range p.Items {
			i := int(it.Name[1] - '0')
			var sums [2]int64
			for list, groups := range groups(&it) {
				for _, g := range groups {
					sums[list] += g.Traffic.Requests
				}
			}
			isCDN := git[i] != nil || before[i] != nil
			if (it.Traffic != nil) != isCDN || isCDN && *it.Traffic != *ofItem[i] || it.Answers != nil && sums != inGroups[i] {
				t.Fatalf("%s %s: %+v, in groups %d; want %+v, %d\n%s", it.Key, it.Op, it.Traffic, sums, *ofItem[i], inGroups[i], log.String())
			}
		}
	})
}

// TestAsk asks for each request of a log alone: those of a class must be answered as its first address is.
func TestAsk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sides []served.Side
		first := []*route.Site{drawSite(t), drawSite(t)}
		for i := range rapid.IntRange(1, 3).Draw(t, "sides") {
			w := world{}
			for c := range first {
				if rapid.IntRange(0, 4).Draw(t, "has") > 0 {
					w[c] = changed(t, first[c])
				}
			}
			side := w.side()
			side.Name = fmt.Sprint(i)
			sides = append(sides, side)
		}
		answer := func(url string) string {
			u, err := served.ParseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			r, err := served.Ask(sides, []served.URL{u}, route.Readings())
			if err != nil {
				return ""
			}
			var text strings.Builder
			for _, f := range r.Requests[0].Sides {
				fmt.Fprintln(&text, f.Object, f.Matching)
			}
			return text.String()
		}
		want, got := map[string]int64{}, map[string]int64{}
		var log strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "requests") {
			host := rapid.SampledFrom([]string{"old", "new", "x.h", "y.h", "more", "else"}).Draw(t, "host")
			path := rapid.SampledFrom([]string{"/", "/a", "/ab", "/a/b", "/a/c", "/b", "/b/", "/c"}).Draw(t, "path")
			fmt.Fprintf(&log, "%s 1 - - [t] \"GET %s?q HTTP/1.1\" 200\n", host, path)
			if a := answer("https://" + host + path); a != "" {
				want[a]++
			}
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log.String())), nil }
		r, err := Ask(sides, []Log{{Name: "log", Open: open}}, route.Readings())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range r.Requests {
			got[answer(q.URL)] += q.Traffic.Requests
		}
		if !maps.Equal(want, got) {
			t.Fatalf("%v\nwant %v\n%s", got, want, log.String())
		}
	})
}

// TestAskMoved: a host that a CDN loses, and one that it gets, are two classes, though both may reach it all the time.
func TestAskMoved(t *testing.T) {
	side := func(host string) served.Side {
		return world{0: route.Read(map[string]any{"hostname": "h", "locations": []any{
			map[string]any{"path": "/a*"}, map[string]any{"path": "/b", "host": host},
		}})}.side()
	}
	log := "lost 1 - - [t] \"GET /a HTTP/1.1\" 200\ngained 1 - - [t] \"GET /a HTTP/1.1\" 200\n"
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }
	r, err := Ask([]served.Side{side("gained"), side("lost")}, []Log{{Name: "log", Open: open}}, route.Readings())
	if err != nil || len(r.Requests) != 2 {
		t.Fatalf("%+v %v", r.Requests, err)
	}
}

// TestAskOdd asks for what a URL can't have.
func TestAskOdd(t *testing.T) {
	site := route.Read(map[string]any{"hostname": "h", "locations": []any{map[string]any{"path": "/*", "host": "*.h", "upstream": "o"}}})
	log := "a.h 1 - - [t] \"GET /%zz HTTP/1.1\" 200\n{\"host\":\"a b.h\",\"url\":\"/\"}\n{\"host\":\"[.h\",\"url\":\"/\"}\n"
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }
	r, err := Ask([]served.Side{world{0: site}.side()}, []Log{{Name: "log", Open: open}}, route.Readings())
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
