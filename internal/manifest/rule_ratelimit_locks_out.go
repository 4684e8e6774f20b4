package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	"trueup/internal/diag"
)

func ratelimitLocksOut() Rule {
	return Rule{
		Name:     "ratelimit-locks-out",
		Severity: diag.Advice,
		Summary:  "A rate limit leaves nothing to visitors, or so little for all of them together that a few lock out the rest.",
		Why: "rate is how many requests a period allows, and identifier.type what tells one visitor from another " +
			"(docs/platform.md 2.2). A rate of 0 allows none. A limit that is counted by something that visitors share, " +
			"such as the host or the path, is one limit for all who share it: with less than 10 requests for each unit of " +
			"the period, a few of them use it up. Rules that only bots or other chosen requests match are not looked at. " +
			"The document shows one identifier, ip, and names no unit.",
		Fix: "Write a rate that a visitor can live with, counted by ip; or switch the rule off with enabled: false.",
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
        constraints: []
        action:
          type: ratelimit
          ratelimit:
            rate: 0
            period: 60
            identifier: {type: ip}
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
        constraints: []
        action:
          type: ratelimit
          ratelimit:
            rate: 600
            period: 60
            identifier: {type: ip}
`,
		object: only(cdn, checkRatelimitLocksOut),
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
			s.report(at+".rate", "the rule allows no request of anybody", "write a rate that a visitor can live with, or enabled: false")
		case shared(key) && period > 0 && rate/period < tinyRate:
			s.report(at+".identifier.type", fmt.Sprintf("all who share the %s have %v requests in %v together", key, limit["rate"], limit["period"]),
				"count by ip, or allow more")
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
