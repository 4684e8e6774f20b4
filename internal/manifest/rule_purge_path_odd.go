package manifest

import (
	"trueup/internal/diag"
	"trueup/internal/purge"
)

func purgePathOdd() Rule {
	return Rule{
		Name:     "purge-path-odd",
		Severity: diag.Warning,
		Summary:  "A path of a purge holds something of which the platform's document does not say what it means.",
		Why: "The document knows absolute paths and prefix paths (platform-api 2.3) and is silent about a " +
			"query, a fragment, white space and characters that are not ASCII. Such a purge may be accepted " +
			"and purge nothing, and it is sent once only.",
		Fix: "Leave the query and the fragment out, and encode other characters as %XX.",
		Bad: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /search?q=shoes
`,
		Good: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /search*
`,
		object: only(purging, checkPurgePathOdd),
	}
}

func checkPurgePathOdd(s *subject) {
	for at, path := range texts(s.Tree, "spec", "paths") {
		if odd := oddities(path); len(odd) > 0 && purge.CheckPath(path) == nil {
			s.report(at, oddPath(path, odd), "use a prefix path without it, or encode the characters")
		}
	}
}
