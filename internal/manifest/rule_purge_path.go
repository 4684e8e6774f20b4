package manifest

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/purge"
)

func checkPurgePath(s *subject) {
	for at, path := range texts(s.Tree, "spec", "paths") {
		err := purge.CheckPath(path)
		if err == nil || path == "" {
			continue
		}
		s.report(at, fmt.Sprintf("the path %q %v", path, err), mendPath(path))
	}
}

// mendPath says which valid path would purge at least what was meant, and that
// it purges more where it does: nobody should widen a purge without knowing.
func mendPath(path string) string {
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
	for at, path := range texts(s.Tree, "spec", "paths") {
		if odd := oddities(path); len(odd) > 0 && purge.CheckPath(path) == nil {
			s.report(at, oddPath(path, odd), "write the path as clients request it: without these, or encoded as %XX")
		}
	}
}

const coveredRule = "purge-path-covered"

// shownPaths bounds how many paths a message names.
const shownPaths = 5

// checkPurgePathCovered reports once for each path that makes others needless.
func checkPurgePathCovered(s *subject) {
	var paths, places []string
	for at, path := range texts(s.Tree, "spec", "paths") {
		paths, places = append(paths, path), append(places, at)
	}
	needless := map[int][]int{}
	var order []int
	for _, r := range purge.FindRedundant(paths) {
		if needless[r.By] == nil {
			order = append(order, r.By)
		}
		needless[r.By] = append(needless[r.By], r.Index)
	}
	for _, by := range order {
		var drop []string
		for _, i := range needless[by][:min(shownPaths, len(needless[by]))] {
			drop = append(drop, paths[i])
		}
		list := strings.Join(drop, ", ")
		if more := len(needless[by]) - len(drop); more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		message, fix := fmt.Sprintf("%s purges this too: %s", paths[by], list), "drop "+list
		if !slices.ContainsFunc(needless[by], func(i int) bool { return paths[i] != paths[by] }) {
			message, fix = paths[by]+" is listed more than once", "keep one of them"
		}
		s.report(places[needless[by][0]], message, fix)
	}
}
