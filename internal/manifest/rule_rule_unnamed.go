package manifest

import "trueup/internal/diag"

func ruleUnnamed() Rule {
	return Rule{
		Name:     "rule-unnamed",
		Severity: diag.Warning,
		Summary:  "A firewall rule has no name.",
		Why: "trueup pairs the firewall rules of git with the live ones by their name (docs/platform.md 2.2). With a rule " +
			"without one, all rules of the CDN are compared by their position: a new one in between shows as a " +
			"change of each below it, and fields that only the platform knows are dropped when the list is sent.",
		Fix: "Give it a name, of lower-case letters, digits and hyphens.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: true
    rules:
      - enabled: true
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: true
    rules:
      - name: slow-down
        enabled: true
`,
		object: only(cdn, checkRuleUnnamed),
	}
}

func checkRuleUnnamed(s *subject) {
	for at, rule := range elements(mapping(s.Tree, "firewall"), "spec.firewall", "rules") {
		name, isText := text(rule, "name")
		if rule["name"] == nil || isText && name == "" {
			s.report(at, "this firewall rule has no name: all rules of the list are compared by position", "add name: NAME")
		}
	}
}
