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
	s.Facets[OtherOfSite] = rest(spec, known...)
	named := map[string][]map[string]any{}
	for _, v := range upstreams {
		u, _ := v.(map[string]any)
		named[text(u["name"])] = append(named[text(u["name"])], u)
	}
	servers := map[string][2]Value{}
	s.Locations = slices.Grow(s.Locations, len(locations))
	for i, v := range locations {
		l := location(v, func(name string) [2]Value {
			if _, read := servers[name]; !read {
				servers[name] = upstream(name, named[name])
			}
			return servers[name]
		})
		l.Index = i
		s.Locations = append(s.Locations, l)
	}
	return s
}

// location reads a location; upstream returns the Origin and the Connection of a name.
func location(v any, upstream func(name string) [2]Value) Location {
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
		b[Cache] = rest(cache, "level", "edgeTTL", "browserTTL", "ttlTimeUnit")
	}
	servers := upstream(text(l["upstream"]))
	b[Origin], b[Connection] = servers[0], servers[1]
	b[Other] = rest(l, known...)
	path, _ := l["path"].(string)
	return Location{Path: path, Host: host, Behaviour: b}
}

// upstream returns the Origin and the Connection of the upstreams of a name. One that the manifest does not list is its
// name.
func upstream(name string, listed []map[string]any) [2]Value {
	if len(listed) == 0 || name == "" {
		return [2]Value{{Text: name}}
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
		return [2]Value{opaque(origins[0]), opaque(connections[0])}
	}
	return [2]Value{opaque(origins), opaque(connections)}
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

// rest is the Value of an object without some fields.
func rest(m map[string]any, known ...string) Value {
	return Value{Text: string(appendTidy(nil, m, known...))}
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, map[string]any, []any:
		return string(appendTidy(nil, v))
	default:
		return string(canon.Bytes(v))
	}
}

// appendTidy appends what Tidy returns as JSON, but nothing for nil, and without some fields of an object.
func appendTidy(b []byte, v any, known ...string) []byte {
	switch v := v.(type) {
	case nil:
		return b
	case string:
		return canon.Append(b, v)
	case map[string]any:
		return appendFields(b, v, known)
	case []any:
		b = append(b, '[')
		for i, below := range v {
			if i > 0 {
				b = append(b, ',')
			}
			before := len(b)
			if b = appendTidy(b, below); len(b) == before {
				b = append(b, "null"...)
			}
		}
		return append(b, ']')
	default:
		return canon.Append(b, string(canon.Bytes(v)))
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

func appendFields(b []byte, fields map[string]any, known []string) []byte {
	start := len(b)
	for _, name := range canon.SortedKeys(fields) {
		if slices.Contains(known, name) {
			continue
		}
		before := len(b)
		b = append(canon.Append(append(b, ','), name), ':')
		named := len(b)
		if b = appendTidy(b, fields[name]); len(b) == named {
			b = b[:before]
		}
	}
	if len(b) == start {
		return b
	}
	b[start] = '{'
	return append(b, '}')
}

func without(m map[string]any, names ...string) map[string]any {
	out := maps.Clone(m)
	for _, name := range names {
		delete(out, name)
	}
	return out
}
