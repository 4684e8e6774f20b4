package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/diag"
)

func hostnameOdd() Rule {
	return Rule{
		Name:     "hostname-odd",
		Severity: diag.Warning,
		Summary:  "A hostname, or the host of a location or a server, is not one of RFC 1123.",
		Why: "The platform's document says no more than that spec.hostname is a domain, and that a server has a name or an address (docs/platform.md 2.2). " +
			"Names in DNS are labels of at most 63 letters, digits and hyphens with dots between, 253 in " +
			"all; others are likely to be refused, or to answer to nobody. A name in capitals or with a dot " +
			"at its end may come back in another form. What no name can have is an error: hostname-shape.",
		Fix: "Write lower-case letters, digits and hyphens.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: my_shop.example.com
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: my-shop.example.com
`,
		object: checkHostnameOdd,
	}
}

func checkHostnameOdd(s *subject) {
	for h := range s.hosts() {
		if problem, _ := h.problem(); problem != "" {
			continue
		}
		if odd := h.oddities(); len(odd) > 0 {
			s.report(h.at, fmt.Sprintf("the %s %q has %s", h.noun, h.text, strings.Join(odd, " and ")),
				"write a domain of lower-case letters, digits and hyphens")
		}
	}
}

// oddities names what is unusual in a host of which nothing is wrong.
func (h host) oddities() []string {
	if h.server && inBrackets(h.text) {
		return []string{"brackets around its address"}
	}
	odd := hostnameOddities(h.text)
	if endsInNumber(h.text) {
		odd = append(odd, "a number as its last label")
	}
	if h.noun == "hostname" && !strings.Contains(h.text, ".") {
		odd = append(odd, "only one label")
	}
	return odd
}
