package served

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/route"
)

// CDN is an object that serves a hostname.
type CDN struct {
	kind.Key
	Hostname string
	// Manifest is nil for a live object.
	Manifest *manifest.Object
	// Note says what else is to know, or is empty.
	Note string
	// Site returns how the CDN serves requests.
	Site func() *route.Site
	// lines returns the line of each location in the manifest.
	lines func() []int
}

// Reads returns how the CDN serves requests. Without a CDN nothing does.
func (c *CDN) Reads() *route.Site {
	if c == nil {
		return &route.Site{}
	}
	return c.Site()
}

// FromManifest returns the CDN of a manifest, or nil if its kind serves no hostname.
func FromManifest(o *manifest.Object) *CDN {
	if o.Kind.SentOnce() || o.Host == "" {
		return nil
	}
	c := &CDN{Key: o.Key(), Hostname: o.Host, Manifest: o, Site: Reader(o.Spec)}
	c.lines = sync.OnceValue(func() []int { return linesOf(o, c.Site()) })
	return c
}

// FromLive returns the CDN of a live object, or nil if it serves nothing.
func FromLive(o kind.Object) *CDN {
	if o.Kind.SentOnce() || o.Host == "" || o.Terminating {
		return nil
	}
	return &CDN{Key: o.Key(), Hostname: o.Host, Site: Reader(o.Spec)}
}

// Line returns the line of a location in the manifest, or 0 without one.
func (c *CDN) Line(l *route.Location) int {
	if c.Manifest == nil {
		return 0
	}
	return c.lines()[l.Index]
}

// linesOf returns the line of each location of a site in a manifest whose list may differ from it: a line of the same
// path and host, or else of the list.
func linesOf(m *manifest.Object, site *route.Site) []int {
	written := Reader(m.Spec)().Locations
	fields := []string{"spec.locations"}
	for i := range written {
		fields = append(fields, fmt.Sprintf("spec.locations[%d]", i))
	}
	places := m.Places(fields)
	lines := make([]int, len(site.Locations))
	for i, l := range site.Locations {
		same := func(w route.Location) bool { return w.Path == l.Path && w.Host == l.Host }
		at := i
		if at >= len(written) || !same(written[at]) {
			at = slices.IndexFunc(written, same)
		}
		lines[i] = places[at+1][0]
	}
	return lines
}

// Reader returns a function that reads a spec, which is canonical JSON, once.
func Reader(spec []byte) func() *route.Site {
	return sync.OnceValue(func() *route.Site {
		tree, _ := canon.MustDecode(spec).(map[string]any)
		return route.Read(tree)
	})
}

// Catalog has the CDNs of git, of live or of a base by hostname.
type Catalog struct {
	cdns  []*CDN
	keys  map[kind.Key]*CDN
	hosts *route.Hosts
}

// NewCatalog returns the catalog of CDNs. It skips nil.
func NewCatalog(cdns ...*CDN) *Catalog {
	c := &Catalog{keys: map[kind.Key]*CDN{}}
	for _, cdn := range cdns {
		if cdn != nil {
			c.cdns, c.keys[cdn.Key] = append(c.cdns, cdn), cdn
		}
	}
	c.hosts = route.NewHosts(c.Hostnames(), func(i int) *route.Site { return c.cdns[i].Site() })
	return c
}

// SetNote says of each CDN what else is to know.
func (c *Catalog) SetNote(text string) {
	for _, cdn := range c.cdns {
		cdn.Note = text
	}
}

// Hostnames returns the hostnames of all CDNs.
func (c *Catalog) Hostnames() []string {
	names := make([]string, len(c.cdns))
	for i, cdn := range c.cdns {
		names[i] = cdn.Hostname
	}
	return names
}

// CDNs returns all CDNs.
func (c *Catalog) CDNs() []*CDN { return c.cdns }

// CDN returns the CDN of a key, or nil.
func (c *Catalog) CDN(key kind.Key) *CDN { return c.keys[key] }

// Serving returns a CDN that serves a host, or nil, and how many do. More than one is a mistake.
func (c *Catalog) Serving(host string) (cdn *CDN, count int) {
	found := c.hosts.Find(host)
	if len(found) > 0 {
		cdn = c.cdns[found[0]]
	}
	return cdn, len(found)
}

// Find returns the CDN that serves a host, or nil. Several are an error.
func (c *Catalog) Find(host string) (*CDN, error) {
	cdn, count := c.Serving(host)
	if count <= 1 {
		return cdn, nil
	}
	var names []string
	for _, i := range c.hosts.Find(host) {
		name := c.cdns[i].String()
		if m := c.cdns[i].Manifest; m != nil {
			name += fmt.Sprintf(" (%s:%d)", m.Path, m.Line)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("%d CDNs have the host %s: %s", count, host, strings.Join(names, ", "))
}
