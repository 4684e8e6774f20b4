package route

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

// meaning is what a location of a test does, whatever words the spec has for it.
type meaning struct {
	path, host         string
	origin, ttl, other int
}

// sketch is a site of a test.
type sketch struct {
	locations []meaning
	tls       int
}

func paths(alphabet string, most int) *rapid.Generator[string] {
	return rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 0, most, -1), func(s string) string { return "/" + s })
}

func meanings() *rapid.Generator[meaning] {
	path := rapid.OneOf(
		paths("/ab", 3), rapid.Map(paths("/ab", 3), func(p string) string { return p + "*" }),
		rapid.SampledFrom([]string{"*", "/*", "/a*", "/a/*", "/.*", "/a/.*"}),
	)
	return rapid.Custom(func(t *rapid.T) meaning {
		few := rapid.IntRange(0, 1)
		return meaning{
			path.Draw(t, "path"), rapid.SampledFrom([]string{"", "", "", "h", "a.h", "*.h", "*.a.h"}).Draw(t, "host"),
			few.Draw(t, "origin"), few.Draw(t, "ttl"), few.Draw(t, "other"),
		}
	})
}

// sketches draws two sites. The second is often an edit of the first.
func sketches(t *rapid.T) (before, after sketch) {
	list := rapid.SliceOfN(meanings(), 0, 6)
	before.locations = list.Draw(t, "before")
	if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
		after.locations = list.Draw(t, "after")
	} else {
		after.locations = slices.Clone(before.locations)
	}
	if n := len(after.locations); n > 0 {
		i, j := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, n-1).Draw(t, "j")
		switch rapid.IntRange(0, 4).Draw(t, "edit") {
		case 0:
			after.locations[i], after.locations[j] = after.locations[j], after.locations[i]
		case 1:
			after.locations = slices.Delete(after.locations, i, i+1)
		case 2:
			after.locations[i] = meanings().Draw(t, "changed")
		case 3:
			after.locations = slices.Insert(after.locations, i, meanings().Draw(t, "new"))
		}
	}
	before.tls = rapid.IntRange(0, 5).Draw(t, "tls") / 5
	after.tls = rapid.IntRange(0, 5).Draw(t, "tls after") / 5
	return before, after
}

// spec writes a sketch in words that are drawn: the meaning stays.
func (s sketch) spec(t *rapid.T) map[string]any {
	pick := func(words ...any) any { return words[rapid.IntRange(0, len(words)-1).Draw(t, "word")] }
	name := pick("o", "p").(string)
	var locations, upstreams []any
	for _, m := range s.locations {
		cache := pick(map[string]any{"edgeTTL": "60", "ttlTimeUnit": "second"}, map[string]any{"edgeTTL": "1", "ttlTimeUnit": "minute"})
		if m.ttl == 1 {
			cache = map[string]any{"edgeTTL": "1", "ttlTimeUnit": "second"}
		}
		l := map[string]any{"path": m.path, "upstream": name + strconv.Itoa(m.origin), "cache": cache}
		switch {
		case m.other == 1:
			l["headers"] = map[string]any{"X": pick("true", true)}
		case pick(true, false) == true:
			l["headers"] = pick(nil, map[string]any{}, map[string]any{"X": nil})
		}
		l["host"] = pick(m.host, strings.ToUpper(m.host)+".")
		if m.host == "" {
			l["host"] = pick("", "*", nil)
		}
		locations = append(locations, l)
	}
	for i := range 2 {
		servers := []any{map[string]any{"host": fmt.Sprint("s", i), "port": pick("443", 443)}, map[string]any{"host": "t"}}
		if pick(true, false) == true {
			slices.Reverse(servers)
		}
		upstreams = append(upstreams, map[string]any{"name": name + strconv.Itoa(i), "scheme": "https", "servers": servers})
	}
	return map[string]any{"hostname": pick("h", "H."), "locations": locations, "upstreams": upstreams, "tls": map[string]any{"enabled": s.tls == 1}}
}

// serves asks every location in turn, and returns what serves a request under a reading, or -1.
func (s sketch) serves(r Reading, host, path string) int {
	best := -1
	for i, m := range s.locations {
		below, prefix := strings.CutSuffix(m.path, "*")
		if prefix && !strings.HasPrefix(path, below) || !prefix && m.path != path {
			continue
		}
		domain, wild := strings.CutPrefix(m.host, "*.")
		if m.host != "" && (wild && !strings.HasSuffix(host, "."+domain) || !wild && m.host != host) {
			continue
		}
		if best < 0 || r != FirstInList && s.narrower(r, i, best) {
			best = i
		}
	}
	return best
}

// names reports whether the hostname of the site, which is h, or a location names a host.
func (s sketch) names(host string) bool {
	return host == "h" || slices.ContainsFunc(s.locations, func(m meaning) bool {
		domain, wild := strings.CutPrefix(m.host, "*.")
		return m.host != "" && (m.host == host || wild && strings.HasSuffix(host, "."+domain))
	})
}

// against returns what serves a request, or -1: also if only the other site names its host.
func (s sketch) against(other sketch, r Reading, host, path string) int {
	if other.names(host) && !s.names(host) {
		return -1
	}
	return s.serves(r, host, path)
}

