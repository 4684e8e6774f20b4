package manifest

import (
	"fmt"

	"trueup/internal/diag"
)

func upstreamUnknown() Rule {
	return Rule{
		Name:     "upstream-unknown",
		Severity: diag.Error,
		Summary:  "A location names an upstream that spec.upstreams does not have.",
		Why: "The upstream of a location is the name of an entry of spec.upstreams (docs/platform.md 2.2); a " +
			"location with another one has nowhere to send its requests. A manifest without spec.upstreams " +
			"leaves them as they are on the platform, so its locations are not checked.",
		Fix: "Correct the name, or add the upstream to spec.upstreams.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*
      upstream: orgin
    - path: /*
      upstream: origin
  upstreams:
    - name: origin
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*
      upstream: origin
    - path: /*
      upstream: origin
  upstreams:
    - name: origin
`,
		object: only(cdn, checkUpstreamUnknown),
	}
}

func checkUpstreamUnknown(s *subject) {
	if _, listed := s.Tree["upstreams"].([]any); !listed {
		return
	}
	var known []string
	has := map[string]bool{}
	for _, upstream := range elements(s.Tree, "spec", "upstreams") {
		if name, ok := text(upstream, "name"); ok {
			known, has[name] = append(known, name), true
		}
	}
	for at, location := range elements(s.Tree, "spec", "locations") {
		name, ok := text(location, "upstream")
		if !ok || has[name] || s.full() {
			continue
		}
		fix := "add it to spec.upstreams, or name one of those"
		if meant := Nearest(name, known); meant != "" {
			fix = fmt.Sprintf("did you mean %q?", meant)
		}
		s.report(child(at, "upstream"), fmt.Sprintf("no entry of spec.upstreams has the name %q", name), fix)
	}
}
