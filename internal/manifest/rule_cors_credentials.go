package manifest

import (
	"fmt"
	"strings"
	"unicode"

	"trueup/internal/diag"
)

func corsCredentials() Rule {
	return Rule{
		Name:     "cors-credentials",
		Severity: diag.Advice,
		Summary:  "A location allows credentials to pages of every origin.",
		Why: "Browsers refuse an answer that allows credentials and names * as its origin (Fetch: CORS protocol and credentials), so it does not " +
			"work; and where a server answers with the origin that asked instead, the pages of every site can read what " +
			"its visitors see when they are logged in. The platform's document does not say which of the two it does " +
			"(docs/platform.md 2.2).",
		Fix: `Name the origins that need credentials, or write allowCredentials: "false".`,
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /api/*
      cors:
        enabled: "true"
        allowOrigins: "*"
        allowCredentials: "true"
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /api/*
      cors:
        enabled: "true"
        allowOrigins: "https://www.example.com"
        allowCredentials: "true"
`,
		object: only(cdn, checkCORSCredentials),
	}
}

func checkCORSCredentials(s *subject) {
	for at, location := range elements(s.Tree, "spec", "locations") {
		cors := mapping(location, "cors")
		enabled, _ := text(cors, "enabled")
		credentials, _ := text(cors, "allowCredentials")
		origins, _ := text(cors, "allowOrigins")
		if enabled == "false" || credentials != "true" || !everyOrigin(origins) {
			continue
		}
		path, _ := text(location, "path")
		s.report(child(child(at, "cors"), "allowOrigins"),
			fmt.Sprintf("%s allows credentials to pages of every origin", path),
			`name the origins that need credentials, or write allowCredentials: "false"`)
	}
}

// everyOrigin reports whether one of the origins in a text means all.
func everyOrigin(origins string) bool {
	for _, origin := range strings.FieldsFunc(origins, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		switch origin {
		case "*", "http://*", "https://*":
			return true
		}
	}
	return false
}
