package manifest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"trueup/internal/diag"
)

func hostnameOdd() Rule {
	return Rule{
		Name:     "hostname-odd",
		Severity: diag.Warning,
		Summary:  "A hostname is not one of RFC 1123.",
		Why: "The platform's document says no more than that spec.hostname is a domain (platform-api 2.2). " +
			"Names in DNS are labels of at most 63 letters, digits and hyphens with dots between, 253 in " +
			"all; others are likely to be refused, or to answer to nobody. A name in capitals or with a dot " +
			"at its end may come back in another form.",
		Fix: "Write lower-case letters, digits and hyphens, and names of other scripts in their xn-- form.",
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
	if s.Host == "" || hostnameProblem(s.Host) != "" {
		return
	}
	odd := hostnameOddities(s.Host)
	if !strings.Contains(s.Host, ".") {
		odd = append(odd, "only one label")
	}
	if len(odd) > 0 {
		s.report(child("spec", s.Kind.HostField), fmt.Sprintf("the hostname %q has %s", s.Host, strings.Join(odd, " and ")),
			"write a domain of lower-case letters, digits and hyphens")
	}
}

// hostnameOddities names what RFC 1123 does not have in a name, and capitals.
func hostnameOddities(host string) []string {
	var odd []string
	if len(host) > 253 {
		odd = append(odd, "more than 253 characters")
	}
	add := func(what string) {
		if !slices.Contains(odd, what) {
			odd = append(odd, what)
		}
	}
	for label := range strings.SplitSeq(host, ".") {
		switch {
		case label == "":
			add("an empty label")
		case len(label) > 63:
			add("a label of more than 63 characters")
		case strings.Trim(label, "-") != label:
			add("a hyphen at the end of a label")
		}
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
		odd = append(odd, "capitals")
	}
	if i := strings.IndexFunc(host, notOfHostname); i >= 0 {
		r, _ := utf8.DecodeRuneInString(host[i:])
		odd = append(odd, fmt.Sprintf("the character %q", r))
	}
	return odd
}

func notOfHostname(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
		return false
	}
	return true
}
