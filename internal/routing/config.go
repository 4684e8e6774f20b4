// Package routing says which CDN and location of a site answer a request, and what changes of CDNs do to the requests
// of the whole site, under each plausible reading of what the platform does not document. It sends no request.
package routing

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// ServedValue is one property of how a request is answered; the zero Value is an absent one. Text is the manifest's, or
// canonical JSON, in which null and {} are absent and a number or boolean equals its text.
type ServedValue struct {
	Text string
	// Time is a time to live. It is known only for a whole number with a unit that trueup knows.
	Time  time.Duration
	Known bool
}

// Facet is one property of how requests are answered.
type Facet uint8

// The facets of a location, and then those of its CDN. The platform does not document what rewrite and headers do, so their
// values compare as they are.
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
	TLS
	SecureLink
	Firewall
	OtherOfCDN // fields that are not documented, or locations that are no list
	facets
	namedFirewall = facets // the Firewall with the names of its rules, which no request notices
	ofCDN         = TLS    // the first of a CDN
)

// Behaviour has the value of each facet. Two locations answer requests alike if theirs are equal up to facets.
type Behaviour [facets + 1]ServedValue

// Location is one location of a CDN.
type Location struct {
	// Path, Host and Upstream are as in the manifest; Host is a kind.HostKey, perhaps below "*.", or "" for any.
	Path, Host, Upstream string
	// Index is its place in the list.
	Index int
	Behaviour
	// isStar says that the manifest has the host "*", and isUnclear that no document says what the location matches.
	isStar, isUnclear bool
	// times are the edge TTL and the browser TTL as in the manifest, if they are in another unit than seconds.
	times [2]string
}

// FieldPath returns the place of the location in the manifest.
func (l *Location) FieldPath() string { return fmt.Sprintf("spec.locations[%d]", l.Index) }

// CDNConfig is how a CDN answers requests.
type CDNConfig struct {
	// Hostname is a kind.HostKey.
	Hostname  string
	Locations []Location
	// Upstreams are the names of the groups of servers.
	Upstreams []string
	// Behaviour has the facets of the CDN alone.
	Behaviour

	// hosts has the locations of each host, and unclear those that are.
	hosts   map[string][]*Location
	unclear []*Location
}

// ReadConfig returns the config of a decoded spec. What has an unexpected type is a value like any other.
func ReadConfig(spec map[string]any) *CDNConfig { return new(CDNConfig).ReadChanged(nil, spec) }

// ReadChanged returns the config of a spec, which may share parts with one that c is the config of: these are not read again.
func (c *CDNConfig) ReadChanged(was, spec map[string]any) *CDNConfig {
	isKept := func(field string) bool { return canon.AreSameInMemory(was[field], spec[field]) }
	known := []string{"hostname", "tls", "secureLink", "firewall"}
	listOf := func(field string) []any {
		list, isList := spec[field].([]any)
		if isList {
			known = append(known, field)
		}
		return list
	}
	next := &CDNConfig{Hostname: kind.HostKey(textOf(spec["hostname"])), hosts: map[string][]*Location{}}
	named := map[string][]map[string]any{}
	for _, v := range listOf("upstreams") {
		u := canon.Object(v)
		name := textOf(u["name"])
		next.Upstreams, named[name] = append(next.Upstreams, name), append(named[name], u)
	}
	servers := map[string][2]ServedValue{}
	locations := listOf("locations")
	next.Behaviour = Behaviour{TLS: valueOf(spec["tls"]), SecureLink: valueOf(spec["secureLink"]), OtherOfCDN: remainderOf(spec, known...)}
	if next.Behaviour[Firewall], next.Behaviour[namedFirewall] = c.Behaviour[Firewall], c.Behaviour[namedFirewall]; !isKept("firewall") {
		firewall := reduceDisabled(spec["firewall"])
		next.Behaviour[Firewall], next.Behaviour[namedFirewall] = valueOf(withoutNames(firewall)), valueOf(firewall)
	}
	next.Locations = make([]Location, len(locations))
	keepsLocations := isKept("locations")
	keepsOrigins := keepsLocations && isKept("upstreams")
	for i, v := range locations {
		l := &next.Locations[i]
		if keepsLocations {
			*l = c.Locations[i]
		} else {
			*l = readLocation(v, i)
		}
		if _, isRead := servers[l.Upstream]; !isRead && keepsOrigins {
			servers[l.Upstream] = [2]ServedValue{l.Behaviour[Origin], l.Behaviour[Connection]}
		} else if !isRead {
			servers[l.Upstream] = readOrigin(l.Upstream, named[l.Upstream])
		}
		l.Behaviour[Origin], l.Behaviour[Connection] = servers[l.Upstream][0], servers[l.Upstream][1]
		copy(l.Behaviour[ofCDN:], next.Behaviour[ofCDN:])
		if l.isUnclear {
			next.unclear = append(next.unclear, l)
		}
		if !strings.Contains(strings.TrimPrefix(l.Host, "*."), "*") {
			next.hosts[l.Host] = append(next.hosts[l.Host], l)
		}
	}
	return next
}

