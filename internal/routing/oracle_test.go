package routing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/routing"
)

// The oracle knows the platform's document and docs/platform.md 11 alone. It asks each location of each CDN, and shares no
// code with what it tests.

type location struct{ path, host, origin, ttl, unit string }

type cdn struct {
	name, hostname, forced string
	locations              []location
}

type site []cdn

// reading has the name of a precedence, and what does not hold.
type reading struct{ wins, broken string }

var (
	precedences = []string{"first in the list", "longest path", "longest host"}
	brokens     = []string{
		"", "a location's host goes before a hostname", "*.NAME goes before a location's host", "another CDN with the same host answers",
		"*.NAME is no wildcard", "the host * is no wildcard", "the path * is no wildcard", "second is the only unit",
		"an exact path goes after one with a star", "all CDNs with the host compete",
	}
)

// reply is what a request gets: the zero value is no CDN.
type reply struct{ cdn, origin, ttl, forced string }

func (r reply) isAnswer() bool { return r.origin != "" }

func isBelow(host, pattern string) bool {
	return strings.HasPrefix(pattern, "*.") && strings.HasSuffix(host, pattern[1:]) && host != pattern
}

// claims returns a number for how a CDN claims a host: 0 is not at all.
func (c cdn) claims(host string, r reading) (most int) {
	if c.hostname == host {
		most = 1000
	}
	for _, l := range c.locations {
		is := 0
		switch {
		case l.host == host && r.broken == "a location's host goes before a hostname":
			is = 2000
		case l.host == host:
			is = 500
		case isBelow(host, l.host) && r.broken == "*.NAME is no wildcard":
		case isBelow(host, l.host) && r.broken == "*.NAME goes before a location's host":
			is = 600 + len(l.host)
		case isBelow(host, l.host):
			is = len(l.host)
		}
		most = max(most, is)
	}
	return most
}

func (s site) owner(host string, r reading) *cdn {
	var found *cdn
	for i := range s { // sorted by name
		switch is := s[i].claims(host, r); {
		case is == 0:
		case found == nil || is > found.claims(host, r):
			found = &s[i]
		case is == found.claims(host, r) && r.broken == "another CDN with the same host answers":
			found = &s[i]
		}
	}
	return found
}

func (l location) matches(host, path string, r reading) bool {
	hostMatches := l.host == "" || l.host == host || isBelow(host, l.host) && r.broken != "*.NAME is no wildcard" ||
		l.host == "*" && r.broken != "the host * is no wildcard"
	if l.path == "*" {
		return hostMatches && r.broken != "the path * is no wildcard"
	}
	stem, prefix := strings.CutSuffix(l.path, "*")
	return hostMatches && (path == l.path || prefix && strings.HasPrefix(path, stem))
}

// beats reports whether one location that matches goes before another one, which stands before it in the list.
func (l location) beats(other location, r reading) bool {
	if r.wins == "first in the list" {
		return false
	}
	length := func(pattern string) int { return len(strings.TrimSuffix(strings.TrimPrefix(pattern, "*"), "*")) }
	path := length(l.path) - length(other.path)
	if path == 0 && r.broken != "an exact path goes after one with a star" {
		path = strings.Count(other.path, "*") - strings.Count(l.path, "*")
	}
	clean := func(host string) string {
		if host == "*" {
			return ""
		}
		return host
	}
	host := length(clean(l.host)) - length(clean(other.host))
	if r.wins == "longest host" {
		path, host = host, path
	}
	return path > 0 || path == 0 && host > 0
}

func (s site) ask(host, path string, r reading) reply {
	c := s.owner(host, r)
	if c == nil {
		return reply{}
	}
	competing := site{*c}
	if r.broken == "all CDNs with the host compete" {
		competing = slices.DeleteFunc(slices.Clone(s), func(c cdn) bool { return c.claims(host, r) == 0 })
	}
	var won *location
	found := reply{cdn: c.name, forced: c.forced}
	for _, c := range competing { // sorted by name
		for i, l := range c.locations {
			if l.matches(host, path, r) && (won == nil || l.beats(*won, r)) {
				won, found = &c.locations[i], reply{c.name, l.origin, l.time(r), c.forced}
			}
		}
	}
	return found
}

