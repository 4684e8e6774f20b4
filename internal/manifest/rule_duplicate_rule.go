package manifest

import (
	"trueup/internal/diag"
)

func duplicateRule() Rule {
	return Rule{
		Name:     "duplicate-rule",
		Severity: diag.Error,
		Summary:  "Two firewall rules of a CDN have the same name.",
		Why: "trueup pairs the firewall rules of git with the live ones by their name (docs/platform.md 2.2). " +
			"With a name twice, a change of one could be sent to the other.",
		Fix: "Rename one of them, or remove it.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: true
    rules:
      - name: block-bots
        enabled: true
      - name: block-bots
        enabled: false
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
      - name: block-bots
        enabled: true
      - name: slow-down
        enabled: false
`,
		object: only(cdn, checkDuplicateRule),
	}
}

func checkDuplicateRule(s *subject) {
	unique := s.unique("the firewall rule", "rename one of them, or remove it")
	for at, rule := range elements(mapping(s.Tree, "firewall"), "spec.firewall", "rules") {
		name, _ := text(rule, "name")
		unique(at, name)
	}
}
