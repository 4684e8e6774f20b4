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

// adviseOnUnpurged advises on classes of requests whose cached copies a patch outdates, and no waiting request covers.
func (a *adviser) adviseOnUnpurged(it *Item, o *manifest.Object, waiting map[string][]*manifest.Object, classes []outdatedClasses) (found diag.List) {
	covers := map[string]func(path, host string) bool{}
	isCovered := func(c requestClass) bool {
		hostname, isNamed := a.purgeHostname(c.host)
		host := c.host
		if !isNamed {
			hostname, host = kind.HostKey(o.Host), ""
		}
		if covers[hostname] == nil {
			covers[hostname] = invalidates(diag.MapList(waiting[hostname], func(o *manifest.Object) purge.Spec { return parseSpec(o.Spec) }))
		}
		return covers[hostname](c.purgePath(), host)
	}
	fields := sync.OnceValue(func() map[[2]string]string { // few plans need it
		all := map[[2]string]string{}
		for _, l := range slices.Backward(routing.ReadConfig(o.Tree()).Locations) {
			all[[2]string{l.Host, l.Path}] = l.FieldPath()
		}
		return all
	})
	var all []outdatedClasses
	index := map[string]int{}
	for _, out := range classes {
		if isCovered(out.classes[0]) {
			continue
		}
		if out.field = fields()[out.location]; out.field == "" || !it.ChangesField(out.field) {
			out.field = "spec." + locations
		}
		id := fmt.Sprintf("%s %v %t", out.field, out.facets, out.sure)
		i, known := index[id]
		if !known && len(all) == maxPlaced {
			break
		}
		if !known {
			index[id], all = len(all), append(all, out)
			continue
		}
		all[i].classes, all[i].stay = append(all[i].classes, out.classes[0]), max(all[i].stay, out.stay)
	}
	for _, out := range all {
		found = append(found, newAdvice(o, rules.PurgeMissing, out.field, out.adviceMessage(kind.HostKey(o.Host)), a.purgeFix(out.classes)))
	}
	return found
}

// requestClass has what people read of a routing.RequestClass.
type requestClass struct {
	host, pattern string
	except        []string
}

// outdatedClasses are classes of requests whose cached copies are stale in the same way.
type outdatedClasses struct {
	classes []requestClass
	objects []kind.Key // whose change does it
	// location has the host and the path of the first location after which copies are stale. sure means that they
	// are so under all precedences.
	location [2]string
	sure     bool
	facets   []routing.Facet
	// stay is how long copies stay at most.
	stay  time.Duration
	field string
}

// newOutdated returns what a class has; ok is false if no cached copy is stale.
func newOutdated(c routing.RequestClass) (out outdatedClasses, ok bool) {
	out = outdatedClasses{classes: []requestClass{{c.Host, c.Pattern, c.Except}}, objects: c.Objects, sure: true}
	for r := range c.Before {
		facets := routing.StaleFacets(c.Before[r].Location, c.After[r].Location)
		if len(facets) == 0 {
			out.sure = false
			continue
		}
		if l := c.After[r].Location; !ok {
			out.location, out.facets, ok = [2]string{l.Host, l.Path}, facets, true
		}
		if ttl := c.Before[r].Behaviour[routing.EdgeTTL]; !ttl.Known {
			out.stay = math.MaxInt64
		} else {
			out.stay = max(out.stay, ttl.Time)
		}
	}
	return out, ok
}

func (out outdatedClasses) adviceMessage(hostname string) string {
	const format = "%s of %s changes: copies cached now stay %s, and this plan does not purge them"
	classes := diag.MapList(out.classes, func(c requestClass) string {
		name := c.host + c.pattern
		if c.host == hostname {
			name = c.pattern
		}
		if len(c.except) > 0 {
			name += " (except " + diag.JoinFirst(c.except, maxNamed) + ")"
		}
		return name
	})
	stay := "until they expire"
	if out.stay < math.MaxInt64 {
		stay = "up to " + kind.FormatDuration(out.stay)
	}
	text := fmt.Sprintf(format, strings.Join(diag.MapList(out.facets, routing.Facet.String), ", "), diag.JoinFirst(classes, maxNamed), stay)
	if !out.sure {
		text = "depending on the location that the platform selects, " + text
	}
	return text
}

// maxNamed bounds how many paths a command, or a sentence, has.
const maxNamed = 5

// purgeFix returns how to purge classes of requests, and no others.
func (a *adviser) purgeFix(classes []requestClass) string {
	var addresses, fixes []string
	hosts, unnamed := map[string]bool{}, map[string]bool{}
	for _, c := range classes {
		switch _, isNamed := a.purgeHostname(c.host); {
		case strings.Contains(c.host, "*"):
			fixes = append(fixes, fmt.Sprintf("purge each host of %s that clients use", c.host))
		case !isNamed:
			unnamed[c.host] = true
		default:
			hosts[c.host], addresses = true, append(addresses, c.host+c.purgePath())
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

// purgePath returns the path of a purge that covers the class.
func (c requestClass) purgePath() string {
	if c.pattern == "*" {
		return allPaths
	}
	return c.pattern
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