// time returns the time to live in words: as it is written, if its unit is not documented.
func (l location) time(r reading) string {
	words := map[string]string{"60 second": "1 min", "1 minute": "1 min", "300 second": "5 min", "5 minute": "5 min"}
	if text := l.ttl + " " + l.unit; r.broken != "second is the only unit" {
		return words[text]
	} else if l.unit != "second" {
		return words[text] + "|" + text
	}
	return words[l.ttl+" "+l.unit] + "|" + l.ttl + " " + l.unit
}

func (r reply) String() string {
	time, _, _ := strings.Cut(r.ttl, "|")
	return r.origin + ".net:443 over https, edge TTL " + time
}

// changes returns what differs, as lines say it: nothing if the request is answered as before.
func changes(before, after reply) (all []string) {
	switch {
	case before.isAnswer() && !after.isAnswer():
		return []string{"no longer answered; before, " + before.String()}
	case !before.isAnswer() && after.isAnswer():
		return []string{"answered for the first time: " + after.String()}
	case before.isAnswer() && before.origin != after.origin:
		all = append(all, fmt.Sprintf("origin %s.net:443 → %s.net:443", before.origin, after.origin))
	}
	if before.isAnswer() && before.ttl != after.ttl {
		was, wasRaw, _ := strings.Cut(before.ttl, "|")
		is, isRaw, _ := strings.Cut(after.ttl, "|")
		if was == is {
			was, is = wasRaw, isRaw
		}
		all = append(all, fmt.Sprintf("edge TTL %s → %s", was, is))
	}
	if before.cdn != "" && after.cdn != "" && before.forced != after.forced {
		all = append(all, fmt.Sprintf("TLS forced %s → %s", before.forced, after.forced))
	}
	return all
}

// The reader reads lines as a person does.

// hostList reads "a.x, *.x (except b.x, c.x)".
type hostList struct{ names, except []string }

func readHosts(text string) (list []hostList) {
	for text != "" {
		end := strings.IndexAny(text, ",(")
		if end < 0 {
			return append(list, hostList{names: []string{text}})
		}
		h := hostList{names: []string{strings.TrimSpace(text[:end])}}
		if text[end] == '(' {
			inside, rest, _ := strings.Cut(text[end:], ")")
			h.except, text = strings.Split(strings.TrimPrefix(inside, "(except "), ", "), rest
		} else {
			text = text[end:]
		}
		list, text = append(list, h), strings.TrimPrefix(text, ", ")
	}
	return list
}

func (h hostList) has(host string, r reading) bool {
	name := h.names[0]
	return name == host || isBelow(host, name) && r.broken != "*.NAME is no wildcard" && !slices.ContainsFunc(h.except, func(e string) bool {
		return e == host || isBelow(host, e)
	})
}

type pathList struct {
	patterns []string
	outside  []string
}

func isIn(path, pattern string) bool {
	stem, prefix := strings.CutSuffix(pattern, "*")
	return pattern == "every path" || pattern == "paths" || path == pattern || prefix && strings.HasPrefix(path, stem)
}

func readPaths(text string) (list []pathList) {
	for _, part := range strings.Split(text, ", and ") {
		patterns, outside, has := strings.Cut(part, " outside ")
		p := pathList{patterns: strings.Split(patterns, ", ")}
		if has {
			p.outside = strings.Split(outside, ", ")
		}
		list = append(list, p)
	}
	return list
}

func (p pathList) has(path string) bool {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(pattern string) bool { return isIn(path, pattern) })
	}
	return in(p.patterns) && !in(p.outside)
}

// saying is a line, read.
type saying struct {
	hosts []hostList
	paths []pathList
	says  string
}

