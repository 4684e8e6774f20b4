package routing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/kind"
)

// nodeGroup has nodes of a host with the same change.
type nodeGroup struct {
	RequestPart
	nodes []int
}

func (p RequestPart) effect() RequestEffect {
	worst := Unclear
	for _, a := range p.Answers {
		worst = min(worst, a.effect)
	}
	return worst
}

// outcomeID is what an Alternative depends on.
type outcomeID struct {
	before, after Responder
	units         bool
}

// outcomeCache has what is needed more than once: outcomes, and what they say of facets.
type outcomeCache struct {
	answers map[outcomeID]*ConditionalAnswer
	facets  map[facetChange][]PropertyDifference
}

func newOutcomeCache() *outcomeCache {
	return &outcomeCache{map[outcomeID]*ConditionalAnswer{}, map[facetChange][]PropertyDifference{}}
}

// findChanges returns the groups of nodes whose requests are answered in another way, and those nodes.
func (h *hostTable) findChanges() (groups []*nodeGroup, changed []int) {
	index := map[string]*nodeGroup{} // by their answers in words, and by where these do not hold
	isNew := h.isNewHost()
	for i := range h.tree {
		answers, common := h.compareNode(i)
		if answers == nil || h.tree.isEmpty(i) {
			continue
		}
		changed = append(changed, i)
		unless := h.findUnclearPaths(i)
		add := func(id string, answers ...ConditionalAnswer) *nodeGroup {
			if unless != nil {
				id += fmt.Sprint("\n", unless)
			}
			g := index[id]
			if g == nil {
				g = &nodeGroup{RequestPart: RequestPart{Answers: answers, Unless: unless}}
				groups, index[id] = append(groups, g), g
			}
			g.nodes = append(g.nodes, i)
			return g
		}
		switch first := answers[0]; {
		case isNew && len(answers) == 1:
			if g := add("", first); g.Answers[0].After != first.After {
				g.Answers[0].After = h.owner(1, 0).String()
			}
		case len(answers) > 1 || len(common) == 0:
			add(describeAnswers(answers, false), answers...)
		}
		for _, d := range common {
			add(d.String(), ConditionalAnswer{Before: answers[0].Before, After: answers[0].After, Differences: []PropertyDifference{d}, effect: d.effect})
		}
	}
	groups = joinGroups(groups)
	for _, g := range groups {
		g.Paths = h.tree.pathsOf(g.nodes)
	}
	return groups, changed
}

// isNewHost reports whether no CDN answered the host before, under each reading.
func (h *hostTable) isNewHost() bool {
	return !h.matters[OneCDN] && !slices.ContainsFunc(h.answers[:len(h.readings)], func(a Responder) bool { return a.CDN != nil })
}

