package manifest

import "trueup/internal/diag"

// schemaRules are the loader's rules of fields and their values.
func schemaRules() []Rule {
	return []Rule{
		schemaRefused(), textUnquoted(), emptyValue(), unknownField(), unknownValue(),
	}
}

func schemaRefused() Rule {
	return Rule{
		Name:     ruleSchema,
		Severity: diag.Error,
		Summary:  "A field is missing, or has another type or value than the documented one.",
		Why: "The schema says no more than the platform's document (platform-api 2), " +
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
		Why: "Many fields are text even where they mean a boolean or a number (platform-api 2.2), " +
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

func unknownField() Rule {
	return Rule{
		Name:     ruleUnknownField,
		Severity: diag.Warning,
		Summary:  "The platform's document does not show this field.",
		Why: "Servers of this family drop unknown fields in silence, so a typing mistake would never take effect. " +
			"The document does not list all fields (platform-api 2.2), so it is no error; --strict makes it one.",
		Fix: "Correct the name, if it is a mistake.",
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

func unknownValue() Rule {
	return Rule{
		Name:     ruleUnknownValue,
		Severity: diag.Warning,
		Summary:  "The platform's document does not show this value.",
		Why: "The document shows values that were seen and does not list all that are allowed (platform-api 2.2), " +
			"so it is no error; --strict makes it one.",
		Fix: "Correct the value, if it is a mistake.",
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