func read(line string) saying {
	who, says, _ := strings.Cut(line, ": ")
	s := saying{says: says}
	if paths, hosts, has := strings.Cut(who, " (on "); has {
		s.hosts, s.paths = readHosts(strings.TrimSuffix(hosts, ")")), readPaths(paths)
		return s
	}
	if host, outside, has := strings.Cut(who, " outside "); has && !strings.Contains(host, "/") {
		s.hosts, s.paths = readHosts(host), []pathList{{[]string{"every path"}, strings.Split(outside, ", ")}}
		return s
	}
	if at := strings.IndexByte(who, '/'); at >= 0 {
		s.hosts, s.paths = readHosts(who[:at]), readPaths(who[at:])
		return s
	}
	s.hosts, s.paths = readHosts(who), []pathList{{patterns: []string{"every path"}}}
	return s
}

func (s saying) covers(host, path string, r reading) bool {
	return slices.ContainsFunc(s.hosts, func(h hostList) bool { return h.has(host, r) }) &&
		slices.ContainsFunc(s.paths, func(p pathList) bool { return p.has(path) })
}

// under returns what a sentence says under a reading: nothing if it says that nothing changes.
func under(says string, r reading) []string {
	says, depends := strings.CutPrefix(says, "depends on the platform: ")
	if !depends {
		return parts(says)
	}
	best, found := -1, ""
	for i, alternative := range strings.Split("; "+says, "; if ") {
		when := 0
		if i > 0 {
			conditions, text, _ := strings.Cut(alternative, ", ")
			alternative, when = text, -1
			for _, c := range strings.Split(conditions, " or if ") {
				rules, and, hasBoth := strings.Cut(c, " wins and ")
				wins := slices.Contains(strings.Split(strings.TrimSuffix(rules, " wins"), " or "), "the "+r.wins)
				switch {
				case hasBoth && wins && and == r.broken:
					when = max(when, 3)
				case c == r.broken:
					when = max(when, 2)
				case !hasBoth && wins:
					when = max(when, 1)
				}
			}
		} else if alternative = strings.TrimPrefix(alternative, "; "); strings.HasPrefix(alternative, "if ") || alternative == "" {
			continue
		}
		if when > best {
			best, found = when, alternative
		}
	}
	return parts(found)
}

func parts(says string) []string {
	switch {
	case says == "nothing changes" || says == "nothing else changes":
		return nil
	case strings.HasPrefix(says, "no longer answered"):
		return []string{says}
	}
	return strings.Split(says, "; ")
}

// fulfils reports whether what lines say is what changes: the name of a CDN stands for its answers.
func fulfils(said, want []string, before, after reply) bool {
	said = slices.Clone(said)
	for i, text := range said {
		said[i] = strings.NewReplacer("before, CDN/"+before.cdn, "before, "+before.String(), "time: CDN/"+after.cdn, "time: "+after.String()).Replace(text)
	}
	slices.Sort(said)
	slices.Sort(want)
	return slices.Equal(said, want)
}

// said returns what lines say about a request under a reading, and the answers that they compare.
func said(lines []saying, was, is site, host, path string, r reading) (all []string, before, after reply) {
	before, after = was.ask(host, path, r), is.ask(host, path, r)
	for _, s := range lines {
		if !s.covers(host, path, r) {
			continue
		}
		as, rest, isRename := strings.Cut(strings.TrimPrefix(s.says, "answered as "), " was")
		if old, ok := strings.CutPrefix(s.says, "not answered: no location matches; it replaces "); ok {
			if after.isAnswer() {
				all = append(all, "is answered")
			}
			old, by, still := strings.Cut(old, ". ")
			if by = strings.TrimPrefix(by, old+" is still answered, by "); !is.answers(old, by, still) {
				all = append(all, fmt.Sprintf("%s is answered by %q", old, by))
			}
			return append(all, changes(was.ask(old, path, r), after)...), was.ask(old, path, r), after
		}
		if !isRename {
			all = append(all, under(s.says, r)...)
			continue
		}
		rest, by, still := strings.Cut(rest, ". "+as+" is still answered, by ")
		if !is.answers(as, by, still) {
			all = append(all, fmt.Sprintf("%s is answered by %q", as, by))
		}
		before = was.ask(as, path, r)
		everywhere, except, _ := strings.Cut(rest, ", except ")
		if everywhere, ok := strings.CutPrefix(everywhere, ", with a difference: "); ok {
			for _, part := range strings.Split(everywhere, "; and a difference: ") {
				all = append(all, under(strings.ReplaceAll(part, "answered only now", "answered for the first time"), r)...)
			}
		}
		if except != "" {
			all = append(all, exceptions(except, path, r)...)
		}
	}
	return all, before, after
}

