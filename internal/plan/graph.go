package plan

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// Graph is which hostname serves which path from which servers.
type Graph struct {
	// Hosts are in the order of their hostnames.
	Hosts []GraphHost
	// Marked says that a plan said what differs, Sandbox that it is of the embedded
	// platform, Offline that it compared git with git, and Partial that it did not
	// look at some of the hosts (--target).
	Marked, Sandbox, Offline, Partial bool
	// Undrawn counts the manifests that serve nothing, by the names of their kinds.
	Undrawn map[string]int
	// Unmanaged are live objects that are not in git and would be drawn.
	Unmanaged []kind.Key
}

// GraphHost is an object that serves a hostname.
type GraphHost struct {
	kind.Key
	// Hostname is empty where no manifest says it: the object left git.
	Hostname string
	Mark     Mark
	// Blocked says that nothing is sent for it.
	Blocked   bool
	Paths     []GraphPath
	Upstreams []GraphUpstream
}

// GraphPath is one location.
type GraphPath struct {
	// Host is empty where it is the hostname or any.
	Host, Path, Action string
	// EdgeTTL is how long the edges keep an answer, in TTLUnit; both are the texts
	// of the manifest, or empty.
	EdgeTTL, TTLUnit string
	// Upstream is an index, -1 for none.
	Upstream int
	Mark     Mark
	upstream string
}

// GraphUpstream is a group of servers.
type GraphUpstream struct {
	Name, Scheme string
	State        UpstreamState
	Servers      []GraphServer
	Mark         Mark
}

// GraphServer is host:port in an upstream.
type GraphServer struct {
	Address string
	Mark    Mark
}

// UpstreamState is how an upstream is used and defined.
type UpstreamState uint8

// The states. Missing is one that a location names and the manifest's list lacks,
// and Unlisted one where the manifest leaves that list to the platform.
const (
	Used UpstreamState = iota
	Unused
	Missing
	Unlisted
)

// Mark is what a plan changes in a part of a graph.
type Mark uint8

// The marks. Conflict is what git and somebody outside it changed, Lost what is
// live and not in git, though nobody removed it there.
const (
	Unmarked Mark = iota
	MarkChanged
	MarkDrifted
	MarkConflict
	MarkNew
	MarkRemoved
	MarkLost
)

// add is the mark of a part with another that is found in it.
func (m *Mark) add(more Mark) {
	if *m == MarkChanged && more == MarkDrifted || *m == MarkDrifted && more == MarkChanged {
		more = MarkConflict
	}
	*m = max(*m, more)
}

