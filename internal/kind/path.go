package kind

// PathParts takes a path as people read it apart at its points, but not at those
// in brackets: locations[/a.b/*].cache has two parts.
func PathParts(path string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(path) {
		switch path[i] {
		case '[':
			depth++
		case ']':
			depth--
		case '.':
			if depth == 0 {
				parts = append(parts, path[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, path[start:])
}
