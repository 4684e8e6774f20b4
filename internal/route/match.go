package route

import "strings"

// Readings returns all readings.
func Readings() []Reading { return []Reading{FirstInList, LongestPath, LongestHost} }

// Matching returns the locations that match a request, in the order of the list, and those that it is not known of.
func (s *Site) Matching(r Request) (matching, unclear []*Location) {
	for i := range s.Locations {
		l := &s.Locations[i]
		stem, prefix := strings.CutSuffix(l.Path, "*")
		domain, below := strings.CutPrefix(l.Host, "*")
		switch {
		case !l.clear():
			unclear = append(unclear, l)
		case stem != r.Path && (!prefix || !strings.HasPrefix(r.Path, stem)):
		case l.Host == "" || l.Host == r.Host || below && strings.HasSuffix(r.Host, domain):
			matching = append(matching, l)
		}
	}
	return matching, unclear
}

// Select returns which of the locations that match a request serves it under each reading.
func Select(matching []*Location) (w Winners) {
	for _, l := range matching {
		w.join(Winners{l, l, l})
	}
	return w
}
