package manifest

import (
	"fmt"
	"math"

	"trueup/internal/diag"
)

func weightNumber() Rule {
	return Rule{
		Name:     "weight-number",
		Severity: diag.Error,
		Summary:  "The weight of a server is not a number.",
		Why: "A weight is numeric text (docs/platform.md 2.2): the share of the requests that the server gets. " +
			"Less than nothing can't be shared out.",
		Fix: "Write the weight as digits in quotes.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  upstreams:
    - name: origin
      servers:
        - host: a.example.com
          port: "443"
          weight: "-1"
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  upstreams:
    - name: origin
      servers:
        - host: a.example.com
          port: "443"
          weight: "1"
`,
		object: only(cdn, checkWeightNumber),
	}
}

func checkWeightNumber(s *subject) {
	for at, server := range servers(s) {
		if weight, ok := text(server, "weight"); ok && !numberIn(weight, 0, math.MaxInt32) {
			s.report(child(at, "weight"), fmt.Sprintf("the weight %q is not a whole number from 0", weight),
				`write digits in quotes, such as "1"`)
		}
	}
}
