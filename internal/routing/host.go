package routing

import (
	"cmp"
	"slices"
	"strings"
)

// Responder is what answers a request: a CDN and one of its locations. Either may be nil.
type Responder struct {
	CDN *CDN
	*Location
}

// behaviour returns the behaviour of the location, or that of the CDN if no location answers; nil without a CDN.
func (a Responder) behaviour() *Behaviour {
	switch {
	case a.Location != nil:
		return &a.Behaviour
	case a.CDN != nil:
		return &a.CDN.Config().Behaviour
	}
	return nil
}

// Place returns the file and the line of the location in the manifest, or nothing without one.
func (a Responder) Place() (file string, line int) {
	if a.Location == nil || a.CDN.Lines == nil {
		return "", 0
	}
	return a.CDN.Path, a.CDN.Lines()[a.Index]
}

// describeCDN returns the name of the CDN that has the answer.
func (a Responder) describeCDN() string {
	if a.Location == nil {
		return nothing
	}
	return a.CDN.String()
}

// hostTable has what answers the requests of a host on some sides, under each reading that makes a difference.
type hostTable struct {
	// names has the host on each side: two, if a hostname changes. An empty one is a host that nothing names.
	names []string
	// claimants has the CDNs that may claim the host on each side, by name.
	claimants [][]*CDN
	// competing has those of several claimants that have it, if not one alone answers it.
	competing [][]*CDN
	tree      pathTree
	readings  []Interpretation
	// answers has an element for each node, side and reading.
	answers []Responder
	// matters says which assumptions may make a difference.
	matters  [assumptions]bool
	outcomes *outcomeCache
}

// newHostTable returns the table of a host.
func newHostTable(names []string, precedences []Precedence, claimants [][]*CDN, outcomes *outcomeCache) *hostTable {
	h := &hostTable{names: names, claimants: claimants, competing: make([][]*CDN, len(names)), outcomes: outcomes}
	h.findDecisiveAssumptions()
	h.tree = newTree(h.findParties())
	for i := 1; i < len(h.tree); i++ {
		h.matters[ExactPathFirst] = h.matters[ExactPathFirst] || h.tree[i].stem == h.tree[i-1].stem
	}
	for a := range assumptions {
		for _, p := range precedences {
			if a == Nothing || h.matters[a] {
				h.readings = append(h.readings, Interpretation{p, a})
			}
		}
	}
	h.fillAnswers()
	return h
}

// findDecisiveAssumptions finds the assumptions on which it depends which CDN answers the host.
func (h *hostTable) findDecisiveAssumptions() {
	for side, list := range h.claimants {
		if len(list) < 2 {
			continue
		}
		owners := findOwners(h.names[side], list, Nothing)
		h.matters[FirstClaimant] = h.matters[FirstClaimant] || len(owners) > 1
		h.competing[side] = slices.DeleteFunc(slices.Clone(list), func(c *CDN) bool { return c.claimStrength(h.names[side], Nothing) == 0 })
		h.matters[OneCDN] = h.matters[OneCDN] || len(h.competing[side]) > 1
		for _, a := range []Assumption{HostnameFirst, ExactHostFirst, Wildcards} {
			h.matters[a] = h.matters[a] || !slices.Equal(owners, findOwners(h.names[side], list, a))
		}
	}
}

// findParties returns the locations that may be for the host, and the assumptions on which that depends.
func (h *hostTable) findParties() (parties []sideLocation) {
	for side, list := range h.claimants {
		hosts := append([]string{"", h.names[side]}, widerHosts(h.names[side])...)
		if h.names[side] == "" {
			hosts = hosts[:1]
		}
		for _, c := range list {
			config := c.Config()
			parties = slices.Grow(parties, len(config.Locations)*len(h.claimants))
			for i, host := range hosts {
				for _, l := range config.hosts[host] {
					if l.isUnclear {
						continue
					}
					parties = append(parties, sideLocation{side, c, l})
					h.matters[Wildcards] = h.matters[Wildcards] || i > 1
					h.matters[AnyHost] = h.matters[AnyHost] || l.isStar
					h.matters[AnyPath] = h.matters[AnyPath] || l.Path == "*"
					h.matters[Units] = h.matters[Units] || l.times != [2]string{}
				}
			}
		}
	}
	return parties
}

