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
		Why: "The document knows absolute paths and prefix paths (docs/platform.md 2.3) and is silent about a " +
			"query, a fragment, white space, characters that are not ASCII, characters that clients encode " +
			"(\" < > \\ ^ ` { | }), a % without two hexadecimal digits, empty segments (//) and the " +
			"segments . and .., which clients resolve before they ask. Such a purge may be accepted and purge " +
			"nothing, and it is sent once only: its name is spent.",
		Fix: "Write the path as clients ask for it: without query, fragment, //, . and .., and with other " +
			"characters encoded as %XX.",
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
			s.report(at, oddPath(path, odd), "write the path as clients ask for it: without these, or with characters encoded as %XX")
		}
	}
}
