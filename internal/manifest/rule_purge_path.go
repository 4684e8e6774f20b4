package manifest

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/purge"
)

func checkPurgePath(s *subject) {
	for at, path := range texts(s.Tree, "paths") {
		err := purge.CheckPath(path)
		if err == nil || path == "" {
			continue
		}
		s.report(at, fmt.Sprintf("the path %q %v", path, err), fixPath(path))
	}
}

// fixPath suggests a valid path that purges at least what was meant, and says if it purges more.
func fixPath(path string) string {
	if _, rest, found := strings.Cut(path, "://"); found {
		_, rest, _ = strings.Cut(rest, "/")
		path = rest
	}
	path = "/" + strings.TrimLeft(path, "/")
	before, after, found := strings.Cut(path, "*")
	switch {
	case !found:
		return "write " + path
	case strings.Trim(after, "*") == "":
		return "write " + before + "*"
	case before == "/":
		return "write each path: /* would purge the whole hostname"
	}
	return "write " + before + "*, which purges more, or write each path"
}

func checkPurgePathOdd(s *subject) {
	for at, path := range texts(s.Tree, "paths") {
		if odd := oddities(path); len(odd) > 0 && purge.CheckPath(path) == nil {
			s.report(at, oddPath(path, odd), "write the path as clients request it: without these, or encoded as %XX")
		}
	}
}

const coveredRule = "purge-path-covered"

// coveredPaths returns the paths of a purge, their fields, and for each path the indices of those that it
// covers.
func coveredPaths(spec map[string]any) (paths, places []string, covered [][]int) {
	for at, path := range texts(spec, "paths") {
		paths, places = append(paths, path), append(places, at)
	}
	covered = make([][]int, len(paths))
	for _, r := range purge.FindRedundant(paths) {
		covered[r.By] = append(covered[r.By], r.Index)
	}
	return paths, places, covered
}

// checkPurgePathCovered reports each path that covers others once.
func checkPurgePathCovered(s *subject) {
	paths, places, covered := coveredPaths(s.Tree)
	for by, indices := range covered {
		if len(indices) == 0 {
			continue
		}
		drop := make([]string, len(indices))
		for i, n := range indices {
			drop[i] = paths[n]
		}
		list := diag.First(drop, shownNames)
		message, fix := fmt.Sprintf("%s purges this too: %s", paths[by], list), "drop "+list
		if !slices.ContainsFunc(drop, func(path string) bool { return path != paths[by] }) {
			message, fix = paths[by]+" is listed more than once", "keep one of them"
		}
		s.report(places[indices[0]], message, fix)
	}
}
