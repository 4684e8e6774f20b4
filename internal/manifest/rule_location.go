package manifest

import (
	"fmt"
	"strings"
	"unicode"

	"trueup/internal/kind"
	"trueup/internal/purge"
)

// checkLocationUnreachable reports once for each location that hides others.
func checkLocationUnreachable(s *subject) {
	locations := RoutesOf(s.Tree).Locations
	above := newAbove(locations)
	hidden := map[int][]string{}
	for i, l := range locations {
		if by, ok := above.hides(i, l); ok {
			hidden[by] = append(hidden[by], l.Host+l.Path)
		}
	}
	for by, l := range locations {
		if len(hidden[by]) > 0 {
			name := l.Host + l.Path
			s.report(child(l.Field, "path"),
				fmt.Sprintf("if the first match wins, no request reaches %[2]s below %[1]s; the platform does not document which one wins", name, Some(hidden[by])),
				fmt.Sprintf("move %s below them: specific paths above general ones work either way", name))
		}
	}
}

// above finds the location that takes the requests of one further down.
type above struct {
	// groups are the locations by their hosts.
	groups map[string]*hostGroup
}

type hostGroup struct {
	places []int
	paths  [][]string
	// first is where a path stands first.
	first map[string]int
	cover purge.Cover
}

func newAbove(locations []Location) above {
	a := above{map[string]*hostGroup{}}
	for i, l := range locations {
		host := hostOf(l)
		g := a.groups[host]
		if g == nil {
			g = &hostGroup{first: map[string]int{}}
			a.groups[host] = g
		}
		g.places, g.paths = append(g.places, i), append(g.paths, []string{l.Path})
		if _, seen := g.first[l.Path]; !seen {
			g.first[l.Path] = i
		}
	}
	for _, g := range a.groups {
		g.cover = purge.NewCover(g.paths...)
	}
	return a
}

// hostOf is the host of a location as it is compared; "" is any.
func hostOf(l Location) string {
	if anyHost(l.Host) {
		return ""
	}
	return kind.HostKey(l.Host)
}

// hides returns which location above the i-th takes all its requests: one of
// the same host, of a wildcard that has it, or of any. Two of one host and path
// are an error of another rule.
func (a above) hides(i int, l Location) (by int, ok bool) {
	own := hostOf(l)
	for host := own; ; {
		by, ok := a.groups[host].hides(i, l.Path, host == own)
		if ok {
			return by, true
		}
		if host == "" {
			return 0, false
		}
		host = wider(host)
	}
}

// maxHost is the longest name that there can be (RFC 1035).
const maxHost = 255

// wider is the next wildcard that has the host: a.b.c, *.b.c, *.c, and then
// any.
func wider(host string) string {
	if len(host) > maxHost {
		return ""
	}
	_, parent, ok := strings.Cut(strings.TrimPrefix(host, "*."), ".")
	if !ok {
		return ""
	}
	return "*." + parent
}

func (g *hostGroup) hides(i int, path string, own bool) (by int, ok bool) {
	if g == nil {
		return 0, false
	}
	if by, ok := g.first[path]; ok && by < i && !own {
		return by, true
	}
	list, _, ok := g.cover.By(path, func(list int, prefix string) bool {
		return g.places[list] < i && (prefix != path || !own)
	})
	if !ok {
		return 0, false
	}
	return g.places[list], true
}

// Some names the first of a list, and counts the rest.
func Some(names []string) string {
	if n := len(names) - shownPaths; n > 1 {
		return strings.Join(names[:shownPaths], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

func checkLocationPathOdd(s *subject) {
	for at, location := range elements(s.Tree, "spec", "locations") {
		path, ok := text(location, "path")
		if !ok || path == "" {
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
	for at, location := range elements(s.Tree, "spec", "locations") {
		cors := mapping(location, "cors")
		enabled, _ := text(cors, "enabled")
		credentials, _ := text(cors, "allowCredentials")
		origins, _ := text(cors, "allowOrigins")
		if enabled == "false" || credentials != "true" || !everyOrigin(origins) {
			continue
		}
		path, _ := text(location, "path")
		s.report(child(child(at, "cors"), "allowOrigins"),
			fmt.Sprintf("%s allows credentials to pages of every origin", path),
			`name the origins that need credentials, or write allowCredentials: "false"`)
	}
}

// everyOrigin reports whether one of the origins in a text means all.
func everyOrigin(origins string) bool {
	for _, origin := range strings.FieldsFunc(origins, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		switch origin {
		case "*", "http://*", "https://*":
			return true
		}
	}
	return false
}

func checkTLSNotForced(s *subject) {
	tls := mapping(s.Tree, "tls")
	enabled, _ := text(tls, "enabled")
	forced, written := text(tls, "forced")
	const fix = `write forced: "true" below tls`
	switch {
	case enabled == "false" || forced == "true":
	case written:
		s.report("spec.tls.forced", "plain HTTP is not redirected to TLS", fix)
	case enabled == "true":
		s.report("spec.tls.forced", "the manifest does not redirect plain HTTP to TLS", fix)
	}
}