// joinGroups makes one of groups with the same nodes, whose differences are for all of them.
func joinGroups(groups []*nodeGroup) (out []*nodeGroup) {
	known := map[[3]int]*nodeGroup{}
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

// compareNode returns what happens to the requests of a node: nil if nothing changes under any reading. It returns apart the
// differences that all readings have.
func (h *hostTable) compareNode(at int) (answers []ConditionalAnswer, common []PropertyDifference) {
	var found []*ConditionalAnswer
	var readings [][]Interpretation
	changes := false
	for r, reading := range h.readings {
		id := outcomeID{h.responder(at, 0, r), h.responder(at, 1, r), reading.Without == Units}
		o := h.outcomes.answers[id]
		if o == nil {
			o = h.outcomes.compare(id.before, id.after, reading)
			h.outcomes.answers[id] = o
		}
		changes = changes || o.effect != Same
		i := slices.IndexFunc(found, func(f *ConditionalAnswer) bool { return f == o || f.String() == o.String() })
		if i < 0 {
			i, found, readings = len(found), append(found, o), append(readings, nil)
		}
		readings[i] = append(readings[i], reading)
	}
	if !changes {
		return nil, nil
	}
	for _, d := range found[0].Differences {
		if !slices.ContainsFunc(found, func(o *ConditionalAnswer) bool { return !slices.Contains(o.Differences, d) }) {
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
func (a ConditionalAnswer) withoutDifferences(some []PropertyDifference) ConditionalAnswer {
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

// compare returns what happens to an answer under a reading.
func (known *outcomeCache) compare(before, after Responder, reading Interpretation) *ConditionalAnswer {
	o := &ConditionalAnswer{Before: before.describeCDN(), After: after.describeCDN()}
	switch {
	case reading.isSame(before, after):
		o.effect, o.After = Same, o.Before
	case before.Location != nil && after.Location == nil:
		o.effect = Dark
	case before.Location == nil && after.Location != nil:
		o.effect, o.After = First, after.String()
	default:
		o.Differences, o.effect = known.compareAnswers(before, after, reading), Unclear
		for _, d := range o.Differences {
			o.effect = min(o.effect, d.effect)
		}
	}
	return o
}

// findUnclearPaths returns the paths of locations that are unclear and may answer the requests of a node.
func (h *hostTable) findUnclearPaths(at int) (paths []string) {
	for side := range 2 {
		for _, l := range h.findUnclear(&h.tree[at], side) {
			paths = append(paths, l.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// pathsOf returns the paths of nodes: each part of the tree that hangs together is a pattern without the patterns below it
// that are not in the part.
func (t pathTree) pathsOf(nodes []int) (out []PathSet) {
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
			out = append(out, PathSet{Pattern: t[i].shownPattern()})
			top[i] = len(out)
		case above > 0:
			out[above-1].Outside = append(out[above-1].Outside, t[i].shownPattern())
		}
	}
	return out
}

// findStops returns the paths of a group that nothing answers any more under any reading: one for all if no CDN has the host.
func (h *hostTable) findStops(g *nodeGroup) []PathSet {
	switch {
	case g.effect() != Dark || len(g.Answers) > 1 || g.Unless != nil:
		return nil
	case h.owner(1, 0) == nil:
		return []PathSet{{}}
	}
	return g.Paths
}

// findOutdated returns the copies that nodes which change make stale.
func (h *hostTable) findOutdated(host string, changed []int, causes []kind.Key) (all []OutdatedCopies) {
	index, n := map[int]int{}, h.countPrecedences()
	for _, i := range changed {
		before := i * 2 * len(h.readings)
		after := before + len(h.readings)
		if copies, areStale := compareCopies(h.answers[before:][:n], h.answers[after:][:n]); areStale {
			copies.Host, copies.Pattern, copies.Objects = host, h.tree[i].shownPattern(), causes
			index[i], all = len(all), append(all, copies)
		}
	}
	for i := 1; i < len(h.tree); i++ {
		if at, areStale := index[h.tree[i].parent]; areStale {
			all[at].Except = append(all[at].Except, h.tree[i].shownPattern())
		}
	}
	return all
}

// compareCopies returns what the copies of answers have that are stale under some precedence; before and after have an
// answer for each.
func compareCopies(before, after []Responder) (copies OutdatedCopies, areStale bool) {
	copies.IsCertain = true
	for r := range before {
		facets := staleFacets(before[r].Location, after[r].Location)
		if len(facets) == 0 {
			copies.IsCertain = false
			continue
		}
		if !areStale {
			copies.Location, copies.Facets, areStale = [2]string{after[r].Host, after[r].Path}, facets, true
		}
		if ttl := before[r].Behaviour[EdgeTTL]; ttl.Known {
			copies.Stay = max(copies.Stay, ttl.Time)
		} else {
			copies.Stay = math.MaxInt64
		}
	}
	return copies, areStale
}

// staleFacets returns the facets because of which a copy that the edges cached under one location is not what the
// other answers. It has none if nothing was cached, or only a copy expires sooner than a new one would.
func staleFacets(before, after *Location) (stale []Facet) {
	if before == nil || after == nil || !before.isCached() {
		return nil
	}
	for _, f := range []Facet{Origin, Action, EdgeTTL, CORS, Images, Rewrite, Headers} {
		a, b := before.Behaviour[f], after.Behaviour[f]
		if a != b && (f != EdgeTTL || !a.isAtMost(b)) && (f != Origin || isReplaced(a, b)) {
			stale = append(stale, f)
		}
	}
	return stale
}

// isCached reports whether the edges may cache answers: the edge TTL is not 0.
func (l *Location) isCached() bool {
	v := l.Behaviour[EdgeTTL]
	number, _, _ := strings.Cut(v.Text, " ")
	return number != "0" && (!v.Known || v.Time > 0)
}

// isAtMost reports whether a TTL is known to be at most another one.
func (v ServedValue) isAtMost(other ServedValue) bool {
	if v.Known && other.Known {
		return v.Time <= other.Time
	}
	number, unit, _ := strings.Cut(v.Text, " ")
	most, sameUnit, _ := strings.Cut(other.Text, " ")
	a, err := strconv.Atoi(number)
	b, wrong := strconv.Atoi(most)
	return err == nil && wrong == nil && unit == sameUnit && a <= b
}

// isReplaced reports whether the answers of two different origins may differ. Servers that were only added, or
// only removed, have the same content as the others.
func isReplaced(before, after ServedValue) bool {
	upstreams := [2][]map[string]any{objectsOf(before.Tree()), objectsOf(after.Tree())}
	was, is := serversOf(upstreams[0]), serversOf(upstreams[1])
	if len(was) == 0 || len(is) == 0 {
		return true
	}
	lacks := func(list, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
	}
	a, b := textOf(upstreams[0][0]["scheme"]), textOf(upstreams[1][0]["scheme"])
	return a != b && a != "" && b != "" || lacks(was, is) && lacks(is, was)
}
