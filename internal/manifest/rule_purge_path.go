package manifest

import (
	"fmt"
	"slices"
	"strings"

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

// coverage is a path of a purge that covers other paths of the same purge.
type coverage struct {
	by      int
	covered []int
}

// coveredPaths returns the paths of a purge, their fields, and which of them cover others.
func coveredPaths(spec map[string]any) (paths, places []string, all []coverage) {
	for at, path := range texts(spec, "paths") {
		paths, places = append(paths, path), append(places, at)
	}
	number := map[int]int{}
	for _, r := range purge.FindRedundant(paths) {
		n, seen := number[r.By]
		if !seen {
			n = len(all)
			number[r.By], all = n, append(all, coverage{by: r.By})
		}
		all[n].covered = append(all[n].covered, r.Index)
	}
	return paths, places, all
}

// checkPurgePathCovered reports each path that covers others once.
func checkPurgePathCovered(s *subject) {
	paths, places, all := coveredPaths(s.Tree)
	for _, c := range all {
		drop := make([]string, len(c.covered))
		for i, n := range c.covered {
			drop[i] = paths[n]
		}
		list := Some(drop)
		message, fix := fmt.Sprintf("%s purges this too: %s", paths[c.by], list), "drop "+list
		if !slices.ContainsFunc(drop, func(path string) bool { return path != paths[c.by] }) {
			message, fix = paths[c.by]+" is listed more than once", "keep one of them"
		}
		s.report(places[c.covered[0]], message, fix)
	}
}
