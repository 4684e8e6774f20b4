package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/kind"
)

func checkHostnameShape(s *subject) {
	for h := range s.hosts() {
		if problem, fix := h.problem(); problem != "" {
			s.report(h.at, fmt.Sprintf("the %s %q %s", h.noun, h.text, problem), fix)
		}
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

func checkHostnameTaken(set *Set, r *reporter) {
	first := map[string]*Object{}
	for _, o := range set.Objects {
		if o.Kind.Name != cdn || o.Host == "" {
			continue
		}
		host := kind.HostKey(o.Host)
		before, taken := first[host]
		if !taken {
			first[host] = o
			continue
		}
		line, _ := before.Place("spec.hostname")
		r.reportOn(o, "spec.hostname",
			fmt.Sprintf("%[2]s has the hostname %[1]s too (%[3]s:%[4]d)", o.Host, before.Key(), before.Path, line),
			"give one of them another hostname")
	}
}