// answers reports whether CDNs have a host, because of what the text says: hostnames, or else locations.
func (s site) answers(host, text string, says bool) bool {
	var owners []string
	r, most := reading{}, 1
	for _, c := range s { // sorted by name
		by := "CDN/" + c.name
		longest := -1
		for _, l := range c.locations {
			is := len(l.host)
			if l.host == host {
				is = 1000
			}
			if c.hostname != host && (l.host == host || isBelow(host, l.host)) && is > longest {
				by, longest = "location "+l.path+" of CDN/"+c.name, is
			}
		}
		switch claim := c.claims(host, r); {
		case claim > most:
			owners, most = []string{by}, claim
		case claim == most:
			owners = append(owners, by)
		}
	}
	return says == (owners != nil) && text == strings.Join(owners, ", ")
}

// exceptions returns what "PATHS: WHAT; and PATHS: WHAT" says of a path.
func exceptions(text, path string, r reading) (all []string) {
	for _, part := range strings.Split(text, "; and ") {
		paths, says, _ := strings.Cut(part, ": ")
		if slices.ContainsFunc(readPaths(paths), func(p pathList) bool { return p.has(path) }) {
			all = append(all, under(strings.ReplaceAll(says, "answered only now", "answered for the first time"), r)...)
		}
	}
	return all
}

// The sites.

func (c cdn) spec() map[string]any {
	var locations []any
	for _, l := range c.locations {
		fields := map[string]any{"path": l.path, "upstream": l.origin, "cache": map[string]any{"edgeTTL": l.ttl, "ttlTimeUnit": l.unit}}
		if l.host != "" {
			fields["host"] = l.host
		}
		locations = append(locations, fields)
	}
	var upstreams []any
	for _, name := range []string{"o1", "o2", "o3"} {
		upstreams = append(upstreams, map[string]any{"name": name, "scheme": "https", "servers": []any{map[string]any{"host": name + ".net", "port": "443"}}})
	}
	return map[string]any{"hostname": c.hostname, "tls": map[string]any{"forced": c.forced}, "locations": locations, "upstreams": upstreams}
}

func (c cdn) key() kind.Key { return kind.Key{Kind: "CDN", Name: c.name} }

func (c cdn) engine() *routing.CDN { return routing.NewCDN(c.key(), canon.Encode(c.spec())) }

type draw struct{ *rand.Rand }

func (d draw) of(list ...string) string { return list[d.IntN(len(list))] }

func (d draw) location() location {
	l := location{
		path: d.of("/*", "/*", "/a/*", "/a*", "/a", "/a/b", "/b/*", "/a/b/*"), host: d.of("", "", "", "x.ex", "y.ex", "w.z.ex", "*.z.ex", "*.ex"),
		origin: d.of("o1", "o2", "o3"), ttl: "60", unit: "second",
	}
	switch d.IntN(12) {
	case 0:
		l.ttl, l.unit = "1", "minute"
	case 1, 2:
		l.ttl = "300"
	case 3:
		l.path = d.of("*", "/A/*", "/A")
	case 4:
		l.host = "*"
	}
	return l
}

