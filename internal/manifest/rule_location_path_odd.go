package manifest

import (
	"strings"

	"trueup/internal/diag"
)

func locationPathOdd() Rule {
	return Rule{
		Name:     "location-path-odd",
		Severity: diag.Warning,
		Summary: "The path of a location holds something of which the platform's document does not say what it " +
			"means.",
		Why: "The document shows path patterns with a * at their end (docs/platform.md 2.2) and is silent about a " +
			"* elsewhere, a query, a fragment, white space, characters that are not ASCII, characters that clients " +
			"encode (\" < > \\ ^ ` { | }), a % without two hexadecimal digits, empty segments (//), the segments . and .., and a path without / at its start. Such a location may match nothing, or more than was meant.",
		Fix: "Write a path that starts with /, has * only at its end, and no //, . or ..; encode other characters " +
			"as %XX.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*/large?v=2
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*
`,
		object: only(cdn, checkLocationPathOdd),
	}
}

func checkLocationPathOdd(s *subject) {
	for at, location := range elements(s.Tree, "spec", "locations") {
		path, ok := text(location, "path")
		if !ok || path == "" {
			continue
		}
		odd := oddities(path)
		if !strings.HasPrefix(path, "/") {
			odd = append(odd, "no / at its start")
		}
		if strings.Contains(strings.TrimSuffix(path, "*"), "*") {
			odd = append(odd, "a * before its end")
		}
		if len(odd) > 0 {
			s.report(child(at, "path"), oddPath(path, odd), "write the path as clients ask for it: / first, * only at the end, other characters encoded as %XX")
		}
	}
}