// findOwner returns the CDN that answers the host on a side under a reading, or nil.
func (h *hostTable) findOwner(side int, r Interpretation) *CDN {
	owners := h.claimants[side]
	if h.names[side] != "" {
		owners = findOwners(h.names[side], owners, r.Without)
	}
	switch {
	case len(owners) == 0:
		return nil
	case r.Without == FirstClaimant:
		return owners[len(owners)-1]
	}
	return owners[0]
}

// fillAnswers sets what answers the requests of each node: what answers those of its parent, or a location of its own.
func (h *hostTable) fillAnswers() {
	size := len(h.claimants) * len(h.readings)
	h.answers = make([]Responder, len(h.tree)*size)
	for i := range size {
		h.answers[i].CDN = h.findOwner(i/len(h.readings), h.readings[i%len(h.readings)])
	}
	for i := 1; i < len(h.tree); i++ {
		answers := h.answers[i*size : (i+1)*size]
		copy(answers, h.answers[h.tree[i].parent*size:])
		for _, p := range h.tree[i].own {
			for r, reading := range h.readings {
				a := &answers[p.side*len(h.readings)+r]
				if h.mayAnswer(p, a.CDN, reading) && (a.Location == nil || reading.compareLocations(Responder{p.cdn, p.Location}, *a) < 0) {
					*a = Responder{p.cdn, p.Location}
				}
			}
		}
	}
}

// responder returns what answers the requests of a node on a side, under a reading.
func (h *hostTable) responder(at, side, reading int) Responder {
	return h.answers[(at*len(h.claimants)+side)*len(h.readings)+reading]
}

// owner returns the CDN that answers the host.
func (h *hostTable) owner(side, reading int) *CDN { return h.responder(0, side, reading).CDN }

// mayAnswer reports whether a location that may be for the host is so under a reading in which a CDN answers the host.
func (h *hostTable) mayAnswer(p sideLocation, owner *CDN, r Interpretation) bool {
	isWild := p.Host != "" && p.Host != h.names[p.side]
	return (p.cdn == owner || r.Without == OneCDN && slices.Contains(h.competing[p.side], p.cdn)) &&
		(r.Without != Wildcards || !isWild) && (r.Without != AnyHost || !p.isStar) && (r.Without != AnyPath || p.Path != "*")
}

// findUnclear returns the locations of a side of which no document says whether they match requests of a node.
func (h *hostTable) findUnclear(n *pathNode, side int) (found []Responder) {
	for _, c := range h.claimants[side] {
		isOwner := h.names[side] == "" || h.matters[OneCDN]
		for r := range h.readings {
			isOwner = isOwner || c == h.owner(side, r)
		}
		if !isOwner {
			continue
		}
		for _, l := range c.Config().unclear {
			if (h.names[side] == "" || l.MayServe(h.names[side])) && l.mayOverlap(n) {
				found = append(found, Responder{c, l})
			}
		}
	}
	return found
}

// mayOverlap reports whether a location that is unclear may match requests of a node: its path begins as theirs do, as it
// is written or in its normal form.
func (l *Location) mayOverlap(n *pathNode) bool {
	start, _, _ := strings.Cut(l.Path, "*")
	for _, start := range []string{start, NormalizePath(start)} {
		if strings.HasPrefix(n.stem, start) || n.prefix && strings.HasPrefix(start, n.stem) {
			return true
		}
	}
	return false
}

// isSame reports whether two answers are the same under a reading.
func (r Interpretation) isSame(a, b Responder) bool {
	switch {
	case a == b:
		return true
	case (a.Location == nil) != (b.Location == nil):
		return false
	case a.CDN == nil || b.CDN == nil:
		return true
	}
	return slices.Equal(a.behaviour()[:facets], b.behaviour()[:facets]) && (a.Location == nil || r.Without != Units || a.times == b.times)
}

