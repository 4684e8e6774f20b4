package route

import (
	"maps"
	"slices"
	"strings"
)

// side is a site of a change, or neither.
type side uint8

const (
	onBefore side = iota
	onAfter
	onNeither
)

// setApart finds the hosts that only one of the sites serves, and the hosts below them. A site serves its hostname
// and the hosts that its locations name, as Hosts does. A hostname that changes counts for both: see SiteFacet.
func (m *Map) setApart(before, after *Site) {
	hostnames := []string{before.Facets[Hostname].Text, after.Facets[Hostname].Text}
	var named [2]map[string]bool
	for on, s := range []*Site{before, after} {
		named[on] = map[string]bool{hostnames[0]: true, hostnames[1]: true}
		for i := range s.Locations {
			named[on][s.Locations[i].Host] = true
		}
	}
	for _, host := range slices.AppendSeq(hostnames, maps.Keys(m.own)) {
		isApart := false
		for wider := host; wider != ""; wider = m.wider(wider) {
			isApart = isApart || m.lacking(wider, named) != onNeither
		}
		switch {
		case isApart:
			m.apart[host] = m.lacking(host, named)
		case host != "":
			m.reach = append(m.reach, host)
		}
	}
	for host := range m.apart {
		if m.own[host] == nil {
			m.own[host] = root()
		}
	}
}

// lacking returns the side that does not serve a host which the other one serves, by the hosts that they name.
func (m *Map) lacking(host string, named [2]map[string]bool) side {
	var serves [2]bool
	for ; host != ""; host = m.wider(host) {
		for on := range serves {
			serves[on] = serves[on] || named[on][host]
		}
	}
	switch {
	case serves[onBefore] == serves[onAfter]:
		return onNeither
	case serves[onAfter]:
		return onBefore
	}
	return onAfter
}

// elsewhere reports whether locations of their own match a node of "" for each of the hosts that a site serves.
func (m *Map) elsewhere(n *node) bool {
	return !slices.ContainsFunc(m.reach, func(host string) bool {
		for ; host != ""; host = m.wider(host) {
			if own := m.own[host]; own != nil && own.over(n).parent >= 0 {
				return false
			}
		}
		return true
	})
}

// part reports whether something serves, on a side, requests of narrower paths or hosts than a node of the tree of a
// host, which nothing serves itself.
func (m *Map) part(host string, t tree, n *node, on side) bool {
	if t.serves(n, on) {
		return true
	}
	domain := strings.TrimPrefix(host, "*")
	return (host == "" || domain != host) && slices.ContainsFunc(m.hosts, func(narrower string) bool {
		if narrower == host || !strings.HasSuffix(narrower, domain) {
			return false
		}
		lacking, isApart := m.apart[narrower]
		for isApart && lacking != on && narrower != "" && !m.own[narrower].serves(n, on) {
			narrower = m.wider(narrower)
		}
		return m.own[narrower].serves(n, on)
	})
}

// serves reports whether locations of the tree serve requests of a node on a side.
func (t tree) serves(n *node, on side) bool {
	served := func(n node) bool { return [2]Winners{n.before, n.after}[on][0] != nil }
	return served(*t.over(n)) || n.prefix && slices.ContainsFunc(t.below(n.stem), served)
}
