package routing

import (
	"slices"
	"strings"
)

// Answer is what answers a request: a CDN and one of its locations. Either may be nil.
type Answer struct {
	CDN *CDN
	*Location
}

// hostTable has what answers the requests of a host on some sides, under each reading that makes a difference.
type hostTable struct {
	// names has the host on each side: two, if a hostname changes.
	names    []string
	tree     tree
	sides    int
	readings []Reading
	// owners has the CDN of each side and reading, and won the location of each node, side and reading; nil is none.
	owners []*CDN
	won    []*Location
	// known has outcomes that are needed more than once.
	known map[outcomeID]*outcome
	// hasCapitals says that a path has one, and isFolded that all paths are in lower case.
	hasCapitals, isFolded bool
}

// newHostTable returns the table of a host, with its name and the CDNs that may claim it on each side.
func newHostTable(names []string, precedences []Precedence, claimants [][]*CDN) *hostTable {
	assumptions := []Assumption{Nothing}
	has := func(a Assumption, relevant bool) {
		if relevant && !slices.Contains(assumptions, a) {
			assumptions = append(assumptions, a)
		}
	}
	h := &hostTable{names: names, sides: len(claimants), known: map[outcomeID]*outcome{}}
	h.fill(claimants, has)
	for _, a := range assumptions {
		for _, p := range precedences {
			h.readings = append(h.readings, Reading{p, a})
		}
	}
	slices.SortStableFunc(h.readings, func(a, b Reading) int { return int(a.Without) - int(b.Without) })
	h.own(claimants)
	h.win()
	return h
}

// newFoldedTable returns a table of the readings in which the case of paths plays no part.
func newFoldedTable(names []string, precedences []Precedence, claimants [][]*CDN) *hostTable {
	h := &hostTable{names: names, sides: len(claimants), isFolded: true, known: map[outcomeID]*outcome{}}
	h.fill(claimants, func(Assumption, bool) {})
	for _, p := range precedences {
		h.readings = append(h.readings, Reading{Precedence: p})
	}
	h.own(claimants)
	h.win()
	return h
}

// fill makes the tree, and says which assumptions may play a part.
func (h *hostTable) fill(claimants [][]*CDN, has func(Assumption, bool)) {
	h.assumeOwners(claimants, has)
	var nodes []node
	for side, list := range claimants {
		for _, c := range list {
			nodes = append(nodes, h.nodesOf(side, c, has)...)
		}
	}
	h.tree = newTree(nodes)
	for i := 1; i < len(h.tree); i++ {
		has(ExactPathFirst, h.tree[i].stem == h.tree[i-1].stem)
	}
}

// assumeOwners finds the assumptions on which the owner of the host depends.
func (h *hostTable) assumeOwners(claimants [][]*CDN, has func(Assumption, bool)) {
	for side, list := range claimants {
		if len(list) < 2 {
			continue
		}
		owner := owners(h.names[side], list, Nothing)
		has(FirstClaimant, len(owner) > 1)
		for _, a := range []Assumption{HostnameFirst, ExactHostFirst, Wildcards} {
			has(a, !slices.Equal(owner, owners(h.names[side], list, a)))
		}
	}
}

// nodesOf returns a node for each location of a CDN that may be for the host.
func (h *hostTable) nodesOf(side int, c *CDN, has func(Assumption, bool)) (nodes []node) {
	config := c.Config()
	for i, pattern := range append([]string{"", h.names[side]}, wider(h.names[side])...) {
		if i > 0 && pattern == "" {
			continue
		}
		for _, l := range config.hosts[pattern] {
			if !l.isClear() {
				continue
			}
			path := l.Path
			if h.isFolded {
				path = strings.ToLower(path)
			}
			nodes = append(nodes, newNode(path, party{side, c, l}))
			has(Wildcards, i > 1)
			has(AnyHost, l.isStar)
			has(AnyPath, l.Path == "*")
			has(Units, l.units != "")
			h.hasCapitals = h.hasCapitals || l.Path != strings.ToLower(l.Path)
		}
	}
	return nodes
}