// compareLocations compares two locations that match a request; the lesser one answers it. Those of several CDNs are one list, by name.
func (r Interpretation) compareLocations(a, b Responder) int {
	path, host := r.rankPath(b.Path)-r.rankPath(a.Path), rankPattern(b.Host)-rankPattern(a.Host)
	switch r.Precedence {
	case FirstInList:
		path, host = 0, 0
	case LongestHost:
		path, host = host, path
	case LongestPath:
	}
	if path == 0 && host == 0 && a.CDN != b.CDN {
		return compareKeys(a.CDN, b.CDN)
	}
	return cmp.Or(path, host, a.Index-b.Index)
}

// rankPattern returns a greater number for a longer pattern, and an exact one of the same length. A star has no length.
func rankPattern(pattern string) int {
	if strings.IndexByte(pattern, '*') >= 0 {
		return 2 * (len(pattern) - 1)
	}
	return 2*len(pattern) + 1
}

func (r Interpretation) rankPath(path string) int {
	if r.Without == ExactPathFirst {
		return rankPattern(path) / 2
	}
	return rankPattern(path)
}

// sideLocation is a location of a CDN on one of the sides that are compared.
type sideLocation struct {
	side int
	cdn  *CDN
	*Location
}

// pathNode is a pattern of paths. Its parent is the longest other one that matches all it does.
type pathNode struct {
	pattern, stem string
	// prefix says that the pattern matches what is below the stem.
	prefix bool
	parent int
	own    []sideLocation
}

func newNode(pattern string) pathNode {
	stem, prefix := strings.CutSuffix(pattern, "*")
	return pathNode{pattern: pattern, stem: stem, prefix: prefix}
}

// shownPattern returns the pattern for people: the paths of "*" are those of "/*".
func (n *pathNode) shownPattern() string {
	if n.pattern == "*" {
		return "/*"
	}
	return n.pattern
}

// covers reports whether the pattern matches all that another one does.
func (n pathNode) covers(other pathNode) bool {
	return n.pattern == other.pattern || n.matches(other.stem)
}

// matches reports whether the pattern is a prefix that matches the path.
func (n *pathNode) matches(path string) bool { return n.prefix && strings.HasPrefix(path, n.stem) }

// pathTree has a root, which matches everything, then the other nodes by stem, a prefix before the exact path. A parent
// stands before its children.
type pathTree []pathNode

// newTree returns the tree of the paths of locations. It sorts the locations.
func newTree(parties []sideLocation) pathTree {
	slices.SortFunc(parties, func(p, q sideLocation) int {
		a, b := newNode(p.Path), newNode(q.Path)
		return cmp.Or(strings.Compare(a.stem, b.stem), strings.Compare(b.pattern, a.pattern))
	})
	out := append(make(pathTree, 0, len(parties)+1), pathNode{prefix: true, parent: -1})
	for i, p := range parties {
		n := newNode(p.Path)
		if last := &out[len(out)-1]; len(out) > 1 && last.pattern == n.pattern {
			last.own = last.own[:len(last.own)+1] // the next party
			continue
		}
		n.own = parties[i : i+1]
		for n.parent = len(out) - 1; !out[n.parent].matches(n.stem); {
			n.parent = out[n.parent].parent
		}
		out = append(out, n)
	}
	return out
}

// findNode returns the longest node that matches a path.
func (t pathTree) findNode(path string) (longest int) {
	for at := range t {
		if t[at].stem == path || t[at].matches(path) {
			longest = at
		}
	}
	return longest
}

// isEmpty reports whether a node has no requests: it is the root or "*", and the next node takes all of them.
func (t pathTree) isEmpty(at int) bool {
	return t[at].stem == "" && at+1 < len(t) && (t[at+1].stem == "" || t[at+1].pattern == "/*")
}
