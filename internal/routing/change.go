package routing

import (
	"fmt"
	"slices"
)

// group has nodes of a host with the same change.
type group struct {
	Part
	nodes []int
	// in has, for each node, the index of the paths that it is in.
	in []int
	// loser is the CDN that answered, or answers, if no CDN answers the host on the other side.
	loser *CDN
}

func (p Part) effect() Effect {
	worst := Unclear
	for _, a := range p.Answers {
		worst = min(worst, a.effect)
	}
	return worst
}

// outcomeID is what an Alternative depends on.
type outcomeID struct {
	before, after Answer
	units         bool
}

// findChanges returns the groups of nodes whose requests are answered in another way, and those nodes.
func (h *hostTable) findChanges() (groups []*group, changed []int) {
	index, loser := map[string]*group{}, h.findLoser()
	for i := range h.tree {
		answers, common := h.compareNode(i)
		if answers == nil || h.tree.isEmpty(i) {
			continue
		}
		changed = append(changed, i)
		unless, first := h.findUnless(i), answers[0]
		add := func(id string, loser *CDN, answers ...Alternative) {
			if unless != nil {
				id += fmt.Sprint("\n", unless)
			}
			g := index[id]
			if g == nil {
				g = &group{Part: Part{Answers: answers, Unless: unless}, loser: loser}
				index[id], groups = g, append(groups, g)
			}
			if g.nodes = append(g.nodes, i); loser != nil && (g.Answers[0].Before != first.Before || g.Answers[0].After != first.After) {
				g.Answers = []Alternative{first.ofCDN(loser)}
			}
		}
		switch {
		case len(answers) > 1:
			add(describeAnswers(answers, false), nil, answers...)
		case len(common) == 0 && loser != nil:
			add(first.effect.String(), loser, first)
		case len(common) == 0:
			add(first.String(), nil, first)
		}
		for _, d := range common {
			add(d.String(), nil, Alternative{Before: first.Before, After: first.After, Differences: []Difference{d}, effect: d.effect})
		}
	}
	groups = joinGroups(groups)
	for _, g := range groups {
		g.Paths, g.in = h.tree.pathsOf(g.nodes)
	}
	return groups, changed
}

// joinGroups makes one of groups with the same nodes, whose differences are for all of them.
func joinGroups(groups []*group) (out []*group) {
	known := map[[3]int]*group{}
	for _, g := range groups {
		if len(g.Answers) > 1 || len(g.Answers[0].Differences) == 0 {
			out = append(out, g)
			continue
		}
		id := [3]int{g.nodes[0], g.nodes[len(g.nodes)-1], len(g.nodes)}
		same := known[id]
		if same == nil || !slices.Equal(same.nodes, g.nodes) {
			out, known[id] = append(out, g), g
			continue
		}
		a := &same.Answers[0]
		a.Differences = append(a.Differences, g.Answers[0].Differences...)
		a.effect = min(a.effect, g.Answers[0].effect)
	}
	return out
}

// findLoser returns the CDN that answers the host on one side if none does on the other, under any reading.
func (h *hostTable) findLoser() *CDN {
	for side := range 2 {
		loser := h.owner(side, 0)
		for r := range h.readings {
			if h.owner(side, r) != loser || h.owner(1-side, r) != nil {
				loser = nil
			}
		}
		if loser != nil {
			return loser
		}
	}
	return nil
}

// compareNode returns what happens to the requests of a node: nil if nothing changes under any reading. It returns apart the
// differences that all readings have.
func (h *hostTable) compareNode(at int) (answers []Alternative, common []Difference) {
	var found []*Alternative
	var readings [][]Reading
	changes := false
	for r, reading := range h.readings {
		id := outcomeID{h.answer(at, 0, r), h.answer(at, 1, r), reading.Without == Units}
		o := h.outcomes[id]
		if o == nil {
			o = newOutcome(id.before, id.after, reading)
			h.outcomes[id] = o
		}
		changes = changes || o.effect != Same
		i := slices.IndexFunc(found, func(f *Alternative) bool { return f == o || f.String() == o.String() })
		if i < 0 {
			i, found, readings = len(found), append(found, o), append(readings, nil)
		}
		readings[i] = append(readings[i], reading)
	}
	if !changes {
		return nil, nil
	}
	for _, d := range found[0].Differences {
		if !slices.ContainsFunc(found, func(o *Alternative) bool { return !slices.Contains(o.Differences, d) }) {
			common = append(common, d)
		}
	}
	for i, o := range found {
		a := *o
		if len(found) > 1 {
			a = o.withoutDifferences(common)
			a.When = describeReadings(readings[i], h.countPrecedences())
		}
		answers = append(answers, a)
	}
	return answers, common
}