func (d draw) cdn(name string) cdn {
	c := cdn{name: name, hostname: d.of("x.ex", "y.ex", "w.z.ex", "v.z.ex", "c.ex", name+".ex"), forced: d.of("true", "true", "false")}
	for range d.IntN(4) + 1 {
		c.locations = append(c.locations, d.location())
	}
	return c
}

// edit changes a CDN in one way or two, as people do.
func (d draw) edit(c cdn, others site) cdn {
	c.locations = slices.Clone(c.locations)
	for range d.IntN(2) + 1 {
		at := d.IntN(len(c.locations) + 1)
		switch what := d.IntN(9); {
		case what == 0:
			c.hostname = d.of("x.ex", "y.ex", "w.z.ex", "new.ex", "n.z.ex")
		case what == 1:
			c.forced = d.of("true", "false")
		case what == 2:
			c.locations = slices.Insert(c.locations, at, d.location())
		case what == 3 && len(others) > 0:
			if from := others[d.IntN(len(others))].locations; len(from) > 0 {
				c.locations = slices.Insert(c.locations, at, from[d.IntN(len(from))])
			}
		case at == len(c.locations):
		case what == 4:
			c.locations = slices.Delete(c.locations, at, at+1)
		case what == 5:
			c.locations[at].host = d.location().host
		case what == 6:
			c.locations[at].path = d.location().path
		case what == 7:
			other := d.location()
			c.locations[at].ttl, c.locations[at].unit = other.ttl, other.unit
		default:
			c.locations[at].origin = d.of("o1", "o2", "o3")
		}
	}
	return c
}

// pair draws a site of up to four CDNs before and after.
func (d draw) pair() (was, is site) {
	for i := range d.IntN(4) + 1 {
		c := d.cdn(string(rune('a' + i)))
		switch d.IntN(6) {
		case 0:
			is = append(is, c)
			continue
		case 1, 2:
			was, is = append(was, c), append(is, c)
			continue
		}
		was, is = append(was, c), append(is, d.edit(c, was))
	}
	return was, is
}

// TestLinesAreTrue: whatever changes is in a line with the right answer before and after, and whatever a line says is so.
func TestLinesAreTrue(t *testing.T) {
	seed, probes := rand.Uint64(), 0
	t.Logf("seed %d", seed)
	for n := range long.Times(150) {
		d := draw{rand.New(rand.NewPCG(seed, uint64(n)))}
		was, is := d.pair()
		checked, problem := compare(was, is)
		if probes += checked; problem != "" {
			t.Fatalf("seed %d, site %d: %s\nbefore: %+v\nafter:  %+v", seed, n, problem, was, is)
		}
	}
	t.Logf("%d probes", probes)
}

var probedHosts = []string{"x.ex", "y.ex", "w.z.ex", "v.z.ex", "n.z.ex", "q.z.ex", "c.ex", "a.ex", "b.ex", "d.ex", "new.ex", "other"}

var probedPaths = []string{"/", "/a", "/ab", "/a/", "/a/x", "/a/b", "/a/b/", "/a/b/x", "/a/bc", "/b", "/b/", "/b/x", "/c", "/A", "/A/x"}

func lines(was, is site) []routing.RequestChange {
	var changes []routing.CDNChange
	var all []*routing.CDN
	for _, c := range is {
		at := slices.IndexFunc(was, func(o cdn) bool { return o.name == c.name })
		switch {
		case at < 0:
			changes = append(changes, routing.CDNChange{After: c.engine()})
		case fmt.Sprint(was[at]) == fmt.Sprint(c):
			all = append(all, c.engine())
		default:
			changes = append(changes, routing.CDNChange{Before: was[at].engine(), After: c.engine()})
		}
	}
	return routing.Compare(changes, routing.NewSite(all...), routing.PrecedencesOf("")).Lines
}

