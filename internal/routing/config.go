// Package routing says which CDN and location of a site answer a request, and what changes of CDNs do to the requests
// of the whole site, under each plausible reading of what the platform does not document. It sends no request.
package routing

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Value is one property of how a request is answered; the zero Value is an absent one. Text is the manifest's, or
// canonical JSON, in which null and {} are absent and a number or boolean equals its text.
type Value struct {
	Text string
	// Time is a time to live. It is known only for a whole number with a unit that trueup knows.
	Time  time.Duration
	Known bool
}

// Facet is one property of how a location answers requests.
type Facet uint8

// The facets of a location. The platform does not document what rewrite and headers do, so their values compare as they
// are.
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
	Other // fields that are not documented
	facets
)

// Behaviour has the value of each facet. Two locations answer requests alike if theirs are equal.
type Behaviour [facets]Value

// CDNFacet is one property of how a CDN answers all requests.
type CDNFacet uint8

// The facets of a CDN.
const (
	TLS CDNFacet = iota
	SecureLink
	Firewall
	OtherOfCDN // fields that are not documented, or locations that are no list
	cdnFacets
)

// Location is one location of a CDN.
type Location struct {
	// Path, Host, Action, Upstream, EdgeTTL and TTLUnit are as in the manifest; Host is a kind.HostKey, perhaps below
	// "*.", or "" for any.
	Path, Host, Action, Upstream, EdgeTTL, TTLUnit string
	// Index is its place in the list.
	Index int
	Behaviour
	// isStar says that the manifest has the host "*", and units what times are in another unit than seconds.
	isStar bool
	units  string
}

// Field returns the place of the location in the manifest.
func (l *Location) Field() string { return fmt.Sprintf("spec.locations[%d]", l.Index) }

// Upstream is a group of servers.
type Upstream struct {
	Name, Scheme string
	// Servers are host:port, in the order of the list. Used counts those whose weight is not 0.
	Servers []string
	Used    int
}

// Config is how a CDN answers requests.
type Config struct {
	// Hostname is a kind.HostKey.
	Hostname  string
	Locations []Location
	Upstreams []Upstream
	Facets    [cdnFacets]Value

	indexed sync.Once
	// hosts has the locations of each host that are clear, and unclear all others.
	hosts   map[string][]*Location
	unclear []*Location
}

