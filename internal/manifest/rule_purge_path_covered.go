package manifest

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/purge"
)

const coveredRule = "purge-path-covered"

func purgePathCovered() Rule {
	return Rule{
		Name:     coveredRule,
		Severity: diag.Warning,
		Summary:  "A path of a purge is named twice, or a prefix path of the same purge covers it.",
		Why: "A prefix path purges everything below it (docs/platform.md 2.3), so the others change nothing. They " +
			"still count against the limits of the hostname: 20000 absolute and 1000 prefix paths " +
			"(docs/platform.md 8).",
		Fix: "Drop the paths that the finding names, or the prefix path if it is wider than was meant.",
		Bad: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /img/*
    - /img/logo.png
    - /img/icons/*
`,
		Good: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /img/*
`,
		object: only(purging, checkPurgePathCovered),
	}
}

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
			message, fix = paths[by]+" is named more than once", "keep one of them"
		}
		s.report(places[needless[by][0]], message, fix)
	}
}
