package manifest

import (
	"fmt"

	"trueup/internal/diag"
)

func hostnameShape() Rule {
	return Rule{
		Name:     "hostname-shape",
		Severity: diag.Error,
		Summary:  "A hostname, or the host of a location or a server, holds what no name of a machine can.",
		Why: "spec.hostname is a domain (docs/platform.md 2.2), a purge must have exactly that of its CDN (docs/platform.md 2.3), and a server " +
			"has a name or an address: no scheme, user, port, path, query or white space. A character beyond ASCII is an error, too, not only " +
			"in the host of a server. Some look like a letter or a dot of ASCII, so a reviewer reads good.example.net where " +
			"the manifest names another host. The CDN would fetch from that host, answer for another hostname, or lose the location. " +
			"DNS has no such characters: the xn-- form of a name is the one that is asked for, and nobody takes it for another.",
		Fix: "Write the domain alone, such as shop.example.com, and a name in other letters in its xn-- form; the finding shows it. " +
			"The host of a server may also be an IP address.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: https://shop.example.com/
  upstreams:
    - name: origin
      servers:
        - host: bücher.example.net
        - host: shop.example.net@evil.example
  locations:
    - path: /*
      upstream: origin
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
        - host: xn--bcher-kva.example.net
        - host: shop.example.net
  locations:
    - path: /*
      upstream: origin
`,
		object: checkHostnameShape,
	}
}

func checkHostnameShape(s *subject) {
	for h := range s.hosts() {
		if problem, fix := h.problem(); problem != "" {
			s.report(h.at, fmt.Sprintf("the %s %q %s", h.noun, h.text, problem), fix)
		}
	}
}