// MakeGraph draws what the manifests of the filter's objects say; nil is all of
// them. A nil plan marks nothing. Rules come from the kinds and the project's
// overrides, as in the plan.
func MakeGraph(set *manifest.Set, p *Plan, overrides []Override, filter func(kind.Key) bool) Graph {
	wanted := func(key kind.Key) bool { return filter == nil || filter(key) }
	g := Graph{Undrawn: map[string]int{}, Marked: p != nil}
	items := map[kind.Key]*Item{}
	if p != nil {
		g.Sandbox, g.Offline = p.Sandbox, p.Offline
		items = p.hosts(set, wanted)
		g.Unmanaged = slices.DeleteFunc(slices.Clone(p.Unmanaged), func(key kind.Key) bool { return !servesNamed(key) || !wanted(key) })
	}
	rules := map[*kind.Kind]*merge.Rules{}
	for _, k := range kind.All() {
		rules[k] = Rules(k, overrides)
	}
	for _, o := range set.Objects {
		if !wanted(o.Key()) {
			continue
		}
		if !serves(o.Kind) {
			g.Undrawn[o.Kind.Name]++
			continue
		}
		g.Hosts = append(g.Hosts, hostOf(o, items[o.Key()], rules[o.Kind]))
		g.Partial = g.Partial || p != nil && items[o.Key()] == nil
	}
	for key, it := range items {
		if set.Find(key) == nil {
			g.Hosts = append(g.Hosts, GraphHost{Key: key, Mark: MarkRemoved, Blocked: it.Op != Delete})
		}
	}
	slices.SortFunc(g.Hosts, func(a, b GraphHost) int {
		return cmp.Or(cmp.Compare(kind.HostKey(a.Hostname), kind.HostKey(b.Hostname)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return g
}

// hosts returns the items of what is drawn, also of objects that left git.
func (p *Plan) hosts(set *manifest.Set, wanted func(kind.Key) bool) map[kind.Key]*Item {
	items := map[kind.Key]*Item{}
	for i := range p.Items {
		if it := &p.Items[i]; wanted(it.Key) && (set.Find(it.Key) != nil || servesNamed(it.Key)) {
			items[it.Key] = it
		}
	}
	return items
}

func servesNamed(key kind.Key) bool {
	k, known := kind.Named(key.Kind)
	return known && serves(k)
}

// serves reports whether objects of the kind answer for a hostname, all the time.
func serves(k *kind.Kind) bool { return k.CanPatch() && k.HostField != "" }

func hostOf(o *manifest.Object, item *Item, rules *merge.Rules) GraphHost {
	h := GraphHost{Key: o.Key(), Hostname: o.Host}
	spec := o.Tree()
	routes := manifest.RoutesOf(spec)
	for _, l := range routes.Locations {
		h.Paths = append(h.Paths, pathOf(l, o.Host))
	}
	for _, u := range routes.Upstreams {
		h.Upstreams = append(h.Upstreams, upstreamOf(u))
	}
	_, locations := spec["locations"].([]any)
	_, upstreams := spec["upstreams"].([]any)
	if item != nil {
		h.mark(item, spec, rules)
	}
	h.link(locations, upstreams)
	return h
}

func pathOf(l manifest.Location, hostname string) GraphPath {
	handling := l.Handling()
	p := GraphPath{
		Path: l.Path, Action: l.Action, Upstream: -1, upstream: l.Upstream,
		EdgeTTL: handling["cache.edgeTTL"], TTLUnit: handling["cache.ttlTimeUnit"],
	}
	if l.Host != "*" && kind.HostKey(l.Host) != kind.HostKey(hostname) {
		p.Host = l.Host
	}
	return p
}

func upstreamOf(u manifest.Upstream) GraphUpstream {
	out := GraphUpstream{Name: u.Name, Scheme: u.Scheme}
	for _, address := range u.Servers {
		out.Servers = append(out.Servers, GraphServer{Address: strings.TrimSuffix(address, ":")})
	}
	return out
}

// link finds the upstream of each path, and says which are missing or unused,
// as far as the manifest has both lists.
func (h *GraphHost) link(locations, upstreams bool) {
	index := map[string]int{}
	for i, u := range h.Upstreams {
		if _, twice := index[u.Name]; !twice {
			index[u.Name] = i
		}
	}
	used := map[int]bool{}
	for i := range h.Paths {
		p := &h.Paths[i]
		if at, known := index[p.upstream]; known {
			p.Upstream = at
		} else if p.upstream != "" && !p.Mark.goes() {
			p.Upstream = h.lacks(p.upstream, upstreams)
			index[p.upstream] = p.Upstream
		}
		used[p.Upstream] = true
	}
	for i := range h.Upstreams {
		if u := &h.Upstreams[i]; locations && !used[i] && !u.Mark.goes() {
			u.State = Unused
		}
	}
}

// lacks adds an upstream that a path names and the manifest has not; listed says
// that the manifest has others. What goes needs none.
func (h *GraphHost) lacks(name string, listed bool) int {
	u := GraphUpstream{Name: name, State: Unlisted}
	if listed {
		u.State = Missing
	}
	h.Upstreams = append(h.Upstreams, u)
	return len(h.Upstreams) - 1
}

// goes reports whether the part is live and not in git.
func (m Mark) goes() bool { return m == MarkRemoved || m == MarkLost }
