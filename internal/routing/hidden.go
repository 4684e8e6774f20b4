package routing

import "strings"

// Hidden are locations that answer no request if the first one in the list that matches does, because By takes all
// of theirs.
type Hidden struct {
	By        *Location
	Locations []*Location
}

// Hidden returns the locations that hide others, in the order of the list. It ignores others with the same path and
// host. If the longest path or host wins, no location hides another.
func (c *Config) Hidden() (all []Hidden) {
	first := map[[2]string]*Location{}
	for i := range c.Locations {
		l := &c.Locations[i]
		if at := [2]string{l.Host, l.Path}; !l.isUnclear && first[at] == nil {
			first[at] = l
		}
	}
	hidden := make([][]*Location, len(c.Locations))
	for i := range c.Locations {
		l := &c.Locations[i]
		if by := l.findHider(first); by.Path != l.Path || by.Host != l.Host {
			hidden[by.Index] = append(hidden[by.Index], l)
		}
	}
	for i, list := range hidden {
		if list != nil {
			all = append(all, Hidden{&c.Locations[i], list})
		}
	}
	return all
}

// findHider returns the first location that takes all requests of the location, of the first one of each host and path.
func (l *Location) findHider(first map[[2]string]*Location) *Location {
	by := l
	for _, host := range append([]string{"", l.Host}, widerHosts(l.Host)...) {
		for _, path := range l.widerPaths() {
			if other := first[[2]string{host, path}]; other != nil && other.Index < by.Index {
				by = other
			}
		}
	}
	return by
}

// widerPaths returns the patterns that match all that the path of the location does. A star in the middle of it matches at
// most what begins like it.
func (l *Location) widerPaths() (patterns []string) {
	stem, _, isPrefix := strings.Cut(l.Path, "*")
	if !isPrefix {
		patterns = append(patterns, stem)
	} else if stem == "" {
		stem = "/"
	}
	if Normal(stem+"x") != stem+"x" {
		return nil
	}
	for end := range len(stem) + 1 {
		patterns = append(patterns, stem[:end]+"*")
	}
	return patterns
}