// countPrecedences counts the readings in which all assumptions hold; they come first.
func (h *hostTable) countPrecedences() (n int) {
	for n < len(h.readings) && h.readings[n].Without == Nothing {
		n++
	}
	return n
}

// withoutDifferences returns the alternative without some of its differences.
func (a Alternative) withoutDifferences(some []Difference) Alternative {
	if len(some) == 0 {
		return a
	}
	all := a.Differences
	a.Differences, a.effect, a.Else = nil, Same, true
	for _, d := range all {
		if !slices.Contains(some, d) {
			a.Differences, a.effect = append(a.Differences, d), min(a.effect, d.effect)
		}
	}
	return a
}

// newOutcome returns what happens to an answer under a reading.
func newOutcome(before, after Answer, reading Reading) *Alternative {
	o := &Alternative{Before: before.String(), After: after.String()}
	switch {
	case reading.isSame(before, after):
		o.effect, o.After = Same, o.Before
	case before.Location != nil && after.Location == nil:
		o.effect = Dark
	case before.Location == nil && after.Location != nil:
		o.effect = First
	default:
		o.Differences, o.effect = compareAnswers(before, after, reading), Unclear
		for _, d := range o.Differences {
			o.effect = min(o.effect, d.effect)
		}
	}
	return o
}

// findUnless returns the paths of locations that are unclear and may answer the requests of a node.
func (h *hostTable) findUnless(at int) (paths []string) {
	for side := range 2 {
		for _, l := range h.findUnclear(&h.tree[at], side) {
			paths = append(paths, l.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// pathsOf returns the paths of nodes: each part of the tree that hangs together is a pattern without the patterns below it
// that are not in the part. It also returns the part of each node.
func (t tree) pathsOf(nodes []int) (out []Paths, parts []int) {
	top := make([]int, len(t)) // the part of a node, counted from 1
	for _, i := range nodes {
		top[i] = -1
	}
	for i := range t {
		above := 0
		if i > 0 {
			above = top[t[i].parent]
		}
		switch {
		case top[i] < 0 && above > 0:
			top[i] = above
		case top[i] < 0:
			out = append(out, Paths{Pattern: t[i].shownPattern()})
			top[i] = len(out)
		case above > 0:
			out[above-1].Outside = append(out[above-1].Outside, t[i].shownPattern())
		}
	}
	for _, i := range nodes {
		parts = append(parts, top[i]-1)
	}
	return out, parts
}

// findStops returns what the requests of a group were answered by, if nothing answers them any more under any reading.
func (h *hostTable) findStops(g *group, host Host) (stops []Stop) {
	if g.effect() != Dark || len(g.Answers) > 1 || g.Unless != nil {
		return nil
	}
	for n, i := range g.nodes {
		was := h.answer(i, 0, 0)
		stop := Stop{Name: host.Name, Host: was.Host, Path: was.Path}
		switch {
		case g.loser == nil:
			stop.Name = nameRequests([]Host{host}, g.Paths[g.in[n]:g.in[n]+1], All)
		case was.CDN.Config().Hostname == host.Name:
			stop.Host, stop.Path = "", ""
		}
		if !slices.ContainsFunc(stops, stop.isSame) {
			stops = append(stops, stop)
		}
	}
	return stops
}

// classesOf returns the classes of nodes that change.
func (h *hostTable) classesOf(host string, changed []int) []Class {
	classes, index, n := make([]Class, len(changed)), map[int]int{}, h.countPrecedences()
	for at, i := range changed {
		index[i] = at
		classes[at] = Class{Host: host, Pattern: h.tree[i].shownPattern()}
		for r := range n {
			classes[at].Before, classes[at].After = append(classes[at].Before, h.answer(i, 0, r)), append(classes[at].After, h.answer(i, 1, r))
		}
	}
	for i := 1; i < len(h.tree); i++ {
		if at, changes := index[h.tree[i].parent]; changes {
			classes[at].Except = append(classes[at].Except, h.tree[i].shownPattern())
		}
	}
	return classes
}
