package manifest

import (
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
)

func deprecatedPurgeURL() Rule {
	return Rule{
		Name:     "deprecated-purge-url",
		Severity: diag.Warning,
		Summary:  "The manifest mentions the address of the older purge service.",
		Why: "The older purge service is deprecated and will be removed; callers must migrate to the purge " +
			"operation of version 2.1 (docs/platform.md 9). The address is a setting of the project; without it " +
			"nothing is looked for.",
		Fix: "Purge with a manifest of kind Purge instead, and remove the address.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /purge/*
      headers:
        X-Purge-At: https://purge.example.com/v1
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /purge/*
`,
		object: checkDeprecatedPurgeURL,
		idle:   func(opts Options) bool { return opts.DeprecatedPurgeURL == "" },
	}
}

func checkDeprecatedPurgeURL(s *subject) {
	if address := strings.TrimRight(s.Options.DeprecatedPurgeURL, "/"); address != "" {
		s.findText("", s.Doc, strings.ToLower(address))
	}
}

// findText reports every text that holds the address, in the order of keys.
func (s *subject) findText(at string, v any, address string) {
	switch t := v.(type) {
	case string:
		if strings.Contains(strings.ToLower(t), address) {
			s.report(at, "this is the address of the deprecated purge service", "write a manifest of kind Purge instead")
		}
	case []any:
		for i, e := range t {
			s.findText(element(at, i), e, address)
		}
	case map[string]any:
		for _, k := range canon.SortedKeys(t) {
			s.findText(child(at, k), t[k], address)
		}
	}
}