// Read returns the config of a decoded spec. What has an unexpected type is a value like any other.
func Read(spec map[string]any) *Config {
	c := &Config{Hostname: kind.HostKey(text(spec["hostname"])), Facets: [cdnFacets]Value{
		TLS: opaque(spec["tls"]), SecureLink: opaque(spec["secureLink"]), Firewall: opaque(noticed(spec["firewall"])),
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
	c.Facets[OtherOfCDN] = rest(spec, known...)
	named := map[string][]map[string]any{}
	for _, v := range upstreams {
		u, _ := v.(map[string]any)
		c.Upstreams = append(c.Upstreams, readUpstream(u))
		named[text(u["name"])] = append(named[text(u["name"])], u)
	}
	servers := map[string][2]Value{}
	c.Locations = slices.Grow(c.Locations, len(locations))
	for i, v := range locations {
		l := location(v, func(name string) [2]Value {
			if _, read := servers[name]; !read {
				servers[name] = origins(name, named[name])
			}
			return servers[name]
		})
		l.Index = i
		c.Locations = append(c.Locations, l)
	}
	return c
}

func readUpstream(u map[string]any) Upstream {
	out := Upstream{Name: text(u["name"]), Scheme: text(u["scheme"])}
	for _, s := range objects(u["servers"]) {
		out.Servers = append(out.Servers, address(s))
		if text(s["weight"]) != "0" {
			out.Used++
		}
	}
	return out
}

// location reads a location; upstream returns the Origin and the Connection of a name.
func location(v any, upstream func(name string) [2]Value) Location {
	fields, isObject := v.(map[string]any)
	if !isObject {
		return Location{Behaviour: Behaviour{Other: opaque(v)}}
	}
	l := Location{Host: kind.HostKey(text(fields["host"])), Action: text(fields["action"]), Upstream: text(fields["upstream"])}
	if l.isStar = l.Host == "*"; l.isStar {
		l.Host = ""
	}
	l.Path, _ = fields["path"].(string)
	l.Behaviour = Behaviour{
		Action: opaque(fields["action"]), CORS: opaque(noticed(fields["cors"])), Images: opaque(noticed(fields["imgsvc"])),
		Rewrite: opaque(fields["rewrite"]), Headers: opaque(fields["headers"]),
	}
	known := []string{"path", "host", "action", "upstream", "cors", "imgsvc", "rewrite", "headers"}
	if cache, isObject := fields["cache"].(map[string]any); isObject {
		known = append(known, "cache")
		l.EdgeTTL, l.TTLUnit = text(cache["edgeTTL"]), text(cache["ttlTimeUnit"])
		l.Behaviour[CacheLevel] = opaque(cache["level"])
		l.Behaviour[EdgeTTL], l.Behaviour[BrowserTTL] = ttl(cache, "edgeTTL"), ttl(cache, "browserTTL")
		l.Behaviour[Cache] = rest(cache, "level", "edgeTTL", "browserTTL", "ttlTimeUnit")
		if l.TTLUnit != "" && l.TTLUnit != "second" {
			l.units = l.EdgeTTL + "\x00" + text(cache["browserTTL"]) + "\x00" + l.TTLUnit
		}
	}
	servers := upstream(l.Upstream)
	l.Behaviour[Origin], l.Behaviour[Connection] = servers[0], servers[1]
	l.Behaviour[Other] = rest(fields, known...)
	return l
}

// noticed returns the part of an object with enabled, or with rules, that a request can notice.
func noticed(v any) any {
	m, _ := v.(map[string]any)
	if enabled := m["enabled"]; enabled == false || enabled == "false" {
		return map[string]any{"enabled": "false"}
	}
	rules, _ := m["rules"].([]any)
	if !slices.ContainsFunc(rules, isOff) {
		return v
	}
	m = maps.Clone(m)
	m["rules"] = slices.DeleteFunc(slices.Clone(rules), isOff)
	return m
}

func isOff(rule any) bool {
	m, _ := rule.(map[string]any)
	return m["enabled"] == false || m["enabled"] == "false"
}

// origins returns the Origin and the Connection of the upstreams of a name. One that the manifest does not list is its
// name.
func origins(name string, listed []map[string]any) [2]Value {
	if len(listed) == 0 || name == "" {
		return [2]Value{{Text: name}}
	}
	var origins, connections []any
	for _, u := range listed {
		var servers []any
		known := []string{"name", "scheme"}
		if list, isList := u["servers"].([]any); isList {
			known, servers = append(known, "servers"), normalServers(list)
		}
		origins = append(origins, map[string]any{"scheme": u["scheme"], "servers": servers})
		connections = append(connections, without(u, known...))
	}
	if len(listed) == 1 {
		return [2]Value{opaque(origins[0]), opaque(connections[0])}
	}
	return [2]Value{opaque(origins), opaque(connections)}
}

// normalServers returns servers in an order of their own, with hosts in lower case and the smallest whole weights of the
// same shares.
func normalServers(list []any) []any {
	out, divisor := make([]any, len(list)), 0
	for i, v := range list {
		m, isObject := v.(map[string]any)
		if out[i] = v; !isObject {
			continue
		}
		m = maps.Clone(m)
		out[i] = m
		if host, isText := m["host"].(string); isText {
			m["host"] = kind.HostKey(host)
		}
		n, err := strconv.Atoi(text(m["weight"]))
		if err != nil || n < 0 {
			n = 1
		}
		if len(list) == 1 && n > 0 {
			delete(m, "weight") // it has all requests
		}
		for n > 0 {
			divisor, n = n, divisor%n
		}
	}
	for _, v := range out {
		m, _ := v.(map[string]any)
		if n, err := strconv.Atoi(text(m["weight"])); err == nil && divisor > 1 {
			m["weight"] = strconv.Itoa(n / divisor)
		}
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return out
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
