// Package route proves which requests a change of a CDN serves in another way, for every plausible rule by
// which the platform selects a location. It sends no request.
package route

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Value is one property of how a request is served; the zero Value is an absent one. Text is the manifest's,
// or canonical JSON, in which null and {} are absent and a number or boolean equals its text.
type Value struct {
	Text string
	// Time is a time to live. It is known only for a whole number with a documented unit.
	Time  time.Duration
	Known bool
}

// Facet is one property of how a location serves requests.
type Facet uint8

// The facets of a location. The platform documents neither how a host selects requests nor what rewrite and
// headers do, so their values compare as they are.
const (
	Origin     Facet = iota // the scheme and the servers of the upstream, whatever its name is
	Connection              // the other settings of the upstream
	Action
	CacheLevel
	EdgeTTL
	BrowserTTL
	Cache // the other settings of the cache
	CORS
	Images
	Rewrite
	Headers
	Host
	Other // fields that are not documented
	facets
)

// Behaviour has the value of each facet. Two locations serve requests alike if theirs are equal.
type Behaviour [facets]Value

// SiteFacet is one property of how all requests of a hostname are served.
type SiteFacet uint8

// The facets of a site.
const (
	Hostname SiteFacet = iota
	TLS
	SecureLink
	Firewall
	OtherOfSite // fields that are not documented, or locations that are no list
	siteFacets
)

// Location is one location of a site.
type Location struct {
	Path string
	// Host is a kind.HostKey, perhaps below "*.", or "" for any.
	Host string
	// Index is its place in the list.
	Index int
	Behaviour
}

// Site is how a CDN serves requests. Its locations don't change once Matching was called.
type Site struct {
	Locations []Location
	Facets    [siteFacets]Value

	indexed sync.Once
	// hosts have the clear locations of each host.
	hosts   map[string]patterns
	unclear patterns
}

// Read returns the site of a decoded spec. What has an unexpected type is a value like any other.
func Read(spec map[string]any) *Site {
	s := &Site{Facets: [siteFacets]Value{
		Hostname: {Text: kind.HostKey(text(spec["hostname"]))}, TLS: opaque(spec["tls"]),
		SecureLink: opaque(spec["secureLink"]), Firewall: opaque(spec["firewall"]),
	}}
	known := []string{"hostname", "tls", "secureLink", "firewall"}
	locations, isList := spec["locations"].([]any)
	if isList {
		known = append(known, "locations")
	}
	upstreams, isList := spec["upstreams"].([]any)
	if isList {
		known = append(known, "upstreams")
	}
	s.Facets[OtherOfSite] = opaque(without(spec, known...))
	named := map[string][]map[string]any{}
	for _, v := range upstreams {
		u, _ := v.(map[string]any)
		named[text(u["name"])] = append(named[text(u["name"])], u)
	}
	for i, v := range locations {
		l := location(v, named)
		l.Index = i
		s.Locations = append(s.Locations, l)
	}
	return s
}

func location(v any, upstreams map[string][]map[string]any) Location {
	l, isObject := v.(map[string]any)
	if !isObject {
		return Location{Behaviour: Behaviour{Other: opaque(v)}}
	}
	host := kind.HostKey(text(l["host"]))
	if host == "*" {
		host = ""
	}
	b := Behaviour{
		Action: opaque(l["action"]), CORS: opaque(l["cors"]), Images: opaque(l["imgsvc"]), Rewrite: opaque(l["rewrite"]),
		Headers: opaque(l["headers"]), Host: {Text: host},
	}
	known := []string{"path", "host", "action", "upstream", "cors", "imgsvc", "rewrite", "headers"}
	if cache, isObject := l["cache"].(map[string]any); isObject {
		known = append(known, "cache")
		b[CacheLevel] = opaque(cache["level"])
		b[EdgeTTL], b[BrowserTTL] = ttl(cache, "edgeTTL"), ttl(cache, "browserTTL")
		other := without(cache, "level", "edgeTTL", "browserTTL", "ttlTimeUnit")
		b[Cache] = opaque(other)
	}
	b[Origin], b[Connection] = upstream(text(l["upstream"]), upstreams)
	b[Other] = opaque(without(l, known...))
	path, _ := l["path"].(string)
	return Location{Path: path, Host: host, Behaviour: b}
}

// upstream returns the Origin and the Connection of a name. One that the manifest does not list is its name.
func upstream(name string, upstreams map[string][]map[string]any) (origin, connection Value) {
	listed := upstreams[name]
	if len(listed) == 0 || name == "" {
		return Value{Text: name}, Value{}
	}
	var origins, connections []any
	for _, u := range listed {
		var servers []any
		known := []string{"name", "scheme"}
		if list, isList := u["servers"].([]any); isList {
			known, servers = append(known, "servers"), slices.Clone(list)
			slices.SortFunc(servers, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
		origins = append(origins, map[string]any{"scheme": u["scheme"], "servers": servers})
		connections = append(connections, without(u, known...))
	}
	if len(listed) == 1 {
		return opaque(origins[0]), opaque(connections[0])
	}
	return opaque(origins), opaque(connections)
}

func ttl(cache map[string]any, field string) Value {
	number, unit := text(cache[field]), text(cache["ttlTimeUnit"])
	if number == "" {
		return Value{}
	}
	if d, ok := kind.Duration(number, unit); ok {
		return Value{Time: d, Known: true}
	}
	return Value{Text: strings.TrimSpace(number + " " + unit)}
}

func opaque(v any) Value { return Value{Text: text(v)} }

func text(v any) string {
	switch v := Tidy(v).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return string(canon.Bytes(v))
	}
}

// Tidy returns a copy in which numbers and booleans are text, and absent fields of objects are left out.
func Tidy(v any) any {
	switch v := v.(type) {
	case nil, string:
		return v
	case map[string]any:
		out := map[string]any{}
		for name, below := range v {
			if below = Tidy(below); below != nil {
				out[name] = below
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Tidy(v[i])
		}
		return out
	default:
		return string(canon.Bytes(v))
	}
}

func without(m map[string]any, names ...string) map[string]any {
	out := maps.Clone(m)
	for _, name := range names {
		delete(out, name)
	}
	return out
}
