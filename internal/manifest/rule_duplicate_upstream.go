package manifest

import (
	"trueup/internal/diag"
)

func duplicateUpstream() Rule {
	return Rule{
		Name:     "duplicate-upstream",
		Severity: diag.Error,
		Summary:  "Two upstreams of a CDN have the same name.",
		Why: "Locations refer to an upstream by its name (docs/platform.md 2.2), and trueup pairs the upstreams " +
			"of git with the live ones by it. With a name twice, neither can tell which is meant.",
		Fix: "Rename one of them, or remove it.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      upstream: origin
  upstreams:
    - name: origin
      scheme: https
    - name: origin
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      upstream: origin
  upstreams:
    - name: origin
      scheme: https
`,
		object: only(cdn, checkDuplicateUpstream),
	}
}

func checkDuplicateUpstream(s *subject) {
	unique := s.unique("the upstream", "rename one of them, or remove it")
	for at, upstream := range elements(s.Tree, "spec", "upstreams") {
		name, _ := text(upstream, "name")
		unique(at, name)
	}
}
