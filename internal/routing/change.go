package routing

import (
	"fmt"
	"slices"
)

// group has nodes of a host with the same change.
type group struct {
	nodes   []int
	paths   []Paths
	answers []Alternative
	unless  []string
	// parts has, for each node, the element of paths that it is in.
	parts []int
	// whole is the CDN that answered, or answers, if no CDN answers the host on the other side.
	whole *CDN
}

func (g *group) effect() Effect {
	worst := Unclear
	for _, a := range g.answers {
		worst = min(worst, a.effect)
	}
	return worst
}

// outcome is what happens to an answer under a reading.
type outcome struct {
	Alternative
	// parts are the differences, each of which may be a line with other paths.
	parts []Difference
}

// outcomeID is what an outcome depends on.
type outcomeID struct {
	before, after Answer
	units         bool
}

// grouping collects the groups of a host.
type grouping struct {
	*hostTable
	groups []*group
	index  map[string]*group
}

// changes returns the groups of nodes whose requests are answered in another way, and their classes for a host.
func (h *hostTable) changes(host string) (groups []*group, classes []Class) {
	all := &grouping{hostTable: h, index: map[string]*group{}}
	changed := make([]bool, len(h.tree))
	for i := range h.tree {
		alternatives, parts := h.outcomes(i)
		if changed[i] = alternatives != nil && !h.tree.isEmpty(i); changed[i] {
			all.addNode(i, alternatives, parts)
		}
	}
	groups = joined(all.groups)
	empty := h.emptyNodes(groups)
	for _, g := range groups {
		g.paths, g.parts = h.tree.pathsOf(g.nodes, empty)
	}
	if host != "" {
		classes = h.classes(host, changed)
	}
	return groups, classes
}

// addNode adds what happens to the requests of a node; parts are so under every reading.
func (s *grouping) addNode(at int, alternatives []Alternative, parts []Difference) {
	unless := s.unless(at)
	add := func(id string, answers []Alternative, whole *CDN) {
		if unless != nil {
			id += fmt.Sprint("\n", unless)
		}
		g := s.index[id]
		if g == nil {
			g = &group{answers: answers, unless: unless, whole: whole}
			s.index[id], s.groups = g, append(s.groups, g)
		}
		if g.nodes = append(g.nodes, at); g.whole != nil && (g.answers[0].Before != answers[0].Before || g.answers[0].After != answers[0].After) {
			g.answers = []Alternative{g.answers[0].by(g.whole)}
		}
	}
	first := alternatives[0]
	switch whole := s.loses(); {
	case len(alternatives) > 1:
		add(answersText(alternatives, false), alternatives, nil)
	case len(parts) == 0 && whole != nil:
		add(first.effect.String(), alternatives, whole)
	case len(parts) == 0:
		add(first.String(), alternatives, nil)
	}
	for _, d := range parts {
		a := Alternative{Before: first.Before, After: first.After, Differences: []Difference{d}, effect: d.effect}
		add(d.String(), []Alternative{a}, nil)
	}
}

// joined makes one of groups with the same nodes, whose differences are for all of them.
func joined(groups []*group) (out []*group) {
	at := map[string]*group{}
	for _, g := range groups {
		single := len(g.answers) == 1 && len(g.answers[0].Differences) > 0
		id := fmt.Sprint(single, g.nodes, g.unless)
		if same := at[id]; same != nil && single {
			a := &same.answers[0]
			a.Differences = append(slices.Clip(a.Differences), g.answers[0].Differences...)
			a.effect = min(a.effect, g.answers[0].effect)
			continue
		}
		out, at[id] = append(out, g), g
	}
	return out
}

// loses returns the CDN that answers the host on one side if none does on the other, under any reading.
func (h *hostTable) loses() *CDN {
	n := len(h.readings)
	are := func(list []*CDN, one *CDN) bool {
		return !slices.ContainsFunc(list, func(c *CDN) bool { return c != one })
	}
	for side := range 2 {
		mine, others := h.owners[side*n:(side+1)*n], h.owners[(1-side)*n:(2-side)*n]
		if are(others, nil) && are(mine, mine[0]) {
			return mine[0]
		}
	}
	return nil
}

// outcomes returns what happens to the requests of a node: nil if nothing changes under any reading. It returns apart the
// differences that all readings agree on.
func (h *hostTable) outcomes(at int) (out []Alternative, parts []Difference) {
	var found []*outcome
	var readings [][]Reading
	same := true
	for r, reading := range h.readings {
		id := outcomeID{h.answer(at, 0, r), h.answer(at, 1, r), reading.Without == Units}
		o := h.known[id]
		if o == nil {
			o = newOutcome(id.before, id.after, reading)
			h.known[id] = o
		}
		same = same && o.effect == Same
		i := slices.IndexFunc(found, func(f *outcome) bool { return f == o || f.String() == o.String() })
		if i < 0 {
			i, found, readings = len(found), append(found, o), append(readings, nil)
		}
		readings[i] = append(readings[i], reading)
	}
	if same {
		return nil, nil
	}
	precedences := h.precedences()
	parts = commonParts(found)
	for i, o := range found {
		a := o.Alternative
		if len(found) > 1 {
			a = o.without(parts)
			a.When = conditions(readings[i], precedences)
		}
		out = append(out, a)
	}
	return out, parts
}