// narrower compares two locations that match the same request: the exact one, else the longer.
func (s sketch) narrower(r Reading, i, j int) bool {
	a, b := s.locations[i], s.locations[j]
	narrow := func(a, b string) int {
		exactA, exactB := !strings.Contains(a, "*") && a != "", !strings.Contains(b, "*") && b != ""
		switch {
		case exactA != exactB && exactA:
			return 1
		case exactA != exactB:
			return -1
		}
		return len(a) - len(b)
	}
	path, host := narrow(a.path, b.path), narrow(a.host, b.host)
	if r == LongestHost {
		path, host = host, path
	}
	return path > 0 || path == 0 && host > 0
}

func (s sketch) meaningOf(other sketch, r Reading, host, path string) (m meaning) {
	if i := s.against(other, r, host, path); i >= 0 {
		m = s.locations[i]
		m.path = "served"
	}
	return m
}

type request struct{ host, path string }

// requests are all short paths of each kind of host.
func requests() (all []request) {
	level := []string{"/"}
	for range 5 {
		var next []string
		for _, p := range level {
			for _, h := range []string{"h", "a.h", "b.h", "c.a.h", "z"} {
				all = append(all, request{h, p})
			}
			for _, c := range "/ab" {
				next = append(next, p+string(c))
			}
		}
		level = next
	}
	return all
}

func checks(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	if f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(n))
		t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
	}
}

func hostsLike(class string) string {
	switch {
	case class == "":
		return "z"
	case class[0] == '*':
		return "fresh" + class[1:]
	}
	return class
}

// TestClasses compares classes and changes with an interpreter that asks every location.
func TestClasses(t *testing.T) {
	checks(t, 10000)
	all := requests()
	rapid.Check(t, func(t *rapid.T) {
		before, after := sketches(t)
		a, b := Read(before.spec(t)), Read(after.spec(t))
		m, change := NewMap(a, b), Compare(a, b)
		if (len(change.Site) > 0) != (before.tls != after.tls) {
			t.Fatalf("site %v", change.Site)
		}
		listed, elsewhere := map[[2]string]bool{}, map[[2]string]bool{}
		hosts := NewHosts([]string{"h", "h"}, func(i int) *Site { return []*Site{a, b}[i] })
		for _, c := range change.Classes {
			elsewhere[[2]string{c.Host, c.Pattern}] = c.Elsewhere
			listed[[2]string{c.Host, c.Pattern}] = true
		}
		count := map[string]int{}
		classes := m.Classes()
		if change.Of != len(classes) || change.More != 0 {
			t.Fatalf("%d of %d classes", change.Of, len(classes))
		}
		for _, c := range classes {
			count[c.Host]++
			if found := m.Find(hostsLike(c.Host), c.Example); found.Host != c.Host || found.Pattern != c.Pattern || Normal(c.Example) != c.Example {
				t.Fatalf("example %q of %q is in %q", c.Example, c.Host+c.Pattern, found.Host+found.Pattern)
			}
			agrees(t, c, before, after, request{hostsLike(c.Host), c.Example}, listed)
		}
		patterns := map[string]bool{}
		for _, m := range slices.Concat(before.locations, after.locations) {
			patterns[m.path] = true
		}
		for host, n := range count {
			if n > len(patterns)+1 {
				t.Fatalf("%q has %d classes of %d patterns", host, n, len(patterns))
			}
		}
		for i, s := range []sketch{before, after} {
			site := NewHosts([]string{"h"}, func(int) *Site { return []*Site{a, b}[i] })
			for _, host := range []string{"h", "a.h", "b.h", "c.a.h", "z"} {
				if known := site.Find(host) != nil; known != s.names(host) {
					t.Fatalf("%q is known: %v", host, known)
				}
			}
		}
		hostile := request{"a.h", Normal("/a" + rapid.String().Draw(t, "hostile"))}
		agrees(t, *m.Find(hostile.host, hostile.path), before, after, hostile, listed)
		from := rapid.IntRange(0, len(all)-1).Draw(t, "from")
		for i := range 60 {
			r := all[(from+i*101)%len(all)]
			found := *m.Find(r.host, r.path)
			agrees(t, found, before, after, r, listed)
			if elsewhere[[2]string{found.Host, found.Pattern}] && hosts.Find(r.host) != nil {
				t.Fatalf("%v reaches the CDN, and is in %q", r, found.Pattern)
			}
			stays := slices.ContainsFunc(change.Classes, func(c Class) bool {
				n := newNode(c.Pattern)
				isOf := c.Host == "" || r.host == c.Host || c.Host[0] == '*' && strings.HasSuffix(r.host, c.Host[1:])
				return isOf && (n.covers(r.path) || n.pattern == r.path) && c.Severity() == Unserved && !c.Part
			})
			if stays && after.against(before, FirstInList, r.host, r.path) >= 0 {
				t.Fatalf("%v is served, and is of a class of which no part is", r)
			}
			for _, c := range classes {
				matches := func(pattern string) bool {
					below, prefix := strings.CutSuffix(pattern, "*")
					return pattern == r.path || prefix && strings.HasPrefix(r.path, below)
				}
				shown := (c.Pattern == "" || matches(c.Pattern)) && !slices.ContainsFunc(c.Except, matches)
				if c.Host == found.Host && shown != (c.Pattern == found.Pattern) {
					t.Fatalf("%v is in %q; %q except %q shows it: %v", r, found.Pattern, c.Pattern, c.Except, shown)
				}
			}
		}
	})
}

