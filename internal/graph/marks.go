package graph

import (
	"strings"

	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/routing"
)

// Mark is what a plan changes in a part of a graph.
type Mark uint8

// Conflict means that git and another client changed it, and Lost that it is live and was
// never in git. Of two marks for one part, the higher one is shown.
const (
	Unmarked Mark = iota
	Changed
	Drifted
	Conflict
	New
	Removed
	Lost
)

// add combines the mark of a part with another mark in it.
func (m *Mark) add(more Mark) {
	if *m == Changed && more == Drifted || *m == Drifted && more == Changed {
		more = Conflict
	}
	*m = max(*m, more)
}

// leaves reports whether the part is live and not in git.
func (m Mark) leaves() bool { return m == Removed || m == Lost }

// mark marks what the plan changes in the host and its parts.
func (h *Host) mark(it *plan.Item, spec map[string]any, rules *merge.Rules) {
	h.Blocked = it.Op == plan.Blocked
	switch {
	case it.Deleted:
		h.Mark = Drifted
		return
	case it.Op == plan.Create || it.Op == plan.Blocked && !it.Live.Exists:
		h.Mark = New
		return
	case len(it.Changes) == 0:
		return
	}
	lost := map[string]bool{}
	for _, v := range it.FirstContact {
		lost[v.Path] = true
	}
	m := marker{host: h, places: map[string]*Mark{}, upstreams: map[string]int{}}
	m.find(spec, rules)
	var leaving []plan.Change // they are added last: that moves the other parts
	for _, c := range it.Changes {
		if !m.place(c) {
			leaving = append(leaving, c)
		}
	}
	for _, c := range leaving {
		mark := whole(c)
		if lost[c.Path] {
			mark = Lost
		}
		m.addLeaving(c, mark)
	}
}

// marker finds the parts of a host by the paths of changes: the marks of the parts in git,
// and the indices of upstreams.
type marker struct {
	host      *Host
	places    map[string]*Mark
	upstreams map[string]int
}

// The lists in a spec that a graph draws.
const (
	locationsPath = "locations"
	upstreamsPath = "upstreams"
	serversBelow  = ".servers"
)

// find fills the maps. A part has three names, and the first takes precedence, because a
// name may look like an index.
func (m *marker) find(spec map[string]any, rules *merge.Rules) {
	var locationRules, upstreamRules, serverRules *merge.Rules
	if rules != nil {
		locationRules, upstreamRules = rules.Fields[locationsPath], rules.Fields[upstreamsPath]
	}
	if upstreamRules != nil && upstreamRules.Item != nil {
		serverRules = upstreamRules.Item.Fields["servers"]
	}
	upstreams := objects(spec[upstreamsPath])
	paths, names := merge.Names(locationRules, objects(spec[locationsPath])), merge.Names(upstreamRules, upstreams)
	for way := range 3 {
		for i, name := range paths {
			m.put(locationsPath, name[way], &m.host.Paths[i].Mark)
		}
		for i, name := range names {
			u := &m.host.Upstreams[i]
			if !m.put(upstreamsPath, name[way], &u.Mark) {
				continue
			}
			at := upstreamsPath + "[" + name[way] + "]"
			m.upstreams[at] = i
			for j, server := range merge.Names(serverRules, objects(upstreams[i].(map[string]any)["servers"])) {
				for _, name := range server {
					m.put(at+serversBelow, name, &u.Servers[j].Mark)
				}
			}
		}
	}
}

// put stores the mark of an element unless its path has one, and reports whether it did.
func (m *marker) put(list, name string, mark *Mark) bool {
	path := list + "[" + name + "]"
	if _, there := m.places[path]; there {
		return false
	}
	m.places[path] = mark
	return true
}

// objects returns the elements of a list that are objects.
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

// place marks the part with the change, and reports false if git has no such part.
func (m *marker) place(c plan.Change) bool {
	at := c.Path
	for m.places[at] == nil && at != "" {
		at = at[:strings.LastIndexByte(at[:len(at)-1], ']')+1]
	}
	below := c.Path[len(at):]
	switch leaves := c.Desired == nil && !c.Moved; {
	case at == "":
		return m.placeOutside(c, leaves)
	case below == "":
		m.places[at].add(whole(c))
	case leaves && isList(below, serversBelow):
		return false
	default:
		m.places[at].add(within(c))
	}
	return true
}

// placeOutside marks the whole list with the change, or the host.
func (m *marker) placeOutside(c plan.Change, leaves bool) bool {
	inPaths, inUpstreams := isList(c.Path, locationsPath), isList(c.Path, upstreamsPath)
	switch {
	case leaves && (inPaths || inUpstreams):
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

// isList reports whether the path is that of the list or of one of its elements.
func isList(path, list string) bool {
	return path == list || strings.HasPrefix(path, list+"[") && strings.HasSuffix(path, "]")
}

// addLeaving adds parts that are live and not in git.
func (m *marker) addLeaving(c plan.Change, mark Mark) {
	list, isList := c.Live.([]any)
	if !isList {
		list = []any{c.Live}
	}
	if i := strings.LastIndex(c.Path, serversBelow); i >= 0 && strings.HasPrefix(c.Path, upstreamsPath) {
		if at, known := m.upstreams[c.Path[:i]]; known {
			routes := routing.Read(map[string]any{upstreamsPath: []any{map[string]any{"servers": list}}})
			u := &m.host.Upstreams[at]
			u.Servers = append(u.Servers, serversOf(routes.Upstreams[0], mark)...)
		}
		return
	}
	name, _, _ := strings.Cut(c.Path, "[")
	m.host.add(routing.Read(map[string]any{name: list}), mark)
}

// whole returns the mark of a part that a change adds, replaces or removes.
func whole(c plan.Change) Mark {
	switch {
	case c.Moved || c.Live != nil && c.Desired != nil:
		return within(c)
	case c.Class == merge.DriftOverwrite && c.Desired == nil, c.Class == merge.RemovedConflict:
		return Lost
	case c.Class == merge.DriftOverwrite || c.Class == merge.Conflict:
		return within(c)
	case c.Desired == nil:
		return Removed
	}
	return New
}

// within returns the mark of a part that contains a change.
func within(c plan.Change) Mark {
	switch c.Class {
	case merge.DriftOverwrite, plan.ServerNormalised:
		return Drifted
	case merge.Conflict, merge.RemovedConflict:
		return Conflict
	case merge.Converged, merge.Changed, merge.TakeOver, merge.Removed, merge.Unmanaged, merge.UnknownBase:
	}
	return Changed
}
