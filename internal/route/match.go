package route

import "strings"

// Readings returns all readings.
func Readings() []Reading { return []Reading{FirstInList, LongestPath, LongestHost} }

// Matching returns the locations that match a request, in the order of the list, and those that may match: the
// platform does not document their patterns.
func (s *Site) Matching(r Request) (matching, unclear []*Location) {
	for i := range s.Locations {
		l := &s.Locations[i]
		stem, prefix := strings.CutSuffix(l.Path, "*")
		switch {
		case !l.clear():
			if l.mayMatch(r) {
				unclear = append(unclear, l)
			}
		case stem != r.Path && (!prefix || !strings.HasPrefix(r.Path, stem)):
		case l.MayServe(r.Host):
			matching = append(matching, l)
		}
	}
	return matching, unclear
}

// MayServe reports whether the location is for requests of a host, or whether that is not documented.
func (l *Location) MayServe(host string) bool {
	domain, below := strings.CutPrefix(l.Host, "*")
	return l.Host == "" || l.Host == host || below && strings.HasSuffix(host, domain) || strings.Contains(domain, "*")
}

// Purged returns the path of a purge that covers everything that the location serves.
func (l *Location) Purged() string {
	path, _, isPrefix := strings.Cut(l.Path, "*")
	switch {
	case !strings.HasPrefix(path, "/"):
		return "/*"
	case isPrefix:
		path += "*"
	}
	return path
}

// mayMatch reports whether a request has the beginning of an unclear path, as it is written or in its normal form.
func (l *Location) mayMatch(r Request) bool {
	start, _, _ := strings.Cut(l.Path, "*")
	return strings.HasPrefix(r.Path, start) || strings.HasPrefix(r.Path, Normal(start))
}

// Select returns which of the locations that match a request serves it under each reading.
func Select(matching []*Location) (w Winners) {
	for _, l := range matching {
		w.join(Winners{l, l, l})
	}
	return w
}
