// Package graph draws which hostname serves which path from which servers, and
// marks what a plan changes there. It reads and writes no files.
package graph

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// Graph is what manifests say about hosts, paths, upstreams and servers.
type Graph struct {
	// Hosts are sorted by hostname.
	Hosts []Host
	// Sandbox and Offline are those of the plan. Partial says that the plan left
	// out some of the hosts (--target).
	Sandbox, Offline, Partial bool
	// Undrawn counts the manifests that serve nothing, by kind.
	Undrawn map[string]int
	// Unmanaged are live objects that are not in git and would be drawn.
	Unmanaged []kind.Key
}

// Host is an object that serves a hostname.
type Host struct {
	kind.Key
	// Hostname is empty where the object was removed from git.
	Hostname string
	Mark     Mark
	// Blocked says that apply sends nothing for it.
	Blocked   bool
	Paths     []Path
	Upstreams []Upstream
}

// Path is one location.
type Path struct {
	// Host is empty where it is the hostname or any.
	Host, Path, Action string
	// EdgeTTL is how long the edges keep an answer, in TTLUnit, as the manifest has it.
	EdgeTTL, TTLUnit string
	// Upstream is an index, -1 for none.
	Upstream int
	Mark     Mark
	upstream string
}

// Upstream is a group of servers.
type Upstream struct {
	Name, Scheme string
	State        State
	Servers      []Server
	Mark         Mark
}

// Server is host:port in an upstream.
type Server struct {
	Address string
	Mark    Mark
}

// State is how an upstream is used and defined.
type State uint8

// The states. A location names a Missing upstream that the manifest's list lacks,
// or an Unlisted one where the manifest leaves that list to the platform.
const (
	Used State = iota
	Unused
	Missing
	Unlisted
)

// Make draws the manifests of the filter's objects; a nil filter takes all. A nil
// plan marks nothing. Rules come from the kinds and the project's overrides, as in
// the plan.
func Make(set *manifest.Set, p *plan.Plan, overrides []plan.Override, filter func(kind.Key) bool) Graph {
	if filter == nil {
		filter = func(kind.Key) bool { return true }
	}
	drawn := func(key kind.Key) bool { return filter(key) && serves(key) }
	g := Graph{Undrawn: map[string]int{}}
	items := map[kind.Key]*plan.Item{}
	if p != nil {
		g.Sandbox, g.Offline = p.Sandbox, p.Offline
		g.Unmanaged = slices.DeleteFunc(slices.Clone(p.Unmanaged), func(key kind.Key) bool { return !drawn(key) })
		items = itemsByKey(p)
	}
	for key, it := range items {
		if set.Find(key) == nil && drawn(key) {
			g.Hosts = append(g.Hosts, Host{Key: key, Mark: Removed, Blocked: it.Op != plan.Delete})
		}
	}
	rules := map[*kind.Kind]*merge.Rules{}
	for _, o := range set.Objects {
		key := o.Key()
		if !drawn(key) {
			g.countUndrawn(key, filter)
			continue
		}
		if rules[o.Kind] == nil {
			rules[o.Kind] = plan.Rules(o.Kind, overrides)
		}
		g.Hosts = append(g.Hosts, hostOf(o, items[key], rules[o.Kind]))
		g.Partial = g.Partial || p != nil && items[key] == nil
	}
	slices.SortFunc(g.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(kind.HostKey(a.Hostname), kind.HostKey(b.Hostname)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return g
}

func (g *Graph) countUndrawn(key kind.Key, filter func(kind.Key) bool) {
	if filter(key) {
		g.Undrawn[key.Kind]++
	}
}

func itemsByKey(p *plan.Plan) map[kind.Key]*plan.Item {
	items := make(map[kind.Key]*plan.Item, len(p.Items))
	for i := range p.Items {
		items[p.Items[i].Key] = &p.Items[i]
	}
	return items
}

// serves reports whether the object answers for a hostname, all the time.
func serves(key kind.Key) bool {
	k, known := kind.Named(key.Kind)
	return known && k.CanPatch() && k.HostField != ""
}

func hostOf(o *manifest.Object, item *plan.Item, rules *merge.Rules) Host {
	h := Host{Key: o.Key(), Hostname: o.Host}
	spec := o.Tree()
	h.add(manifest.RoutesOf(spec), Unmarked)
	if item != nil {
		h.mark(item, spec, rules)
	}
	h.link(spec)
	return h
}

// add adds paths and upstreams, all with one mark.
func (h *Host) add(routes manifest.Routes, mark Mark) {
	for _, l := range routes.Locations {
		handling := l.Handling()
		p := Path{
			Path: l.Path, Action: l.Action, Upstream: -1, upstream: l.Upstream, Mark: mark,
			EdgeTTL: handling["cache.edgeTTL"], TTLUnit: handling["cache.ttlTimeUnit"],
		}
		if l.Host != "*" && kind.HostKey(l.Host) != kind.HostKey(h.Hostname) {
			p.Host = l.Host
		}
		h.Paths = append(h.Paths, p)
	}
	for _, u := range routes.Upstreams {
		h.Upstreams = append(h.Upstreams, Upstream{Name: u.Name, Scheme: u.Scheme, Mark: mark, Servers: serversOf(u, Unmarked)})
	}
}

func serversOf(u manifest.Upstream, mark Mark) []Server {
	servers := make([]Server, len(u.Servers))
	for i, address := range u.Servers {
		servers[i] = Server{strings.TrimSuffix(address, ":"), mark}
	}
	return servers
}

// link finds the upstream of each path, adds those that are missing, and says
// which no path uses, as far as the manifest has both lists.
func (h *Host) link(spec map[string]any) {
	index := map[string]int{}
	for i, u := range slices.Backward(h.Upstreams) { // of two with one name, the first
		index[u.Name] = i
	}
	missing := Unlisted
	if _, listed := spec[upstreamsPath].([]any); listed {
		missing = Missing
	}
	used := map[int]bool{}
	for i := range h.Paths {
		p := &h.Paths[i]
		at, known := index[p.upstream]
		if !known && p.upstream != "" && !p.Mark.leaves() {
			at, known = len(h.Upstreams), true
			index[p.upstream] = at
			h.Upstreams = append(h.Upstreams, Upstream{Name: p.upstream, State: missing})
		}
		if known {
			p.Upstream, used[at] = at, true
		}
	}
	_, listed := spec[locationsPath].([]any)
	for i := range h.Upstreams {
		if u := &h.Upstreams[i]; listed && !used[i] && !u.Mark.leaves() {
			u.State = Unused
		}
	}
}
