package manifest

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"

	"trueup/internal/canon"
)

func checkRatelimitOdd(s *subject) {
	for at, limit := range ratelimits(s) {
		for _, field := range []string{"rate", "period", "penalty_period"} {
			n, ok := limit[field].(json.Number)
			if value, err := n.Float64(); ok && err == nil && (value < 0 || value != math.Trunc(value)) {
				s.report(child(at, field), fmt.Sprintf("%s is %s, which is not a whole number from 0", field, short(string(n))),
					"write a whole number without quotes, such as "+field+": 60")
			}
		}
	}
}

// ratelimits yields the rate limits of all firewall rules.
func ratelimits(s *subject) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		for at, rule := range elements(mapping(s.Tree, "firewall"), "spec.firewall", "rules") {
			limit := mapping(mapping(rule, "action"), "ratelimit")
			if limit != nil && !yield(at+".action.ratelimit", limit) {
				return
			}
		}
	}
}

// shared reports whether many visitors have in common what a limit is counted by;
// the names are those that constraints of this platform have.
func shared(key string) bool {
	switch key {
	case "asn", "country", "host", "http_version", "method", "path", "tls", "uri":
		return true
	}
	return false
}

// tinyRate is a number of requests, for each unit of the period.
const tinyRate = 10

func checkRatelimitLocksOut(s *subject) {
	firewall := mapping(s.Tree, "firewall")
	if firewall["enabled"] == false {
		return
	}
	for at, rule := range elements(firewall, "spec.firewall", "rules") {
		limit := mapping(mapping(rule, "action"), "ratelimit")
		rate, known := number(limit, "rate")
		if rule["enabled"] == false || !known || !meetsPeople(rule) {
			continue
		}
		at += ".action.ratelimit"
		key, _ := text(mapping(limit, "identifier"), "type")
		period, _ := number(limit, "period")
		switch {
		case rate == 0:
			s.report(at+".rate", "the rule allows no requests at all", "write a higher rate, or enabled: false")
		case shared(key) && period > 0 && rate/period < tinyRate:
			s.report(at+".identifier.type", fmt.Sprintf("all visitors with the same %s share %v requests in %v", key, limit["rate"], limit["period"]),
				"count by ip, or allow more requests")
		}
	}
}

func number(parent map[string]any, field string) (float64, bool) {
	n, ok := parent[field].(json.Number)
	if !ok {
		return 0, false
	}
	value, err := n.Float64()
	return value, err == nil
}

// meetsPeople reports whether a rule matches all visitors, or all that are no
// known bots: the requests that fulfil all constraints of any of its groups.
func meetsPeople(rule map[string]any) bool {
	groups, _ := rule["constraints"].([]any)
	return len(groups) == 0 || slices.ContainsFunc(groups, func(group any) bool {
		constraints, ok := group.([]any)
		return ok && !slices.ContainsFunc(constraints, func(c any) bool { return !sparesBots(c) })
	})
}

// sparesBots recognises the constraint that only known bots do not fulfil.
func sparesBots(constraint any) bool {
	m, _ := constraint.(map[string]any)
	test := mapping(m, "known_bots")
	return m["type"] == "known_bots" && test["expected"] == "false" && test["operator"] == "equals" && len(m) == 2 && len(test) == 2
}

func checkRuleUnnamed(s *subject) {
	for at, rule := range elements(mapping(s.Tree, "firewall"), "spec.firewall", "rules") {
		name, isText := text(rule, "name")
		if rule["name"] == nil || isText && name == "" {
			s.report(at, "this firewall rule has no name, so all rules of the list are compared by position", "add name: NAME")
		}
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
