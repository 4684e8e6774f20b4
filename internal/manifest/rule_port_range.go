package manifest

import (
	"fmt"
	"iter"

	"trueup/internal/diag"
)

func portRange() Rule {
	return Rule{
		Name:     "port-range",
		Severity: diag.Error,
		Summary:  "The port of a server is not a number from 1 to 65535.",
		Why:      "A port is numeric text (docs/platform.md 2.2), and TCP knows no others.",
		Fix:      "Write the port as digits in quotes.",
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
          port: "44300000"
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
`,
		object: only(cdn, checkPortRange),
	}
}

func checkPortRange(s *subject) {
	for at, server := range servers(s) {
		if port, ok := text(server, "port"); ok && !numberIn(port, 1, 65535) {
			s.report(child(at, "port"), fmt.Sprintf("the port %q is not a number from 1 to 65535", port),
				`write digits in quotes, such as "443"`)
		}
	}
}

// servers yields the servers of all upstreams.
func servers(s *subject) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		for at, upstream := range elements(s.Tree, "spec", "upstreams") {
			for at, server := range elements(upstream, at, "servers") {
				if !yield(at, server) {
					return
				}
			}
		}
	}
}