// readPattern reads which requests a location matches.
func readPattern(fields map[string]any, index int) Location {
	l := Location{Host: kind.HostKey(textOf(fields["host"])), Index: index}
	if l.isStar = l.Host == "*"; l.isStar {
		l.Host = ""
	}
	l.Path, _ = NormalizeValue(fields["path"]).(string)
	l.isUnclear = !l.isClear()
	return l
}

// readLocation reads all of a location but what its upstream is.
func readLocation(v any, index int) Location {
	fields, isObject := v.(map[string]any)
	l := readPattern(fields, index)
	if !isObject {
		l.Behaviour[Other] = valueOf(v)
		return l
	}
	l.Upstream = textOf(fields["upstream"])
	l.Behaviour = Behaviour{
		Action: valueOf(fields["action"]), CORS: valueOf(reduceDisabled(fields["cors"])), Images: valueOf(reduceDisabled(fields["imgsvc"])),
		Rewrite: valueOf(fields["rewrite"]), Headers: valueOf(fields["headers"]),
	}
	known := []string{"path", "host", "action", "upstream", "cors", "imgsvc", "rewrite", "headers"}
	if cache, isObject := fields["cache"].(map[string]any); isObject {
		known = append(known, "cache")
		l.Behaviour[CacheLevel] = valueOf(cache["level"])
		l.setTTL(EdgeTTL, textOf(cache["edgeTTL"]), textOf(cache["ttlTimeUnit"]))
		l.setTTL(BrowserTTL, textOf(cache["browserTTL"]), textOf(cache["ttlTimeUnit"]))
		l.Behaviour[Cache] = remainderOf(cache, "level", "edgeTTL", "browserTTL", "ttlTimeUnit")
	}
	l.Behaviour[Other] = remainderOf(fields, known...)
	return l
}

func (l *Location) setTTL(f Facet, number, unit string) {
	if number == "" {
		return
	}
	text := strings.TrimSpace(number + " " + unit)
	if d, ok := kind.DurationOf(number, unit); ok {
		l.Behaviour[f] = ServedValue{Time: d, Known: true}
	} else {
		l.Behaviour[f] = ServedValue{Text: text}
	}
	if unit != "" && unit != "second" {
		l.times[f-EdgeTTL] = text
	}
}

// reduceDisabled returns the part of an object with enabled, or with rules, that a request can notice.
func reduceDisabled(v any) any {
	isOff := func(v any) bool { return textOf(canon.At(v, "enabled")) == "false" }
	if isOff(v) {
		return map[string]any{"enabled": "false"}
	}
	rules, _ := canon.At(v, "rules").([]any)
	if !slices.ContainsFunc(rules, isOff) {
		return v
	}
	m := maps.Clone(canon.Object(v))
	m["rules"] = slices.DeleteFunc(slices.Clone(rules), isOff)
	return m
}

// withoutNames returns a firewall without the names of its rules.
func withoutNames(firewall any) any {
	rules, isList := canon.At(firewall, "rules").([]any)
	if !isList {
		return firewall
	}
	m := maps.Clone(canon.Object(firewall))
	m["rules"] = diag.MapList(rules, func(v any) any {
		rule, isObject := v.(map[string]any)
		if rule = maps.Clone(rule); !isObject {
			return v
		}
		delete(rule, "name")
		return rule
	})
	return m
}

// readOrigin returns the Origin and the Connection of the upstreams of a name. One that the manifest does not list is its
// name.
func readOrigin(name string, listed []map[string]any) [2]ServedValue {
	if len(listed) == 0 || name == "" {
		return [2]ServedValue{{Text: name}}
	}
	var origins, connections []any
	for _, u := range listed {
		u = maps.Clone(u)
		list, isList := u["servers"].([]any)
		origins = append(origins, map[string]any{"scheme": u["scheme"], "servers": normalizeServers(list)})
		maps.DeleteFunc(u, func(field string, _ any) bool {
			return field == "name" || field == "scheme" || field == "servers" && isList
		})
		connections = append(connections, u)
	}
	if len(listed) == 1 {
		return [2]ServedValue{valueOf(origins[0]), valueOf(connections[0])}
	}
	return [2]ServedValue{valueOf(origins), valueOf(connections)}
}

