package manifest

import "trueup/internal/diag"

// RulePurgeEverything is the name of the rule that the plan checks, because it
// needs the object that serves the hostname.
const RulePurgeEverything = "purge-everything"

func purgeEverything() Rule {
	return Rule{
		Name:     RulePurgeEverything,
		Severity: diag.Advice,
		Summary:  "A purge invalidates all that is held of a hostname.",
		Why: "/* is a prefix path of all there is, and so are prefixes that have all locations of the CDN below them; each " +
			"subdomain is purged together with the hostname (docs/platform.md 2.3). Until the edges hold answers again, the " +
			"servers behind the CDN get every request, which is more than they get on other days.",
		Fix: "Name the paths that changed; or go on, if all of it did, at an hour when the servers can take it.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
    - path: /*
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  subdomains:
    - www
  paths:
    - /*
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /static/*
    - path: /*
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  subdomains:
    - www
  paths:
    - /static/*
`,
		NeedsLive: true,
	}
}
