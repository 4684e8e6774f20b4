package route

import "strings"

// Hidden are locations that serve no request if the first one in the list that matches does, because By takes all
// of theirs.
type Hidden struct {
	By        *Location
	Locations []*Location
}

// Hidden returns the locations that hide others, in the order of the list. It ignores others with the same path and
// host. If the longest path or host wins, no location hides another.
func (s *Site) Hidden() (all []Hidden) {
	m, hidden := NewMap(s, s), make([][]*Location, len(s.Locations))
	for i := range s.Locations {
		l, widest := &s.Locations[i], s.Locations[i]
		if !l.clear() { // it matches at most what begins like it
			start, _, _ := strings.Cut(l.Path, "*")
			widest.Path = start + "*"
		}
		if !widest.clear() {
			continue
		}
		n := newNode(widest.Path)
		n.join(m.own[""].over(&n))
		for host := l.Host; host != ""; host = m.wider(host) {
			if own := m.own[host]; own != nil {
				n.join(own.over(&n))
			}
		}
		by := n.before[FirstInList]
		if by != nil && by.Index < i && (by.Path != l.Path || by.Host != l.Host) {
			hidden[by.Index] = append(hidden[by.Index], l)
		}
	}
	for i, list := range hidden {
		if list != nil {
			all = append(all, Hidden{&s.Locations[i], list})
		}
	}
	return all
}
