package manifest

import "trueup/internal/diag"

// ignoreRules are the rules of comments that silence others.
func ignoreRules() []Rule {
	return []Rule{ignoreOdd(), ignoreUnused()}
}

func ignoreOdd() Rule {
	return Rule{
		Name:     ruleIgnoreOdd,
		Severity: diag.Warning,
		Summary:  "A comment that is to silence a rule does not say which, where or why.",
		Why: "A comment # trueup:ignore RULE REASON silences the warnings and the advice of one rule at one place. " +
			"It needs the name of a rule that is no error, a reason for the reviewer, and a place: behind a field in " +
			"its line, above a field or an element of a list, or at the head of the document for all of it. A comment " +
			"without one of these silences nothing, and whoever wrote it would not know.",
		Fix: "Write # trueup:ignore RULE REASON behind the field or above it, or remove the comment.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  # trueup:ignore upstream-unsued
  upstreams:
    - name: origin
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations: []
  upstreams:
    # trueup:ignore upstream-unused locations follow when the certificate is there
    - name: origin
`,
	}
}

func ignoreUnused() Rule {
	return Rule{
		Name:     ruleIgnoreUnused,
		Severity: diag.Warning,
		Summary:  "A comment silences a rule that finds nothing there.",
		Why: "What the rule found was mended, or the comment stands at another field. If it stayed, it would silence " +
			"the next finding there, which nobody has seen. Only what the document itself shows is told: a comment " +
			"for a rule that takes what is live, or other documents, is never called unused.",
		Fix: "Remove the comment.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    enabled: "true"
    forced: "true" # trueup:ignore tls-not-forced old clients speak plain HTTP
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    enabled: "true"
    forced: "false" # trueup:ignore tls-not-forced old clients speak plain HTTP
`,
	}
}