// own sets the owner of the host on each side under each reading.
func (h *hostTable) own(claimants [][]*CDN) {
	h.owners = make([]*CDN, h.sides*len(h.readings))
	for side, list := range claimants {
		for r, reading := range h.readings {
			found := list[:min(1, len(list))]
			if h.names[side] != "" {
				found = owners(h.names[side], list, reading.Without)
			}
			switch {
			case len(found) == 0:
			case reading.Without == FirstClaimant:
				h.owners[side*len(h.readings)+r] = found[len(found)-1]
			default:
				h.owners[side*len(h.readings)+r] = found[0]
			}
		}
	}
}

func (h *hostTable) owner(side, reading int) *CDN { return h.owners[side*len(h.readings)+reading] }

// win sets the location that answers the requests of each node.
func (h *hostTable) win() {
	size := h.sides * len(h.readings)
	h.won = make([]*Location, len(h.tree)*size)
	for i := 1; i < len(h.tree); i++ {
		won := h.won[i*size : (i+1)*size]
		copy(won, h.won[h.tree[i].parent*size:])
		for _, p := range h.tree[i].own {
			for r, reading := range h.readings {
				if at := p.side*len(h.readings) + r; h.owners[at] == p.cdn && reading.allows(p.Location, h.names[p.side]) {
					if best := won[at]; best == nil || reading.order(p.Location, best) < 0 {
						won[at] = p.Location
					}
				}
			}
		}
	}
}

// allows reports whether a location that may be for a host is so under the reading.
func (r Reading) allows(l *Location, host string) bool {
	isWild := l.Host != "" && l.Host != host
	return (r.Without != Wildcards || !isWild) && (r.Without != AnyHost || !l.isStar) && (r.Without != AnyPath || l.Path != "*")
}

// answer returns what answers the requests of a node on a side, under a reading.
func (h *hostTable) answer(at, side, reading int) Answer {
	i := side*len(h.readings) + reading
	return Answer{h.owners[i], h.won[at*h.sides*len(h.readings)+i]}
}

// unclear returns the locations of a side of which it is not known whether they match requests of a node.
func (h *hostTable) unclear(n *node, side int) (found []*Location) {
	for r := range h.readings {
		c := h.owner(side, r)
		if c == nil || r > 0 && c == h.owner(side, r-1) {
			continue
		}
		for _, l := range c.Config().unclear {
			if (h.names[side] == "" || l.MayServe(h.names[side])) && l.mayOverlap(n) && !slices.Contains(found, l) {
				found = append(found, l)
			}
		}
	}
	return found
}

// mayOverlap reports whether a location that is unclear may match requests of a node: its path begins as theirs do, as it
// is written or in its normal form.
func (l *Location) mayOverlap(n *node) bool {
	start, _, _ := strings.Cut(l.Path, "*")
	for _, start := range []string{start, Normal(start)} {
		if strings.HasPrefix(n.stem, start) || n.prefix && strings.HasPrefix(start, n.stem) {
			return true
		}
	}
	return false
}

// alike reports whether two answers are the same under a reading.
func (r Reading) alike(a, b Answer) bool {
	switch {
	case a == b:
		return true
	case (a.Location == nil) != (b.Location == nil):
		return false
	case a.Location == nil:
		return a.CDN == nil || b.CDN == nil || a.CDN == b.CDN || a.CDN.Config().Facets == b.CDN.Config().Facets
	}
	return a.Behaviour == b.Behaviour && (r.Without != Units || a.units == b.units) &&
		(a.CDN == b.CDN || a.CDN.Config().Facets == b.CDN.Config().Facets)
}

// answersAny reports whether a location of a side answers any request.
func (h *hostTable) answersAny(side int) bool {
	for i := range h.tree {
		if h.answer(i, side, 0).Location != nil {
			return true
		}
	}
	return false
}
