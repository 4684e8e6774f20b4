package manifest

import (
	"fmt"

	"trueup/internal/diag"
)

func upstreamUnused() Rule {
	return Rule{
		Name:     "upstream-unused",
		Severity: diag.Warning,
		Summary:  "No location names this upstream.",
		Why: "Locations refer to upstreams by name (docs/platform.md 2.2). An upstream that none names serves " +
			"nothing; often a location was renamed or removed and this was left behind. A manifest without " +
			"spec.locations leaves them as they are on the platform, so its upstreams are not checked.",
		Fix: "Remove the upstream, or name it in a location.",
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
    - name: old-origin
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
`,
		object: only(cdn, checkUpstreamUnused),
	}
}

func checkUpstreamUnused(s *subject) {
	if _, listed := s.Tree["locations"].([]any); !listed {
		return
	}
	used := map[string]bool{}
	for _, location := range elements(s.Tree, "spec", "locations") {
		name, _ := text(location, "upstream")
		used[name] = true
	}
	for at, upstream := range elements(s.Tree, "spec", "upstreams") {
		if name, ok := text(upstream, "name"); ok && !used[name] {
			s.report(child(at, "name"), fmt.Sprintf("no location uses the upstream %q", name),
				"remove it, or name it in a location")
		}
	}
}
