package manifest

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// RuleHostnameTaken is the name of the rule, which the plan checks against what
// is live as well.
const RuleHostnameTaken = "hostname-taken"

func hostnameTaken() Rule {
	return Rule{
		Name:     RuleHostnameTaken,
		Severity: diag.Warning,
		Summary:  "Two CDNs have the same hostname.",
		Why: "The hostname is the domain of the CDN (docs/platform.md 2.2), and a purge finds its CDN by it " +
			"(docs/platform.md 2.3). Two CDNs of one hostname are mostly a copied manifest in which it was " +
			"forgotten. A plan makes it an error, unless the platform has the hostname at this CDN already: then " +
			"it allows that, and trueup pull writes both.",
		Fix: "Give one of them another hostname, or remove it.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
---
apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop-staging
spec:
  hostname: shop.example.com
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
---
apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop-staging
spec:
  hostname: shop-staging.example.com
`,
		set: checkHostnameTaken,
	}
}

func checkHostnameTaken(set *Set, r *reporter) {
	first := map[string]*Object{}
	for _, o := range set.Objects {
		if o.Kind.Name != cdn || o.Host == "" {
			continue
		}
		host := kind.HostKey(o.Host)
		before, taken := first[host]
		if !taken {
			first[host] = o
			continue
		}
		line, _ := before.Place("spec.hostname")
		r.reportOn(o, "spec.hostname",
			fmt.Sprintf("the hostname %s is that of %s too (%s:%d)", o.Host, before.Key(), before.Path, line),
			"give one of them another hostname")
	}
}
