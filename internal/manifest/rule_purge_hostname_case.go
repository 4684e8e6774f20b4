package manifest

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

func purgeHostnameCase() Rule {
	return Rule{
		Name:     "purge-hostname-case",
		Severity: diag.Error,
		Summary:  "The hostname of a purge differs from that of its CDN in capitals, or in a dot at its end.",
		Why: "DNS does not tell such names apart, but the hostname of a purge must equal that of its CDN " +
			"(docs/platform.md 2.3). The name of a purge works only once, so one that the platform does not match spends it.",
		Fix: "Write the hostname exactly as the CDN has it.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: Shop.example.com # trueup:ignore hostname-odd as it is printed
  paths:
    - /img/*
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
---
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /img/*
`,
		set: checkPurgeHostnameCase,
	}
}

func checkPurgeHostnameCase(set *Set, r *reporter) {
	exact, serving := map[string]bool{}, map[string]*Object{}
	for _, o := range set.Objects {
		if o.Kind.Name != cdn || o.Host == "" {
			continue
		}
		exact[o.Host] = true
		if key := kind.HostKey(o.Host); serving[key] == nil {
			serving[key] = o
		}
	}
	for _, o := range set.Objects {
		if o.Kind.Name != purging || exact[o.Host] {
			continue
		}
		if of := serving[kind.HostKey(o.Host)]; of != nil {
			line, _ := of.Place("spec.hostname")
			r.reportOn(o, "spec.hostname",
				fmt.Sprintf("the hostname %s must equal that of %s, %s (%s:%d)", o.Host, of.Key(), of.Host, of.Path, line),
				"write "+of.Host)
		}
	}
}
