package manifest

import "trueup/internal/diag"

// RulePurgeUnmatched is the name of the rule that the plan checks, because it
// needs the object that serves the hostname.
const RulePurgeUnmatched = "purge-unmatched"

func purgeUnmatched() Rule {
	return Rule{
		Name:     RulePurgeUnmatched,
		Severity: diag.Advice,
		Summary:  "A path of a purge is served by no location of its CDN.",
		Why: "The edges hold answers of paths that a location serves (docs/platform.md 2.2). A path outside of all of them, as " +
			"they are live and as git has them, is often a slip; the purge is sent all the same, and its name is spent.",
		Fix: "Correct the path, or add the location.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
    - path: /api/*
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /statics/app.js
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
    - path: /api/*
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /static/app.js
`,
		NeedsLive: true,
	}
}
