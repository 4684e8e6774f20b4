package manifest

import (
	"fmt"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/diag"
)

func typeSettings() Rule {
	return Rule{
		Name:     "type-settings",
		Severity: diag.Error,
		Summary:  "A constraint or an action of a firewall rule lacks the object that its type names.",
		Why: "A constraint has a type and an object of the same name with what is tested, and the action ratelimit has its " +
			"numbers in action.ratelimit (docs/platform.md 2.2). Without that object the rule tests nothing, or limits nothing. " +
			"An action of a type that the document does not show may need no object.",
		Fix: "Add the object, or name the one that is there like the type.",
		Bad: `apiVersion: delivery/v2.1
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
        action:
          type: ratelimit
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
        action:
          type: ratelimit
          ratelimit:
            rate: 100
            period: 60
            identifier:
              type: ip
`,
		object: only(cdn, checkTypeSettings),
	}
}

func checkTypeSettings(s *subject) {
	rules := s.Kind.Spec().Fields["firewall"].Fields["rules"].Item
	for at, rule := range elements(mapping(s.Tree, "firewall"), "spec.firewall", "rules") {
		groups, _ := rule["constraints"].([]any)
		for i, group := range groups {
			list, _ := group.([]any)
			for j, e := range list {
				constraint, _ := e.(map[string]any)
				s.typed(element(element(at+".constraints", i), j), constraint, "constraint")
			}
		}
		action := mapping(rule, "action")
		if name, _ := text(action, "type"); slices.Contains(rules.Fields["action"].Fields["type"].Seen, name) {
			s.typed(at+".action", action, "action")
		}
	}
}

// typed reports an object without the settings that its type names.
func (s *subject) typed(at string, object map[string]any, noun string) {
	name, _ := text(object, "type")
	if name == "" || hasSettings(object, name) {
		return
	}
	message := fmt.Sprintf("this %s is of the type %s and has no object %s", noun, quoteName(name), quoteName(name))
	fix := fmt.Sprintf("add %s: with its settings", name)
	if other := otherSettings(object); other != "" {
		message += fmt.Sprintf(", but %s", quoteName(other))
		fix = fmt.Sprintf("rename %s to %s, or write type: %s", other, name, other)
	}
	s.report(child(at, "type"), message, fix)
}

// hasSettings reports whether an object has a member with the name of its type. A
// name that resembles the type is misspelt-field's to report, or another spelling.
func hasSettings(object map[string]any, name string) bool {
	for member, v := range object {
		if v != nil && (member == name || misspelt(member, []string{name}) != nil || misspelt(name, []string{member}) != nil) {
			return true
		}
	}
	return false
}

// otherSettings returns the one member that may be the settings of another type, or "".
func otherSettings(object map[string]any) string {
	other := ""
	for _, member := range canon.SortedKeys(object) {
		if _, isObject := object[member].(map[string]any); !isObject {
			continue
		}
		if other != "" {
			return ""
		}
		other = member
	}
	return other
}
