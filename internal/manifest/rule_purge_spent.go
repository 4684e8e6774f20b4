package manifest

import "trueup/internal/diag"

// RulePurgeSpent is the name of the rule that the plan checks, because it
// needs the ledger.
const RulePurgeSpent = "purge-spent"

func purgeSpent() Rule {
	return Rule{
		Name:     RulePurgeSpent,
		Severity: diag.Error,
		Summary:  "A purge was edited after it was posted.",
		Why: "A purge is a request and not a state: it is sent once, under a name that is unique among the purge " +
			"requests of the workspace (docs/platform.md 2.3), and can't be changed afterwards. " +
			"The order of paths and subdomains, the file's name and the envelope may change freely.",
		Fix: "Undo the change, and write what is to be purged now as a new manifest with a new name.",
		Bad: `# rel-42 was posted with the path /index.html
apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /index.html
    - /img/*
`,
		Good: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42-images
spec:
  hostname: shop.example.com
  paths:
    - /img/*
`,
		NeedsLive: true,
	}
}
