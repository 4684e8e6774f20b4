// Package graph draws which servers answer which paths of which hostnames, and marks
// what a plan changes. It reads and writes no files.
package graph

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/routing"
)

// Graph has the hosts, paths, upstreams and servers of the manifests.
type Graph struct {
	// Hosts are sorted by hostname.
	Hosts []Host
	// Sandbox and Offline are copied from the plan. Partial means that the plan does not
	// cover all hosts (--target).
	Sandbox, Offline, Partial bool
	// Undrawn counts the manifests that serve nothing by kind.
	Undrawn map[string]int
	// Unmanaged are live objects that are not in git and would be drawn.
	Unmanaged []kind.Key
}

// Host is an object that serves a hostname.
type Host struct {
	kind.Key
	// Hostname is empty if trueup applied the object and git does not have it now. Then By and Commit say
	// what removed it, if that is known.
	Hostname string
	Mark     Mark
	By       plan.By
	Commit   *plan.Commit
	// Blocked means that apply sends nothing for it.
	Blocked   bool
	Paths     []Path
	Upstreams []Upstream
}

// Path is one location.
type Path struct {
	// Host is empty if it is the hostname or *.
	Host, Path, Action string
	// EdgeTTL is how long the CDN caches an answer, in TTLUnit, as in the manifest.
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

// A path names a Missing upstream if the manifest has a list of upstreams without it, and
// an Unlisted one if the manifest has no list.
const (
	Used State = iota
	Unused
	Missing
	Unlisted
)

// Make returns the graph of the objects that filter accepts; a nil filter accepts all. A nil
// plan marks nothing. The overrides must be those of the plan.
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
		g.Hosts = departures(p.Items, func(key kind.Key) bool { return set.Find(key) == nil && drawn(key) })
	}
	rules := map[*kind.Kind]*merge.Rules{}
	filtered := slices.DeleteFunc(slices.Clone(set.Objects), func(o *manifest.Object) bool { return !filter(o.Key()) })
	for _, o := range filtered {
		key := o.Key()
		if !serves(key) {
			g.Undrawn[key.Kind]++
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

// departures returns the live objects that trueup applied and that have left git.
func departures(items []plan.Item, left func(kind.Key) bool) []Host {
	var hosts []Host
	for _, it := range items {
		if it.Live.Exists && left(it.Key) {
			hosts = append(hosts, Host{Key: it.Key, Mark: Removed, By: it.By, Commit: it.Commit, Blocked: it.Op != plan.Delete})
		}
	}
	return hosts
}

func itemsByKey(p *plan.Plan) map[kind.Key]*plan.Item {
	items := make(map[kind.Key]*plan.Item, len(p.Items))
	for i := range p.Items {
		items[p.Items[i].Key] = &p.Items[i]
	}
	return items
}

// serves reports whether objects of the kind permanently serve a hostname.
func serves(key kind.Key) bool {
	k, known := kind.Named(key.Kind)
	return known && k.CanPatch() && k.HostField != ""
}

func hostOf(o *manifest.Object, item *plan.Item, rules *merge.Rules) Host {
	h := Host{Key: o.Key(), Hostname: o.Host}
	spec := o.Tree()
	h.add(routing.Read(spec), Unmarked)
	if item != nil {
		h.mark(item, spec, rules)
	}
	h.link(spec)
	return h
}

// add adds paths and upstreams with the same mark.
func (h *Host) add(config *routing.Config, mark Mark) {
	for _, l := range config.Locations {
		p := Path{
			Path: l.Path, Action: l.Action, Upstream: -1, upstream: l.Upstream, Mark: mark,
			EdgeTTL: l.EdgeTTL, TTLUnit: l.TTLUnit,
		}
		if l.Host != kind.HostKey(h.Hostname) {
			p.Host = l.Host
		}
		h.Paths = append(h.Paths, p)
	}
	for _, u := range config.Upstreams {
		h.Upstreams = append(h.Upstreams, Upstream{Name: u.Name, Scheme: u.Scheme, Mark: mark, Servers: serversOf(u, Unmarked)})
	}
}

func serversOf(u routing.Upstream, mark Mark) []Server {
	servers := make([]Server, len(u.Servers))
	for i, address := range u.Servers {
		servers[i] = Server{strings.TrimSuffix(address, ":"), mark}
	}
	return servers
}

// link sets the upstream of each path, adds missing upstreams, and marks unused ones if the
// manifest has both lists.
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