// normalizeServers returns servers in an order of their own, with hosts in lower case and the smallest whole weights of the
// same shares. A single server has all requests, whatever its weight.
func normalizeServers(list []any) []any {
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
		n, err := strconv.Atoi(textOf(m["weight"]))
		if err != nil || n < 0 {
			n = 1
		}
		if len(list) == 1 && n > 0 {
			delete(m, "weight")
		}
		for n > 0 {
			divisor, n = n, divisor%n
		}
	}
	for _, v := range out {
		m := canon.Object(v)
		if n, err := strconv.Atoi(textOf(m["weight"])); err == nil && divisor > 1 {
			m["weight"] = strconv.Itoa(n / divisor)
		}
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(textOf(a), textOf(b)) })
	return out
}

func valueOf(v any) ServedValue { return ServedValue{Text: textOf(v)} }

// remainderOf is the Value of an object without some fields.
func remainderOf(m map[string]any, known ...string) ServedValue {
	rest := map[string]any{}
	for name, v := range m {
		if !slices.Contains(known, name) {
			rest[name] = v
		}
	}
	return valueOf(rest)
}

// textOf returns a value as text: as it is, or as canonical JSON in which numbers and booleans are text, and absent fields of
// objects are left out.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any, []any:
		return string(appendTidy(make([]byte, 0, 128), v))
	case nil:
		return ""
	}
	return string(canon.Encode(v))
}

// NormalizeValue returns a value in which numbers and booleans are text, and absent fields of objects are left out.
func NormalizeValue(v any) any {
	if _, isText := v.(string); isText {
		return v
	}
	return valueOf(v).Tree()
}

// appendTidy appends the JSON of textOf, or nothing for an absent value.
func appendTidy(b []byte, v any) []byte {
	begin := len(b)
	switch v := v.(type) {
	case nil:
		return b
	case map[string]any:
		b = append(b, '{')
		for _, name := range canon.SortedKeys(v) {
			field := len(b)
			b = append(canon.Append(b, name), ':')
			value := len(b)
			if b = append(appendTidy(b, v[name]), ','); len(b) == value+1 {
				b = b[:field]
			}
		}
		if len(b) == begin+1 {
			return b[:begin]
		}
		b[len(b)-1] = '}'
	case []any:
		b = append(b, '[')
		for _, element := range v {
			value := len(b)
			if b = appendTidy(b, element); len(b) == value {
				b = append(b, "null"...)
			}
			b = append(b, ',')
		}
		b = append(bytes.TrimSuffix(b, []byte{','}), ']')
	case string:
		return canon.Append(b, v)
	default:
		b = append(canon.Append(append(b, '"'), v), '"')
	}
	return b
}

// HiddenLocations are locations that answer no request if the first one in the list that matches does, because By takes all
// of theirs.
type HiddenLocations struct {
	By        *Location
	Locations []*Location
}

// FindHidden returns the locations of a decoded spec that hide others, in the order of the list. It ignores others with
// the same path and host. If the longest path or host wins, no location hides another.
func FindHidden(spec map[string]any) (all []HiddenLocations) {
	list, _ := spec["locations"].([]any)
	locations, first := make([]Location, len(list)), map[locationPattern]*Location{}
	for i, v := range list {
		locations[i] = readPattern(canon.Object(v), i)
		l := &locations[i]
		stem, isPrefix := strings.CutSuffix(l.Path, "*")
		if at := (locationPattern{l.Host, stem, isPrefix}); !l.isUnclear && first[at] == nil {
			first[at] = l
		}
	}
	hidden := make([][]*Location, len(locations))
	for i := range locations {
		l := &locations[i]
		if by := l.findHider(first); by.Path != l.Path || by.Host != l.Host {
			hidden[by.Index] = append(hidden[by.Index], l)
		}
	}
	for i, list := range hidden {
		if list != nil {
			all = append(all, HiddenLocations{&locations[i], list})
		}
	}
	return all
}

// locationPattern is what a location matches: a host, or all, and a path, or all that begin with it.
type locationPattern struct {
	host, path string
	isPrefix   bool
}

// findHider returns the first location that takes all requests of the location, of the first one of each pattern. A star in
// the middle of a path matches at most what begins like it.
func (l *Location) findHider(first map[locationPattern]*Location) *Location {
	by := l
	stem, _, isPrefix := strings.Cut(l.Path, "*")
	if isPrefix && stem == "" {
		stem = "/"
	}
	if NormalizePath(stem+"x") != stem+"x" {
		return by
	}
	try := func(wider locationPattern) {
		if other := first[wider]; other != nil && other.Index < by.Index {
			by = other
		}
	}
	for _, host := range append([]string{"", l.Host}, widerHosts(l.Host)...) {
		if !isPrefix {
			try(locationPattern{host, stem, false})
		}
		for end := range len(stem) + 1 {
			try(locationPattern{host, stem[:end], true})
		}
	}
	return by
}
