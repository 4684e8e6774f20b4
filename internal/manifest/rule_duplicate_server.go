package manifest

import (
	"strings"

	"trueup/internal/diag"
)

func duplicateServer() Rule {
	return Rule{
		Name:     "duplicate-server",
		Severity: diag.Warning,
		Summary:  "An upstream lists the same host and port twice.",
		Why: "trueup pairs the servers of git with the live ones by host and port (docs/platform.md 2.2). With a " +
			"pair twice, they are paired by position, so fields that only the platform knows are dropped " +
			"whenever the list is sent. Some use it to give a server a greater share: weight is meant for " +
			"that.",
		Fix: "Remove one of them, and raise the weight of the other if it should serve more.",
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
        - host: a.example.com
          port: "443"
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
          weight: "2"
`,
		object: only(cdn, checkDuplicateServer),
	}
}

func checkDuplicateServer(s *subject) {
	for at, upstream := range elements(s.Tree, "spec", "upstreams") {
		unique := s.unique("the server", "remove one, and raise the weight of the other")
		for at, server := range elements(upstream, at, "servers") {
			port, _ := text(server, "port")
			if host, _ := text(server, "host"); host != "" {
				unique(at, strings.TrimSuffix(strings.ToLower(host)+":"+port, ":"))
			}
		}
	}
}
