package manifest

import "trueup/internal/diag"

// schemaRules are the loader's rules of fields and their values.
func schemaRules() []Rule {
	return []Rule{
		schemaRefused(), textUnquoted(), emptyValue(), misspeltField(), misspeltValue(), unknownField(), unknownValue(),
	}
}

func schemaRefused() Rule {
	return Rule{
		Name:     ruleSchema,
		Severity: diag.Error,
		Summary:  "A field is missing, or has another type or value than the documented one.",
		Why: "The schema says no more than the platform's document (docs/platform.md 2), " +
			"so the platform is likely to refuse the request, or to drop the field.",
		Fix: "Write what the finding says; trueup explain shows type, rule and example of any field.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: "yes"
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: true
`,
	}
}

func textUnquoted() Rule {
	return Rule{
		Name:     ruleUnquoted,
		Severity: diag.Error,
		Summary:  "A boolean or number stands without quotes where the platform wants text.",
		Why: "Many fields are text even where they mean a boolean or a number (docs/platform.md 2.2), " +
			"and YAML reads true and 443 as something else.",
		Fix: "Put the value in quotes; trueup fmt --fix does it for you.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    forced: true
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    forced: "true"
`,
	}
}

func emptyValue() Rule {
	return Rule{
		Name:     ruleEmpty,
		Severity: diag.Error,
		Summary:  "A field has no value.",
		Why: "It could mean empty or absent: sent as null it would remove what is live. " +
			"Only a literal null says that a field must be absent.",
		Fix: `Write "" for an empty text, {} or [] for an empty mapping or list, null for "must be absent", or remove the line.`,
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink: {}
`,
	}
}

// whatIsMisspelt says what counts as a misspelling, and hasItAllTheSame what to do
// where the platform has such a name.
const (
	whatIsMisspelt = "A misspelling is the documented name in another case, with other hyphens and underscores, " +
		"with letters swapped, dropped or too many, or with another letter. A character beyond ASCII counts as the letter that it may look like. " +
		"The shorter the name, the less is a misspelling. No comment silences it."
	hasItAllTheSame = " If the platform does have the name, say so in trueup.yaml for that one place: overrides: [{kind: CDN, path: "
)

func misspeltField() Rule {
	return Rule{
		Name:     ruleMisspeltField,
		Severity: diag.Error,
		Summary:  "A field's name resembles a documented one.",
		Why: "Git then lacks the field that was meant, so apply would remove it from the platform, and servers of this family drop " +
			"unknown fields in silence. " + whatIsMisspelt,
		Fix: "Correct the name; trueup fmt --fix does it where only the case of letters differs." + hasItAllTheSame +
			"spec.secureLink, undocumented: [tokenNames]}]. It is then an unknown-field, and reviewers see the change of trueup.yaml.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenNane: token
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: token
`,
	}
}

func misspeltValue() Rule {
	return Rule{
		Name:     ruleMisspeltValue,
		Severity: diag.Error,
		Summary:  "A value resembles a documented one.",
		Why: "The platform is likely to refuse it, or to do something else. The document shows values that were seen and does not list all that " +
			"are allowed (docs/platform.md 2.2), so a value that resembles none of them is only an unknown-value. " + whatIsMisspelt,
		Fix: "Correct the value; trueup fmt --fix does it where only the case of letters differs." + hasItAllTheSame +
			"spec.locations.action, undocumented: [proxy_https]}]. It is then an unknown-value, and reviewers see the change of trueup.yaml.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      action: proxy_htp
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      action: proxy_http
`,
	}
}

func unknownField() Rule {
	return Rule{
		Name:     ruleUnknownField,
		Severity: diag.Warning,
		Summary:  "The platform's document does not show this field, nor one whose name resembles it.",
		Why: "Servers of this family drop unknown fields in silence, so a mistake would never take effect. " +
			"The document does not list all fields (docs/platform.md 2.2), so it is no error; --strict makes it one. " +
			"A name that resembles a documented one is an error: misspelt-field.",
		Fix: "Correct the name, or move the field to where it belongs, if it is a mistake.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: token
    algorithm: sha256
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: token
`,
	}
}

func unknownValue() Rule {
	return Rule{
		Name:     ruleUnknownValue,
		Severity: diag.Warning,
		Summary:  "The platform's document does not show this value, nor one that resembles it.",
		Why: "The document shows values that were seen and does not list all that are allowed (docs/platform.md 2.2), " +
			"so it is no error; --strict makes it one. A value that resembles a documented one is an error: misspelt-value.",
		Fix: "Correct the value, if it is a mistake.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      action: forward
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      action: proxy_http
`,
	}
}
