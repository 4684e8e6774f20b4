package manifest

import "trueup/internal/diag"

// envelopeRules are the loader's rules of what a document is.
func envelopeRules() []Rule {
	return []Rule{
		unknownKind(), duplicateObject(), metadataNotSent(),
	}
}

func unknownKind() Rule {
	return Rule{
		Name:     ruleUnknownKind,
		Severity: diag.Error,
		Summary:  "A document is none of the kinds that trueup manages.",
		Why: "The platform's documented envelopes are those of CDN, Purge and VolumeSnapshot (docs/platform.md 2); " +
			"a document with another one would be left out in silence.",
		Fix: "Write apiVersion and kind as documented, or keep the file out of the manifests.",
		Bad: `apiVersion: delivery/v2.0
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
`,
	}
}

func duplicateObject() Rule {
	return Rule{
		Name:     ruleDuplicate,
		Severity: diag.Error,
		Summary:  "Two documents have the same kind and name.",
		Why:      "Both address the same object (docs/platform.md 4), and the last to be sent would win.",
		Fix:      "Remove one of the two, or give one another name.",
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
  name: shop
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
  name: blog
spec:
  hostname: blog.example.com
`,
	}
}

func metadataNotSent() Rule {
	return Rule{
		Name:     ruleNotSent,
		Severity: diag.Warning,
		Summary:  "Labels and annotations are not sent.",
		Why: "The documented envelopes have a name and a namespace below metadata and nothing else (docs/platform.md 2). " +
			"Labels and annotations are useful in git, so they are allowed there. The annotation trueup.dev/keep " +
			"is trueup's own, and no warning is given for it: an object that has it is never deleted.",
		Fix: "Nothing needs mending; write them as comments to be rid of the warning.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
  labels:
    team: web
spec:
  hostname: shop.example.com
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
`,
	}
}
