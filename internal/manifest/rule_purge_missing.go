package manifest

import "trueup/internal/diag"

// RulePurgeMissing is the name of the rule that the plan checks, because it
// needs what is live.
const RulePurgeMissing = "purge-missing"

func purgeMissing() Rule {
	return Rule{
		Name:     RulePurgeMissing,
		Severity: diag.Advice,
		Summary:  "What shapes the answers of a location changes, and no purge of the same change covers its paths.",
		Why: "The edges go on giving what they hold until its time is over or a purge invalidates it (docs/platform.md 1). " +
			"So another edge TTL, rewrite, upstream or header of a location shows for each file as late as that; the " +
			"same holds for all locations of an upstream whose scheme changes, or of which one server takes the place of " +
			"another. Purges that wait, or that a person must decide about, count as there; nothing is said of a location whose " +
			"edge TTL was 0, because nothing of it is held.",
		Fix: "Write a purge of what the finding names with the command that it shows, trueup purge new; apply sends it after " +
			"the change. Or wait for the cache to expire.",
		Live: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
      cache:
        edgeTTL: "86400"
    - path: /*
`,
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
      cache:
        edgeTTL: "60"
    - path: /*
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
      cache:
        edgeTTL: "60"
    - path: /*
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: 2026-11-21-static
spec:
  hostname: shop.example.com
  paths:
    - /static/*
`,
		NeedsLive: true,
	}
}
