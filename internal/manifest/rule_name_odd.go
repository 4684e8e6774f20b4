package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/diag"
)

func nameOdd() Rule {
	return Rule{
		Name:     "name-odd",
		Severity: diag.Warning,
		Summary:  "The name of an object is unlike those that Kubernetes-style platforms take.",
		Why: "The platform's document does not say which names are allowed. Servers of its family take " +
			"lower-case letters, digits, hyphens and dots, and refuse a request with another name.",
		Fix: "Use lower-case letters, digits, hyphens and dots, and start and end with a letter or digit.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: Shop_EU
spec:
  hostname: shop.example.com
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop-eu
spec:
  hostname: shop.example.com
`,
		object: checkNameOdd,
	}
}

func checkNameOdd(s *subject) {
	name, ok := text(mapping(s.Doc, "metadata"), "name")
	if !ok || name == "" || nameProblem(name) != "" {
		return
	}
	plain := strings.Trim(name, "-.") == name && strings.ToLower(name) == name && !strings.ContainsFunc(name, notOfHostname)
	if !plain {
		s.report("metadata.name", fmt.Sprintf("the name %q may be refused", name),
			"use lower-case letters, digits, hyphens and dots, and start and end with a letter or digit")
	}
}
