package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/diag"
)

func purgeSubdomain() Rule {
	return Rule{
		Name:     "purge-subdomain",
		Severity: diag.Error,
		Summary:  "A subdomain of a purge is not just the part before the hostname.",
		Why: "Each entry is prefixed to the hostname, and must not contain the hostname itself (docs/platform.md " +
			"2.3): with shop.example.com, www means www.shop.example.com. The hostname is purged anyway.",
		Fix: "Write each part before the hostname once, without dots at its ends.",
		Bad: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  subdomains:
    - www.shop.example.com
  paths:
    - /*
`,
		Good: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  subdomains:
    - www
  paths:
    - /*
`,
		object: only(purging, checkPurgeSubdomain),
	}
}

func checkPurgeSubdomain(s *subject) {
	host, _ := text(s.Tree, "hostname")
	unique := s.unique("the subdomain", "remove one of them")
	for at, sub := range texts(s.Tree, "spec", "subdomains") {
		unique(at, strings.ToLower(sub))
		if problem, fix := subdomainProblem(strings.ToLower(sub), strings.ToLower(host)); problem != "" {
			s.report(at, fmt.Sprintf("the subdomain %q %s", sub, problem), fix)
		}
	}
}

func subdomainProblem(sub, host string) (problem, fix string) {
	switch {
	case sub == "":
		return "", ""
	case sub == host:
		return "is the hostname, which is purged anyway", "remove it"
	case host != "" && strings.HasSuffix(sub, "."+host):
		return "contains the hostname", "write " + strings.TrimSuffix(sub, "."+host)
	case host != "" && strings.Contains(sub, host):
		return "contains the hostname", "write only the part before it"
	case strings.Trim(sub, ".") != sub:
		return "has a dot at its start or end", "write " + strings.Trim(sub, ".")
	case len(hostnameOddities(sub)) > 0 || hostnameProblem(sub) != "":
		if ascii := inASCII(sub); ascii != "" {
			return "is not the start of a hostname", "write " + ascii + ", which is this name in ASCII"
		}
		return "is not the start of a hostname", "write letters, digits and hyphens, such as www"
	}
	return "", ""
}
