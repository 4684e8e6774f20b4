package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/purge"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// adviseOnUnpurged advises on cached copies that a patch outdates, and that no waiting request purges.
func (a *adviser) adviseOnUnpurged(it *Item, o *manifest.Object, waiting map[string][]*manifest.Object, outdated []routing.OutdatedCopies) (found diag.List) {
	covers := map[string]func(path, host string) bool{}
	isCovered := func(c routing.OutdatedCopies) bool {
		hostname, isNamed := a.purgeHostname(c.Host)
		host := c.Host
		if !isNamed {
			hostname, host = kind.HostKey(o.Host), ""
		}
		if covers[hostname] == nil {
			covers[hostname] = invalidates(diag.MapList(waiting[hostname], func(o *manifest.Object) purge.Spec { return parseSpec(o.Spec) }))
		}
		return covers[hostname](c.Pattern, host)
	}
	fields := sync.OnceValue(func() map[[2]string]string { // few plans need it
		all := map[[2]string]string{}
		for _, l := range slices.Backward(routing.ReadConfig(o.Tree()).Locations) {
			all[[2]string{l.Host, l.Path}] = l.FieldPath()
		}
		return all
	})
	var all []outdatedByField
	index := map[string]int{}
	for _, copies := range outdated {
		if isCovered(copies) {
			continue
		}
		field := fields()[copies.Location]
		if field == "" || !it.ChangesField(field) {
			field = "spec." + locations
		}
		id := fmt.Sprintf("%s %v %t", field, copies.Facets, copies.IsCertain)
		i, known := index[id]
		if !known && len(all) == maxPlaced {
			break
		}
		if !known {
			i = len(all)
			index[id], all = i, append(all, outdatedByField{field: field})
		}
		all[i].copies = append(all[i].copies, copies)
	}
	for _, out := range all {
		found = append(found, newAdvice(o, rules.PurgeMissing, out.field, out.adviceMessage(kind.HostKey(o.Host)), a.purgeFix(out.copies)))
	}
	return found
}

// outdatedByField are copies that a field of a manifest outdates: the same facets of each, and all with the same certainty.
type outdatedByField struct {
	field  string
	copies []routing.OutdatedCopies
}

func (out outdatedByField) adviceMessage(hostname string) string {
	const format = "%s of %s changes: copies cached now stay %s, and this plan does not purge them"
	var longest time.Duration
	requests := diag.MapList(out.copies, func(c routing.OutdatedCopies) string {
		longest = max(longest, c.Stay)
		name := c.Host + c.Pattern
		if c.Host == hostname {
			name = c.Pattern
		}
		if len(c.Except) > 0 {
			name += " (except " + diag.JoinFirst(c.Except, maxNamed) + ")"
		}
		return name
	})
	stay := "until they expire"
	if longest < math.MaxInt64 {
		stay = "up to " + kind.FormatDuration(longest)
	}
	facets := strings.Join(diag.MapList(out.copies[0].Facets, routing.Facet.String), ", ")
	text := fmt.Sprintf(format, facets, diag.JoinFirst(requests, maxNamed), stay)
	if !out.copies[0].IsCertain {
		text = "depending on the location that the platform selects, " + text
	}
	return text
}

// maxNamed bounds how many paths a command, or a sentence, has.
const maxNamed = 5

// purgeFix returns how to purge copies, and no others.
func (a *adviser) purgeFix(copies []routing.OutdatedCopies) string {
	var addresses, fixes []string
	hosts, unnamed := map[string]bool{}, map[string]bool{}
	for _, c := range copies {
		switch _, isNamed := a.purgeHostname(c.Host); {
		case strings.Contains(c.Host, "*"):
			fixes = append(fixes, fmt.Sprintf("purge each host of %s that clients use", c.Host))
		case !isNamed:
			unnamed[c.Host] = true
		default:
			hosts[c.Host], addresses = true, append(addresses, c.Host+c.Pattern)
		}
	}
	wait := "; or wait for the cache to expire"
	if len(unnamed) > 0 {
		if len(fixes)+len(addresses) == 0 {
			wait = "; wait for the cache to expire"
		}
		fixes = append(fixes, "no purge can name "+diag.JoinFirst(slices.Sorted(maps.Keys(unnamed)), maxNamed)+", because it is not below the hostname of a CDN")
	}
	if len(addresses) > 0 {
		fixes = append(fixes, purgeCommand(addresses, slices.Collect(maps.Keys(hosts)))+" writes a purge, which apply sends after the change")
	}
	slices.Sort(fixes)
	return strings.Join(slices.Compact(fixes), "; ") + wait
}

// purgeCommand returns the command that writes a purge of addresses without a scheme.
func purgeCommand(addresses, hosts []string) string {
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	command, start, without := "trueup new purge", "https://", ""
	if len(hosts) == 1 {
		command, start, without = command+" --hostname "+ledger.ShellQuote(hosts[0]), "", hosts[0]
	}
	for _, address := range addresses[:min(maxNamed, len(addresses))] {
		command += " " + ledger.ShellQuote(start+strings.TrimPrefix(address, without))
	}
	if more := len(addresses) - maxNamed; more > 0 {
		command += fmt.Sprintf(", with %d more paths,", more)
	}
	return command
}

// purgeHostname returns the hostname by which a purge names a host; ok is false for a wildcard, and if no CDN in git has one.
func (a *adviser) purgeHostname(host string) (hostname string, ok bool) {
	hostname, _, ok = a.hostnames().FindHostname(host)
	return hostname, ok && !strings.Contains(host, "*")
}

// invalidates returns a function that reports whether a request invalidates a path of a host, or of any if it is "".
func invalidates(requests []purge.Spec) func(path, host string) bool {
	hosts, lists, files := make([]map[string]bool, len(requests)), make([][]string, len(requests)), map[string][]int{}
	for i, spec := range requests {
		hosts[i], lists[i] = hostsOf(spec.Hostname, spec.Subdomains), spec.Paths
		for _, path := range spec.Paths {
			if !purge.IsPrefix(path) {
				files[path] = append(files[path], i)
			}
		}
	}
	cover := purge.NewPrefixIndex(lists...)
	return func(path, host string) bool {
		fits := func(i int) bool { return host == "" || hosts[i][host] }
		_, ok := cover.CoveredBy(path, fits)
		return ok || slices.ContainsFunc(files[path], fits)
	}
}
