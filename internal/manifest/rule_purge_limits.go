package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/purge"
)

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

// checkPurgeLimitsSet reports at the purge with which a hostname passes its
// limits first. One that is too large alone is purge-limits' to report.
func checkPurgeLimitsSet(set *Set, r *reporter) {
	limits := purge.Limits()
	total := map[string]purge.Usage{}
	over := map[string]*Object{}
	var hosts []string
	for _, o := range set.Objects {
		if o.Kind.Name != purging || o.Host == "" {
			continue
		}
		usage, ok := usageOf(o)
		if !ok || usage.Exceeds(limits) != nil {
			continue
		}
		host := kind.HostKey(o.Host)
		total[host] = total[host].Add(usage)
		if over[host] == nil && total[host].Exceeds(limits) != nil {
			over[host], hosts = o, append(hosts, host)
		}
	}
	for _, host := range hosts {
		r.reportOn(over[host], "spec.paths", fmt.Sprintf("the purges of %s have in total %s",
			host, strings.Join(total[host].Exceeds(limits), " and ")), "remove those that were posted; apply defers what does not fit")
	}
}

func usageOf(o *Object) (purge.Usage, bool) {
	tree, err := canon.Decode(o.Spec)
	if err != nil {
		return purge.Usage{}, false
	}
	m, _ := tree.(map[string]any)
	spec, err := purge.Parse(m)
	return spec.Usage(), err == nil
}
