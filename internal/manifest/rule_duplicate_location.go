package manifest

import (
	"strings"

	"trueup/internal/diag"
)

func duplicateLocation() Rule {
	return Rule{
		Name:     "duplicate-location",
		Severity: diag.Error,
		Summary:  "Two locations of a CDN have the same path and host.",
		Why: "A request can be served by one of them only, and the platform's document does not say by which " +
			"(docs/platform.md 2.2). trueup pairs the locations of git with the live ones by path and host.",
		Fix: "Merge the two into one, or give one another path or host.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*
      cache:
        edgeTTL: "60"
    - path: /img/*
      cache:
        edgeTTL: "3600"
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*
      cache:
        edgeTTL: "3600"
`,
		object: only(cdn, checkDuplicateLocation),
	}
}

func checkDuplicateLocation(s *subject) {
	unique := s.unique("the location", "merge the two, or change the path or host of one")
	for at, location := range elements(s.Tree, "spec", "locations") {
		key, _ := text(location, "path")
		if host, _ := text(location, "host"); host != "" {
			key += " of the host " + strings.ToLower(host)
		}
		unique(at, key)
	}
}