func compare(was, is site) (probes int, problem string) {
	found := lines(was, is)
	var texts []string
	var sayings []saying
	for _, l := range found {
		if len(l.Objects) == 0 {
			return 0, "a line without an object: " + l.String()
		}
		if len(l.Hosts) > 0 {
			texts, sayings = append(texts, l.String()), append(sayings, read(l.String()))
		}
	}
	if said := strings.Join(texts, "\n"); strings.Contains(said, "except every path") {
		return 0, "an exception of everything: " + said
	}
	for _, host := range probedHosts {
		for _, path := range probedPaths {
			for _, wins := range precedences {
				for _, broken := range brokens {
					r := reading{wins, broken}
					probes++
					say, before, after := said(sayings, was, is, host, path, r)
					if want := changes(before, after); !fulfils(say, want, before, after) {
						return probes, fmt.Sprintf("%s%s, %v: lines say %q, not %q\nlines:\n%s", host, path, r, say, want, strings.Join(texts, "\n"))
					}
				}
			}
		}
	}
	return probes, agrees(was, is)
}

// agrees compares what request and test say of some requests with the oracle.
func agrees(was, is site) string {
	before, after := routing.Side{Name: routing.Live, Site: was.engine()}, routing.Side{Name: routing.Git, Site: is.engine()}
	all := routing.PrecedencesOf("")
	lookup := routing.NewLookup([]routing.Side{after, before}, all, func(string, []string) string { return "" })
	for i, host := range probedHosts {
		path := probedPaths[(i*7+len(was))%len(probedPaths)]
		url, err := routing.ParseURL("https://" + host + path)
		if err != nil {
			return err.Error()
		}
		q, err := lookup.Find(url)
		if err != nil || q.Sides[0].CDN == nil {
			continue // several, or none
		}
		differs := false
		for n := range q.ListAnswers() {
			name := q.ReplyOf([]int{n}).Rules[0]
			r := reading{wins: name}
			if wins, broken, has := strings.Cut(name, ", and "); has {
				r = reading{wins, broken}
			}
			was, is := was.ask(host, path, r), is.ask(host, path, r)
			if l := q.Location(0, n); (l != nil) != is.isAnswer() || l != nil && l.Upstream != is.origin {
				return fmt.Sprintf("%s%s, %v: test has %v, and not %v", host, path, r, l, is)
			}
			differs = differs || len(changes(was, is)) > 0
		}
		if result, err := lookup.AskAll([]string{url.Text}); err != nil || result.Requests[0].Differs != differs {
			return fmt.Sprintf("%s%s: request says that it differs: %v, %v", host, path, !differs, err)
		}
	}
	return ""
}

func (s site) engine() *routing.Site {
	var all []*routing.CDN
	for _, c := range s {
		all = append(all, c.engine())
	}
	return routing.NewSite(all...)
}

// TestHidden: exactly those locations are hidden of which an earlier one takes all requests.
func TestHidden(t *testing.T) {
	covers := func(a, b location) bool {
		hosts := a.host == "" || a.host == "*" || a.host == b.host || isBelow(b.host, a.host)
		stem, prefix := strings.CutSuffix(a.path, "*")
		return hosts && (a.path == b.path || prefix && strings.HasPrefix(b.path, stem)) && (b.host != "" && b.host != "*" || a.host == "" || a.host == "*")
	}
	d := draw{rand.New(rand.NewPCG(rand.Uint64(), 1))}
	for range 2000 {
		c := cdn{name: "a", hostname: "a.ex"}
		for range d.IntN(7) {
			l := d.location()
			if l.path == "*" { // it is the same as /*
				l.path = "/*"
			}
			c.locations = append(c.locations, l)
		}
		want, got := map[int]int{}, map[int]int{}
		for i, l := range c.locations {
			first := slices.IndexFunc(c.locations[:i], func(other location) bool { return covers(other, l) })
			if first < 0 {
				continue
			}
			by := c.locations[first]
			same := by.path == l.path && strings.Trim(by.host, "*") == strings.Trim(l.host, "*")
			if !same {
				want[i] = first
			}
		}
		for _, h := range routing.FindHidden(c.spec()) {
			for _, l := range h.Locations {
				got[l.Index] = h.By.Index
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v: %+v", got, want, c.locations)
		}
	}
}
