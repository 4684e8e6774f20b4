package manifest

import (
	"fmt"
	"math"

	"trueup/internal/diag"
)

func ttlNumber() Rule {
	return Rule{
		Name:     "ttl-number",
		Severity: diag.Error,
		Summary:  "A TTL of a location is not a number.",
		Why: "edgeTTL and browserTTL are numeric text (docs/platform.md 2.2); their unit stands apart, in " +
			"ttlTimeUnit.",
		Fix: "Write the number as digits in quotes, and its unit in ttlTimeUnit.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /img/*
      cache:
        edgeTTL: 1h
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
        ttlTimeUnit: second
`,
		object: only(cdn, checkTTLNumber),
	}
}

func checkTTLNumber(s *subject) {
	for at, location := range elements(s.Tree, "spec", "locations") {
		cache := mapping(location, "cache")
		for _, field := range []string{"edgeTTL", "browserTTL"} {
			if ttl, ok := text(cache, field); ok && !numberIn(ttl, 0, math.MaxInt64) {
				s.report(child(child(at, "cache"), field), fmt.Sprintf("the TTL %q is not a whole number from 0", ttl),
					`write digits in quotes, such as "3600", and the unit in ttlTimeUnit`)
			}
		}
	}
}
