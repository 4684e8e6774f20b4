package oracles

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// set are the locations of a CDN, and requests that a server is asked for. The hosts of both are below the
// domain of the set: "" is any host of it.
type set struct {
	name      string
	locations []location
	requests  []request
}

type (
	location struct{ host, path string }
	request  struct{ host, path string }
)

const requestsOfSet = 50

// under returns a host or a pattern of the set's n-th domain.
func under(host string, n int) string {
	if host == "" {
		return ""
	}
	return fmt.Sprintf("%s.s%d.test", host, n)
}

// site is what trueup reads from the manifest of the set, if its CDN has the hostname: trueup says of no other host that
// its requests reach the CDN.
func (s set) site(n int, hostname string) *routing.Site {
	var list []any
	for _, l := range s.locations {
		list = append(list, map[string]any{"path": l.path, "host": under(l.host, n)})
	}
	return routing.NewSite(routing.NewCDNFromConfig(kind.Key{Kind: "CDN", Name: "s"}, routing.ReadConfig(map[string]any{"hostname": hostname, "locations": list})))
}

// pieces collide, so that patterns overlap. Some look like the end of a path, an escape or a dot segment, or
// mean something in a regular expression or in the servers' configuration.
var pieces = []string{
	"a", "a", "b", "/", "/", "ab", "A", "//", "...", "/..a", ".", "~", "-", "a.b", "a+b", "$a", "(a", "'", ";", "&=", "*", "@", ",", ":80",
	"%20", "%22", "%23", "%3F", "%5C", "%7B%7D", "%25", "%252F", "%C3%A4", "%2F",
}

func drawPath() string {
	var b strings.Builder
	for range rand.IntN(5) {
		b.WriteString(pieces[rand.IntN(len(pieces))])
	}
	return b.String()
}

// drawPattern returns an exact path or a prefix. trueup does not say what others serve.
func drawPattern() string {
	path := "/" + drawPath()
	switch stem := strings.TrimSuffix(routing.NormalizePath(path+"x"), "x"); {
	case rand.IntN(12) == 0:
		return "*"
	case rand.IntN(3) > 0 && !strings.Contains(stem, "*"):
		return stem + "*"
	}
	return strings.ReplaceAll(routing.NormalizePath(path), "*", "")
}

// drawSet draws locations, half of the sets with hosts.
func drawSet() set {
	var s set
	hosts := []string{"", "", "", "h", "a.h", "*.h", "*.a.h"}
	if rand.IntN(2) == 0 {
		hosts = hosts[:1]
	}
	for range 1 + rand.IntN(8) {
		s.locations = append(s.locations, location{hosts[rand.IntN(len(hosts))], drawPattern()})
	}
	s.drawRequests("h", "a.h", "b.h", "c.a.h", "z")
	return s
}

// drawRequests draws addresses, most of them a pattern of the set with something changed at its end.
func (s *set) drawRequests(hosts ...string) {
	for range requestsOfSet {
		path := strings.TrimSuffix(s.locations[rand.IntN(len(s.locations))].path, "*")
		switch rand.IntN(8) {
		case 0:
			path = "/" + drawPath()
		case 1:
			path = path[:len(path)-min(1, len(path))]
		case 2:
			path += "/"
		case 3:
			path = strings.ToUpper(path)
		case 4:
			path += string(rune(1 + rand.IntN(0x2000)))
		case 5:
			path += strings.Repeat(drawPath(), 1+rand.IntN(20))
		case 6:
			path += drawPath()
		}
		s.requests = append(s.requests, request{hosts[rand.IntN(len(hosts))], routing.NormalizePath(path)})
	}
}

// corpus returns the real configurations, without the locations that have a star elsewhere than at the end.
func corpus(t *testing.T) (sets []set) {
	root := os.Getenv("TRUEUP_CORPUS")
	if root == "" {
		t.Log("TRUEUP_CORPUS is not set: no real configuration is among the sets")
		return nil
	}
	source := manifest.PathSource{FS: os.DirFS(root), Path: "cdns"}
	loaded, findings, err := manifest.Load(t.Context(), []manifest.PathSource{source}, manifest.LoadSettings{})
	if err != nil || findings.HasErrors() {
		t.Fatal(err, findings)
	}
	for _, o := range loaded.Objects {
		s, hosts := set{name: o.Name}, []string{"z"}
		for _, l := range routing.ReadConfig(o.Tree()).Locations {
			if strings.Contains(strings.TrimSuffix(l.Path, "*"), "*") {
				continue
			}
			s.locations = append(s.locations, location{l.Host, l.Path})
			if l.Host != "" {
				hosts = append(hosts, strings.Replace(l.Host, "*", "any", 1))
			}
		}
		if len(s.locations) == 0 {
			continue
		}
		s.drawRequests(slices.Compact(hosts)...)
		sets = append(sets, s)
	}
	return sets
}
