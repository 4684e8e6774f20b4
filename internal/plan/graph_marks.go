package plan

import (
	"strings"

	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// mark marks what the plan changes of the host and its parts.
func (h *GraphHost) mark(it *Item, spec map[string]any, rules *merge.Rules) {
	h.Blocked = it.Op == Blocked
	switch {
	case it.Deleted:
		h.Mark = MarkDrifted
		return
	case it.Op == Create || it.Op == Blocked && !it.Live.Exists:
		h.Mark = MarkNew
		return
	case len(it.Changes) == 0:
		return
	}
	m := marker{host: h, places: map[string]*Mark{}, upstreams: map[string]int{}, lost: map[string]bool{}}
	for _, v := range it.FirstContact {
		m.lost[v.Path] = true
	}
	m.find(spec, rules)
	var rest []Change
	for _, c := range it.Changes {
		if !m.place(c) {
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		m.gone(c)
	}
}

// marker finds the parts of a host that changes speak of.
type marker struct {
	host *GraphHost
	// places are the marks of the parts of git by the paths that they have in
	// changes, upstreams the indices of those.
	places    map[string]*Mark
	upstreams map[string]int
	// lost are the paths of what only live has and a take-over would drop.
	lost map[string]bool
}

// The lists of a spec that are drawn.
const (
	locationsPath = "locations"
	upstreamsPath = "upstreams"
	serversBelow  = ".servers"
)

// find fills in where the parts are: by their names first, because one may look
// like a place in a list.
func (m *marker) find(spec map[string]any, rules *merge.Rules) {
	upstreamRules := field(rules, upstreamsPath)
	paths := merge.Names(field(rules, locationsPath), objects(spec[locationsPath]))
	upstreams := objects(spec[upstreamsPath])
	names := merge.Names(upstreamRules, upstreams)
	for way := range 3 {
		for i, name := range paths {
			m.put(element(locationsPath, name[way]), &m.host.Paths[i].Mark)
		}
		for i, name := range names {
			u, at := &m.host.Upstreams[i], element(upstreamsPath, name[way])
			if !m.put(at, &u.Mark) {
				continue
			}
			m.upstreams[at] = i
			servers := objects(upstreams[i].(map[string]any)["servers"])
			for j, server := range merge.Names(field(item(upstreamRules), "servers"), servers) {
				for _, name := range server {
					m.put(element(at+serversBelow, name), &u.Servers[j].Mark)
				}
			}
		}
	}
}

// put keeps the mark of a path unless there is one, and reports whether it did.
func (m *marker) put(path string, mark *Mark) bool {
	if _, there := m.places[path]; there {
		return false
	}
	m.places[path] = mark
	return true
}

func field(r *merge.Rules, name string) *merge.Rules {
	if r == nil {
		return nil
	}
	return r.Fields[name]
}

func item(r *merge.Rules) *merge.Rules {
	if r == nil {
		return nil
	}
	return r.Item
}

func element(list, name string) string { return list + "[" + name + "]" }

// objects are the elements of a list that are drawn.
func objects(v any) []any {
	list, _ := v.([]any)
	var out []any
	for _, e := range list {
		if _, ok := e.(map[string]any); ok {
			out = append(out, e)
		}
	}
	return out
}

// place marks the part that a change speaks of; false means that the part is not
// in git.
func (m *marker) place(c Change) bool {
	at := c.Path
	for m.places[at] == nil && at != "" {
		at = at[:strings.LastIndexByte(at[:len(at)-1], ']')+1]
	}
	below := c.Path[len(at):]
	goes := c.Desired == nil && !c.Moved
	switch {
	case at == "":
		return m.outside(c, goes)
	case below == "":
		m.places[at].add(whole(c))
	case goes && isList(below, serversBelow):
		return false
	default:
		m.places[at].add(within(c))
	}
	return true
}

// outside marks what a change that speaks of no part of git is about: all of a
// list, or something that the host has besides.
func (m *marker) outside(c Change, goes bool) bool {
	inPaths, inUpstreams := isList(c.Path, locationsPath), isList(c.Path, upstreamsPath)
	switch {
	case goes && (inPaths || inUpstreams):
		return false
	case c.Live == nil && inPaths:
		for i := range m.host.Paths {
			m.host.Paths[i].Mark.add(whole(c))
		}
	case c.Live == nil && inUpstreams:
		for i := range m.host.Upstreams {
			m.host.Upstreams[i].Mark.add(whole(c))
		}
	default:
		m.host.Mark.add(within(c))
	}
	return true
}

// isList reports whether the path is of the list or of one of its elements.
func isList(path, list string) bool {
	return path == list || strings.HasPrefix(path, list+"[") && strings.HasSuffix(path, "]")
}

// gone adds what live has and git has not: it is drawn as what goes.
func (m *marker) gone(c Change) {
	h, mark := m.host, whole(c)
	if m.lost[c.Path] {
		mark = MarkLost // nobody took it out of git, which never had it
	}
	list, isList := c.Live.([]any)
	if !isList {
		list = []any{c.Live}
	}
	if i := strings.LastIndex(c.Path, serversBelow); i >= 0 && strings.HasPrefix(c.Path, upstreamsPath) {
		m.goneServers(c.Path[:i], list, mark)
		return
	}
	name, _, _ := strings.Cut(c.Path, "[")
	routes := manifest.RoutesOf(map[string]any{name: list})
	for _, l := range routes.Locations {
		p := pathOf(l, h.Hostname)
		p.Mark = mark
		h.Paths = append(h.Paths, p)
	}
	for _, u := range routes.Upstreams {
		up := upstreamOf(u)
		up.Mark = mark
		h.Upstreams = append(h.Upstreams, up)
	}
}

// goneServers adds servers to the upstream at the path.
func (m *marker) goneServers(at string, servers []any, mark Mark) {
	i, known := m.upstreams[at]
	if !known {
		return
	}
	u := &m.host.Upstreams[i]
	routes := manifest.RoutesOf(map[string]any{upstreamsPath: []any{map[string]any{"servers": servers}}})
	for _, s := range upstreamOf(routes.Upstreams[0]).Servers {
		u.Servers = append(u.Servers, GraphServer{Address: s.Address, Mark: mark})
	}
}

// whole is what a change does to a part that it is of.
func whole(c Change) Mark {
	switch {
	case c.Moved || c.Live != nil && c.Desired != nil:
		return within(c)
	case c.Class == DriftOverwrite && c.Desired == nil, c.Class == RemovedConflict:
		return MarkLost
	case c.Class == DriftOverwrite || c.Class == Conflict:
		return within(c)
	case c.Desired == nil:
		return MarkRemoved
	}
	return MarkNew
}

// within is what a change does to a part that it is in.
func within(c Change) Mark {
	switch c.Class {
	case DriftOverwrite, ServerNormalised:
		return MarkDrifted
	case Conflict, RemovedConflict:
		return MarkConflict
	case InSync, Converged, Changed, TakeOver, Removed, AlreadyRemoved, Unmanaged, UnknownBase:
	}
	return MarkChanged
}
