package manifest

import "trueup/internal/diag"

// RulePurgeHostname is the name of the rule that the plan checks, because it
// needs what is live.
const RulePurgeHostname = "purge-hostname"

func purgeHostname() Rule {
	return Rule{
		Name:     RulePurgeHostname,
		Severity: diag.Error,
		Summary:  "The hostname of a purge is that of no CDN, neither in these manifests nor on the platform, or is not spelled as there.",
		Why: "A purge's hostname is the domain of a CDN that was created before and must equal that CDN's " +
			"hostname (docs/platform.md 2.3). The name of a purge works only once, so a mistake here spends it.",
		Fix: "Write the hostname exactly as the CDN has it; names before it go into spec.subdomains.",
		Bad: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: www.shop.example.com
  paths:
    - /*
`,
		Good: `apiVersion: delivery/v2.1
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
		NeedsLive: true,
	}
}