// TestRenamed: a change of the hostname, and of all locations for it, changes no class of its requests, nor of others.
func TestRenamed(t *testing.T) {
	checks(t, 2000)
	rapid.Check(t, func(t *rapid.T) {
		before, after := sketches(t)
		spec := after.spec(t)
		a, same := Read(before.spec(t)), Read(spec)
		to := rapid.SampledFrom([]string{"n", "n", "n", "c.a.h", "a.h"}).Draw(t, "to")
		spec["hostname"] = to
		for _, l := range spec["locations"].([]any) {
			if l := l.(map[string]any); kind.HostKey(text(l["host"])) == "h" {
				l["host"] = to
			}
		}
		names := func(c Change, hostname string) (all []string) {
			for _, class := range c.Classes {
				host := map[string]string{hostname: "hostname"}[class.Host]
				all = append(all, fmt.Sprint(cmp.Or(host, class.Host), class.Pattern, class.Except, class.Severity(), class.Part, class.Elsewhere))
			}
			slices.Sort(all)
			return all
		}
		want, got := Compare(a, same), Compare(a, Read(spec))
		other := func(m meaning) bool { return to != "n" && m.host != "" && m.host != "h" }
		isShared := slices.ContainsFunc(slices.Concat(before.locations, after.locations), other)
		if !isShared && (want.Of != got.Of || !slices.Equal(names(want, "h"), names(got, to))) {
			t.Fatalf("%d %q, want %d %q", got.Of, names(got, to), want.Of, names(want, "h"))
		}
	})
}

// TestNotRenamed: requests for a name that has locations before or after are not compared with those for another.
func TestNotRenamed(t *testing.T) {
	site := func(hostname, host string) *Site {
		location := map[string]any{"path": "/*", "host": host}
		return Read(map[string]any{"hostname": hostname, "locations": []any{location}})
	}
	for _, tt := range []struct {
		before, after string
		same          bool
	}{
		{"", "", true},
		{"old.x", "new.x", true},
		{"a.x", "a.x", true},
		{"old.x", "old.x", false},
		{"new.x", "new.x", false},
		{"*.x", "*.x", false},
		{"", "*.old.x", true},
		{"", "*.x", false},
	} {
		before, after := site("old.x", tt.before), site("new.x", tt.after)
		if same := before.renamed(after) != before; same != tt.same {
			t.Errorf("%q → %q: compared as one hostname: %v", tt.before, tt.after, same)
		}
	}
	if none := Read(nil); none.renamed(site("new.x", "")) != none {
		t.Error("nothing was renamed")
	}
}

// TestHidden: exactly the hidden locations serve no request if the first in the list does.
func TestHidden(t *testing.T) {
	checks(t, 5000)
	rapid.Check(t, func(t *rapid.T) {
		sketch, _ := sketches(t)
		s := Read(sketch.spec(t))
		serves, hidden := map[*Location]bool{}, map[*Location]bool{}
		for _, c := range NewMap(s, s).Classes() {
			serves[c.Before[FirstInList]] = true
		}
		for _, h := range s.Hidden() {
			for _, l := range h.Locations {
				hidden[l] = true
				if h.By.Index >= l.Index || !serves[h.By] {
					t.Fatalf("%v hides %v", h.By, l)
				}
			}
		}
		for i := range s.Locations {
			l := &s.Locations[i]
			twice := slices.ContainsFunc(s.Locations[:i], func(other Location) bool { return other.Path == l.Path && other.Host == l.Host })
			if !twice && hidden[l] == serves[l] {
				t.Fatalf("%s%s is hidden: %v; it serves requests: %v", l.Host, l.Path, hidden[l], serves[l])
			}
		}
	})
}

// agrees compares a class with what every location says of one of its requests.
func agrees(t *rapid.T, c Class, before, after sketch, r request, listed map[[2]string]bool) {
	differs := false
	for reading := range readings {
		for _, side := range []struct {
			s, other sketch
			got      *Location
		}{{before, after, c.Before[reading]}, {after, before, c.After[reading]}} {
			got := -1
			if side.got != nil {
				got = side.got.Index
			}
			if want := side.s.against(side.other, reading, r.host, r.path); got != want {
				t.Fatalf("reading %d of %v: %d, want %d", reading, r, got, want)
			}
		}
		differs = differs || before.meaningOf(after, reading, r.host, r.path) != after.meaningOf(before, reading, r.host, r.path)
	}
	if is := listed[[2]string{c.Host, c.Pattern}]; is != differs {
		t.Fatalf("%v differs: %v; its class %q is listed: %v", r, differs, c.Host+c.Pattern, is)
	}
}