// precedences counts the readings in which all assumptions hold; they come first.
func (h *hostTable) precedences() (n int) {
	for n < len(h.readings) && h.readings[n].Without == Nothing {
		n++
	}
	return n
}

// commonParts returns the differences that all outcomes have.
func commonParts(all []*outcome) (common []Difference) {
	for _, d := range all[0].parts {
		if !slices.ContainsFunc(all, func(o *outcome) bool { return !slices.Contains(o.parts, d) }) {
			common = append(common, d)
		}
	}
	return common
}

// without returns the outcome without some differences.
func (o *outcome) without(parts []Difference) Alternative {
	a := o.Alternative
	if len(parts) == 0 {
		return a
	}
	a.Differences, a.effect, a.Else = nil, Same, true
	for _, d := range o.parts {
		if !slices.Contains(parts, d) {
			a.Differences, a.effect = append(a.Differences, d), min(a.effect, d.effect)
		}
	}
	return a
}

func newOutcome(before, after Answer, reading Reading) *outcome {
	o := &outcome{Alternative: Alternative{Before: before.String(), After: after.String()}}
	switch {
	case reading.alike(before, after):
		o.effect, o.After = Same, o.Before
	case before.Location != nil && after.Location == nil:
		o.effect = Dark
	case before.Location == nil && after.Location != nil:
		o.effect = First
	default:
		o.parts = differences(before, after, reading)
		o.effect = Unclear
		for _, d := range o.parts {
			o.effect = min(o.effect, d.effect)
		}
		o.Differences = o.parts
	}
	return o
}

// unless returns the paths of locations that are unclear and may answer the requests of a node.
func (h *hostTable) unless(at int) (paths []string) {
	for side := range 2 {
		for _, l := range h.unclear(&h.tree[at], side) {
			paths = append(paths, l.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// emptyNodes returns the nodes below nodes of groups that have no requests of their own.
func (h *hostTable) emptyNodes(groups []*group) map[int]bool {
	empty := map[int]bool{}
	if len(groups) == 0 {
		return empty
	}
	in := map[int]bool{}
	for _, g := range groups {
		for _, i := range g.nodes {
			in[i] = true
		}
	}
	for i := 1; i < len(h.tree); i++ {
		if parent := h.tree[i].parent; !in[i] && (in[parent] || empty[parent]) && h.tree.isEmpty(i) {
			empty[i] = true
		}
	}
	return empty
}

// pathsOf returns the paths of nodes: each part of the tree that hangs together is a pattern without the patterns below it
// that are not in the part. It also returns the part of each node.
func (t tree) pathsOf(nodes []int, empty map[int]bool) (out []Paths, parts []int) {
	in, top := make([]bool, len(t)), make([]int, len(t))
	for _, i := range nodes {
		in[i] = true
	}
	for i := range t {
		above := i > 0 && in[t[i].parent]
		if empty[i] {
			in[i] = above
		}
		switch {
		case in[i] && above:
			top[i] = top[t[i].parent]
		case in[i]:
			top[i], out = len(out), append(out, Paths{Pattern: t[i].shown()})
		case above:
			p := &out[top[t[i].parent]]
			p.Outside = append(p.Outside, t[i].shown())
		}
	}
	for _, i := range nodes {
		parts = append(parts, top[i])
	}
	return out, parts
}

// stops returns what the requests of a group were answered by, if nothing answers them any more under any reading.
func (h *hostTable) stops(g *group, host Host) (stops []Stop) {
	if g.effect() != Dark || len(g.answers) > 1 || g.unless != nil {
		return nil
	}
	for n, i := range g.nodes {
		was := h.answer(i, 0, 0)
		name := host.Name
		if g.whole == nil {
			name = Line{Hosts: []Host{host}, Paths: g.paths[g.parts[n] : g.parts[n]+1]}.Who(All)
		}
		stop := Stop{Name: name, Host: was.Host, Path: was.Path}
		if g.whole != nil && was.CDN.Config().Hostname == host.Name {
			stop.Host, stop.Path = "", ""
		}
		if !slices.ContainsFunc(stops, func(s Stop) bool { return s.Name == stop.Name && s.Host == stop.Host && s.Path == stop.Path }) {
			stops = append(stops, stop)
		}
	}
	return stops
}

// classes returns the classes of nodes that change.
func (h *hostTable) classes(host string, changed []bool) (out []Class) {
	at := map[int]int{}
	for i := range h.tree {
		if changed[i] {
			at[i] = len(out)
			c, n := Class{Host: host, Pattern: h.tree[i].shown()}, h.precedences()
			answers := make([]Answer, 2*n)
			for r := range n {
				answers[r], answers[n+r] = h.answer(i, 0, r), h.answer(i, 1, r)
			}
			c.Before, c.After = answers[:n], answers[n:]
			out = append(out, c)
		}
		if i > 0 {
			if parent, listed := at[h.tree[i].parent]; listed {
				out[parent].Except = append(out[parent].Except, h.tree[i].shown())
			}
		}
	}
	return out
}
