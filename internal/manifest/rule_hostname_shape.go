package manifest

import (
	"fmt"
	"strings"
	"unicode"

	"trueup/internal/diag"
)

func hostnameShape() Rule {
	return Rule{
		Name:     "hostname-shape",
		Severity: diag.Error,
		Summary:  "A hostname is an address, or holds what no hostname can.",
		Why: "spec.hostname is a domain (platform-api 2.2), and a purge must have exactly that of its CDN " +
			"(platform-api 2.3): no scheme, port, path, query or white space, and no IPv6 address.",
		Fix: "Write the domain alone, such as shop.example.com.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: https://shop.example.com/
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
`,
		object: checkHostnameShape,
	}
}

func checkHostnameShape(s *subject) {
	if s.Host == "" {
		return // absent, or the schema's to report
	}
	if problem := hostnameProblem(s.Host); problem != "" {
		s.report(child("spec", s.Kind.HostField), fmt.Sprintf("the hostname %q %s", s.Host, problem),
			"write the domain alone, such as shop.example.com")
	}
}

func hostnameProblem(host string) string {
	switch {
	case strings.Contains(host, "://"):
		return "has a scheme"
	case strings.Contains(host, "/"):
		return "has a path"
	case strings.Contains(host, "?"):
		return "has a query"
	case strings.Contains(host, "#"):
		return "has a fragment"
	case strings.Contains(host, "@"):
		return "has a user name"
	case strings.HasPrefix(host, "["), strings.Count(host, ":") > 1:
		return "is an IPv6 address"
	case strings.Contains(host, ":"):
		return "has a port"
	case strings.ContainsFunc(host, unicode.IsSpace):
		return "has white space"
	case strings.ContainsFunc(host, unseen):
		return "has characters that can't be seen"
	}
	return ""
}
