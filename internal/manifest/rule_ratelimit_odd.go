package manifest

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"

	"trueup/internal/diag"
)

func ratelimitOdd() Rule {
	return Rule{
		Name:     "ratelimit-odd",
		Severity: diag.Warning,
		Summary:  "A number of a rate limit is less than zero or a fraction.",
		Why: "rate, period and penalty_period are numbers without documented bounds (docs/platform.md 2.2), so this " +
			"is no error; but nobody can send half a request, and a time before now limits nothing. Such a " +
			"limit is likely to be refused, or to let everything through.",
		Fix: "Write a whole number from 0.",
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
        action:
          type: ratelimit
          ratelimit:
            rate: -100
            period: 60
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
        action:
          type: ratelimit
          ratelimit:
            rate: 100
            period: 60
`,
		object: only(cdn, checkRatelimitOdd),
	}
}

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
