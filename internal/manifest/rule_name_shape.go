package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"trueup/internal/diag"
)

func nameShape() Rule {
	return Rule{
		Name:     "name-shape",
		Severity: diag.Error,
		Summary:  "The name of an object can't stand in the address of a request, or hides what it is.",
		Why: "metadata.name becomes a part of the path (docs/platform.md 4), where a slash, \".\" or \"..\" would " +
			"address something else. It is escaped there; but servers exist that undo an escape twice, or that take the " +
			"other dots and slashes of Unicode for these. Control characters and characters that change the direction of " +
			"text make a name look like another.",
		Fix: "Use lower-case letters, digits, hyphens and dots.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop/eu
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
		object: checkNameShape,
	}
}

// maxName is the longest name of a Kubernetes-style resource.
const maxName = 253

func checkNameShape(s *subject) {
	name, ok := text(mapping(s.Doc, "metadata"), "name")
	if !ok || name == "" {
		return // the schema's to report
	}
	if problem := nameProblem(name); problem != "" {
		s.report("metadata.name", fmt.Sprintf("the name %+q %s", short(name), problem), "use lower-case letters, digits, hyphens and dots")
	}
}

// confusable are the characters of Unicode that are made into dots and slashes
// where texts are normalised (NFKC), or look like them.
const confusable = "\u2024\u2025\u2026\u3002\ufe52\uff0e\uff61\u2044\u2215\u29f8\uff0f\u29f5\ufe68\uff3c"

func nameProblem(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.ContainsAny(name, `/\`):
		return "has a slash"
	case name == "." || strings.Contains(name, "..") || strings.ContainsAny(name, "?#%;"+confusable):
		return "would change the path of the request"
	case strings.ContainsFunc(name, diag.Unseen), !utf8.ValidString(name):
		return "has characters that can't be seen"
	}
	return ""
}
