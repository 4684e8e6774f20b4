package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/purge"
)

func purgeLimitsSet() Rule {
	return Rule{
		Name:     "purge-limits-set",
		Severity: diag.Warning,
		Summary: "The purges of one hostname in these manifests have more paths together than may be active at a " +
			"time.",
		Why: "The active purges of one hostname may be 100 requests with 20000 absolute and 1000 prefix " +
			"paths, taken together (docs/platform.md 8). A purge is active for about 24 hours, and manifests of " +
			"purges that were posted long ago may stay in git, so this is no error: only those that are " +
			"active count.",
		Fix:  "Remove manifests of purges that were posted. What there is no room for is deferred: apply sends it when it fits.",
		Bad:  manyPrefixes("rel-42", 0, 600) + "---\n" + manyPrefixes("rel-43", 600, 1200),
		Good: manyPrefixes("rel-42", 0, 600) + "---\n" + manyPrefixes("rel-43", 600, 1000),
		set:  checkPurgeLimitsSet,
	}
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
		r.reportOn(over[host], "spec.paths", fmt.Sprintf("the purges of %s have together %s",
			host, strings.Join(total[host].Exceeds(limits), " and ")), "remove those that were posted; what there is no room for is deferred")
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
