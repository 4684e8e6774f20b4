package manifest

import (
	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Location is a location of a CDN, with the fields that advice needs.
type Location struct {
	// Field is the place in the manifest: spec.locations[2].
	Field, Path, Host, Action, Upstream string
	// EdgeTTL and TTLUnit are as in the manifest.
	EdgeTTL, TTLUnit string
}

// Upstream is a group of servers.
type Upstream struct {
	Field, Name, Scheme string
	// Servers are host:port. Used counts those whose weight is not 0.
	Servers []string
	Used    int
}

// Routes are the locations and upstreams of a spec, in its order.
type Routes struct {
	Locations []Location
	Upstreams []Upstream
}

// RoutesOf reads a decoded spec, and skips values of unexpected types.
func RoutesOf(spec any) Routes {
	var r Routes
	for at, m := range mappings("spec", spec, "locations[]") {
		cache := mapping(m, "cache")
		r.Locations = append(r.Locations, Location{
			Field: at, Path: text(m, "path"), Host: text(m, "host"), Action: text(m, "action"), Upstream: text(m, "upstream"),
			EdgeTTL: asText(cache["edgeTTL"]), TTLUnit: asText(cache["ttlTimeUnit"]),
		})
	}
	for at, m := range mappings("spec", spec, "upstreams[]") {
		u := Upstream{Field: at, Name: text(m, "name"), Scheme: text(m, "scheme")}
		for _, server := range mappings(at, m, "servers[]") {
			u.Servers = append(u.Servers, kind.HostKey(text(server, "host"))+":"+asText(server["port"]))
			if asText(server["weight"]) != "0" {
				u.Used++
			}
		}
		r.Upstreams = append(r.Upstreams, u)
	}
	return r
}

// asText returns a text, or the canonical JSON of another value, because the platform may return 443
// for "443"; "" for nothing.
func asText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(canon.Bytes(v))
}

// HostKey returns the host of a location in the form of kind.HostKey, or "" for any host.
func (l Location) HostKey() string {
	if l.Host == "" || l.Host == "*" {
		return ""
	}
	return kind.HostKey(l.Host)
}
