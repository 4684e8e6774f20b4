package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/purge"
)

func purgeLimits() Rule {
	return Rule{
		Name:     "purge-limits",
		Severity: diag.Error,
		Summary:  "A purge names more paths than all active purges of its hostname may have together.",
		Why: "The active purges of one hostname may have 20000 absolute and 1000 prefix paths, taken together " +
			"(docs/platform.md 8), so a larger one can never be accepted.",
		Fix: "Split it into as many purges as the finding says and send them a day apart, or replace paths by " +
			"prefix paths: trueup purge new does both.",
		Bad:    manyPrefixes("rel-42", 0, 1001),
		Good:   manyPrefixes("rel-42", 0, 1000),
		object: only(purging, checkPurgeLimits),
	}
}

func checkPurgeLimits(s *subject) {
	spec, err := purge.Parse(s.Tree)
	if err != nil {
		return // a type that the schema reports
	}
	usage := spec.Usage()
	if over := usage.Exceeds(purge.Limits()); over != nil {
		s.report("spec.paths", "the purge has "+strings.Join(over, " and "),
			fmt.Sprintf("split it into %d purges, a day apart, or use wider prefix paths", usage.Parts(purge.Limits())))
	}
}

// manyPrefixes writes a purge with prefix paths from first to last-1, as an
// example.
func manyPrefixes(name string, first, last int) string {
	b := []byte("apiVersion: delivery/v2.1\nkind: Purge\nmetadata:\n  name: " + name +
		"\nspec:\n  hostname: shop.example.com\n  paths:\n")
	for i := first; i < last; i++ {
		b = fmt.Appendf(b, "    - /product/%d/*\n", i)
	}
	return string(b)
}
