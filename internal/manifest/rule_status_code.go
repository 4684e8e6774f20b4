package manifest

import (
	"fmt"

	"trueup/internal/diag"
)

func statusCode() Rule {
	return Rule{
		Name:     "status-code",
		Severity: diag.Error,
		Summary:  "A status code of a rate limit is not an HTTP status.",
		Why: "statusCode and validationStatusCode are HTTP statuses as text (docs/platform.md 2.2), and those are " +
			"numbers from 100 to 599.",
		Fix: "Write a number from 100 to 599 in quotes.",
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
            statusCode: "4290"
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
            statusCode: "429"
`,
		object: only(cdn, checkStatusCode),
	}
}

func checkStatusCode(s *subject) {
	for at, limit := range ratelimits(s) {
		for _, field := range []string{"statusCode", "validationStatusCode"} {
			if code, ok := text(limit, field); ok && !numberIn(code, 100, 599) {
				s.report(child(at, field), fmt.Sprintf("%q is not an HTTP status", code),
					`write a number from 100 to 599 in quotes, such as "429"`)
			}
		}
	}
}
