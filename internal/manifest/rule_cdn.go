package manifest

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/purge"
)

// shownNames limits the names in a message.
const shownNames = 5

// checkLocationUnreachable reports each location that hides others once.
func checkLocationUnreachable(s *subject) {
	locations := RoutesOf(s.Tree).Locations
	groups := groupByHost(locations)
	hidden := map[int][]string{}
	for i, l := range locations {
		if by, ok := hiddenBy(groups, i, l); ok {
			hidden[by] = append(hidden[by], l.Host+l.Path)
		}
	}
	for by, l := range locations {
		if len(hidden[by]) > 0 {
			name := l.Host + l.Path
			s.report(child(l.Field, "path"),
				fmt.Sprintf("%[1]s takes all requests of %[2]s below it if the first match wins; the platform does not document which match wins", name, diag.First(hidden[by], shownNames)),
				fmt.Sprintf("move %s below them: this order works whichever match wins", name))
		}
	}
}

type hostGroup struct {
	// numbers are the indices of the locations, paths their paths.
	numbers []int
	paths   [][]string
	// first is the lowest index with a path.
	first map[string]int
	cover purge.Cover
}

// groupByHost groups the locations of a CDN by their host; "" is any host.
func groupByHost(locations []Location) map[string]*hostGroup {
	groups := map[string]*hostGroup{}
	for i, l := range locations {
		g := groups[l.hostKey()]
		if g == nil {
			g = &hostGroup{first: map[string]int{}}
			groups[l.hostKey()] = g
		}
		g.numbers, g.paths = append(g.numbers, i), append(g.paths, []string{l.Path})
		if _, seen := g.first[l.Path]; !seen {
			g.first[l.Path] = i
		}
	}
	for _, g := range groups {
		g.cover = purge.NewCover(g.paths...)
	}
	return groups
}

// hiddenBy returns the index of a location above the i-th that takes all its requests: one with the same
// host, with a wildcard that includes the host, or for any host. It ignores locations with the same host
// and path, which duplicate-location reports.
func hiddenBy(groups map[string]*hostGroup, i int, l Location) (by int, ok bool) {
	own := l.hostKey()
	for host := own; ; host = widerHost(host) {
		if g := groups[host]; g != nil {
			if by, ok := g.first[l.Path]; ok && by < i && host != own {
				return by, true
			}
			list, _, ok := g.cover.By(l.Path, func(list int, prefix string) bool {
				return g.numbers[list] < i && (prefix != l.Path || host != own)
			})
			if ok {
				return g.numbers[list], true
			}
		}
		if host == "" {
			return 0, false
		}
	}
}

// widerHost returns the next wildcard that includes the host: *.b.c for a.b.c, then *.c, then "" for
// any.
func widerHost(host string) string {
	_, parent, ok := strings.Cut(strings.TrimPrefix(host, "*."), ".")
	if !ok || len(host) > maxHostname {
		return ""
	}
	return "*." + parent
}

func checkLocationPathOdd(s *subject) {
	for at, location := range s.each("locations[]") {
		path := text(location, "path")
		if path == "" {
			continue
		}
		odd := oddities(path)
		if !strings.HasPrefix(path, "/") {
			odd = append(odd, "no / at its start")
		}
		if strings.Contains(strings.TrimSuffix(path, "*"), "*") {
			odd = append(odd, "a * before its end")
		}
		if len(odd) > 0 {
			s.report(child(at, "path"), oddPath(path, odd), "write the path as clients ask for it: / first, * only at the end, other characters encoded as %XX")
		}
	}
}

func checkCORSCredentials(s *subject) {
	for at, location := range s.each("locations[]") {
		cors := mapping(location, "cors")
		everyOrigin := slices.ContainsFunc(strings.Fields(strings.ReplaceAll(text(cors, "allowOrigins"), ",", " ")), func(origin string) bool {
			return origin == "*" || origin == "http://*" || origin == "https://*"
		})
		if everyOrigin && text(cors, "enabled") != "false" && text(cors, "allowCredentials") == "true" {
			s.report(at+".cors.allowOrigins", text(location, "path")+" allows credentials to pages of every origin",
				`name the origins that need credentials, or write allowCredentials: "false"`)
		}
	}
}

func checkTLSNotForced(s *subject) {
	tls := mapping(s.Tree, "tls")
	forced, written := tls["forced"].(string)
	const fix = `write forced: "true" below tls`
	switch enabled := text(tls, "enabled"); {
	case enabled == "false" || forced == "true":
	case written:
		s.report("spec.tls.forced", "plain HTTP is not redirected to TLS", fix)
	case enabled == "true":
		s.report("spec.tls.forced", "the manifest does not redirect plain HTTP to TLS", fix)
	}
}

func checkUpstreamUnknown(s *subject) {
	if _, listed := s.Tree["upstreams"].([]any); !listed {
		return
	}
	var known []string
	has := map[string]bool{}
	for _, upstream := range s.each("upstreams[]") {
		if name, ok := upstream["name"].(string); ok {
			known, has[name] = append(known, name), true
		}
	}
	for at, location := range s.each("locations[]") {
		name, ok := location["upstream"].(string)
		if !ok || has[name] || s.full() {
			continue
		}
		fix := "add it to spec.upstreams, or use a name from there"
		if meant := Nearest(name, known); meant != "" {
			fix = fmt.Sprintf("did you mean %q?", meant)
		}
		s.report(child(at, "upstream"), fmt.Sprintf("spec.upstreams has no entry with the name %q", name), fix)
	}
}

func checkUpstreamUnused(s *subject) {
	if _, listed := s.Tree["locations"].([]any); !listed {
		return
	}
	used := map[string]bool{}
	for _, location := range s.each("locations[]") {
		used[text(location, "upstream")] = true
	}
	for at, upstream := range s.each("upstreams[]") {
		if name, ok := upstream["name"].(string); ok && !used[name] {
			s.report(child(at, "name"), fmt.Sprintf("no location uses the upstream %q", name),
				"remove it, or name it in a location")
		}
	}
}
