package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// unpurged advises on cached copies that the patch outdates and no waiting request covers.
func (a *adviser) unpurged(o *manifest.Object, it *Item) diag.List {
	patch := it.BodySpec()
	_, locations := patch["locations"]
	if _, upstreams := patch["upstreams"]; it.Request != nil && !locations && !upstreams {
		return nil
	}
	before := canon.MustDecode(a.in.Live.Objects[it.Key].Spec)
	r := rerouting{
		object: o, was: newRouteIndex(manifest.RoutesOf(before)), purged: purged(a.waiting[kind.HostKey(o.Host)], o.Host),
		git:  sync.OnceValue(func() routeIndex { return newRouteIndex(routesOf(o.Spec)) }),
		kept: map[string][]manifest.Location{},
	}
	var is manifest.Routes
	if it.Request == nil {
		is = routesOf(o.Spec)
	} else {
		is = manifest.RoutesOf(effect.Apply(patch, before))
	}
	return append(r.locations(is.Locations), r.upstreams(is)...)
}

// rerouting is how a patch changes the way in which paths are served.
type rerouting struct {
	object *manifest.Object
	// was has the live routes. Only git's have places in the manifest.
	was routeIndex
	git func() routeIndex
	// purged reports whether a request invalidates all that a location serves.
	purged func(manifest.Location) bool
	// kept are the locations whose cached copies stay, by their upstream.
	kept map[string][]manifest.Location
}

// missing is the finding at a field.
func (r rerouting) missing(field, what, stay string, of []manifest.Location) diag.Finding {
	message := fmt.Sprintf("%s: copies cached now stay %s, and this plan does not purge them", what, stay)
	return advice(r.object, manifest.RulePurgeMissing, field, message, r.fix(of))
}

// untilExpired is how long cached copies stay if no TTL is known.
const untilExpired = "until they expire"

// stay returns how long copies stay that were cached under these settings.
func stay(handling map[string]string) string {
	if text, ok := kind.TimeText(handling[edgeTTL], handling[ttlUnit]); ok {
		return "up to " + text
	}
	return untilExpired
}

// The settings of a location that say how long copies stay.
const edgeTTL, ttlUnit = "cache.edgeTTL", "cache.ttlTimeUnit"

// longer reports whether only the TTL changes, and copies cached before expire no later than new ones.
func longer(was, is map[string]string, changed []string) bool {
	if slices.ContainsFunc(changed, func(field string) bool { return field != edgeTTL && field != ttlUnit }) {
		return false
	}
	before, after := was[ttlUnit], is[ttlUnit]
	if before == after { // whatever it is
		before, after = "second", "second"
	}
	old, known := kind.Duration(was[edgeTTL], before)
	now, plain := kind.Duration(is[edgeTTL], after)
	return known && plain && old <= now
}

// locations advises on locations that handle requests in another way, and collects the others.
func (r rerouting) locations(is []manifest.Location) (found diag.List) {
	for _, l := range is {
		was, ok := r.was.location(l)
		if !ok {
			continue
		}
		before, after := was.Handling(), l.Handling()
		changed := differing(before, after)
		if before[edgeTTL] == "0" || r.purged(l) {
			continue
		}
		if was.Upstream == l.Upstream {
			r.kept[l.Upstream] = append(r.kept[l.Upstream], l)
		}
		if len(changed) == 0 || longer(before, after, changed) || len(found) == maxPlaced {
			continue
		}
		field := "spec.locations"
		if g, ok := r.git().location(l); ok {
			if field = g.Field; len(changed) == 1 {
				field += "." + changed[0]
			}
		}
		what := fmt.Sprintf("%s of %s changes", strings.Join(changed, ", "), l.Path)
		found = append(found, r.missing(field, what, stay(before), []manifest.Location{l}))
	}
	return found
}

// upstreams advises on upstreams that may answer in another way. Without any known location, each
// serves all paths.
func (r rerouting) upstreams(is manifest.Routes) (found diag.List) {
	all := manifest.Location{Path: allPaths}
	for _, u := range is.Upstreams {
		before, ok := r.was.upstreams[u.Name]
		field, what := replaced(before, u)
		of := r.kept[u.Name]
		if len(is.Locations) == 0 && !r.purged(all) {
			of = []manifest.Location{all}
		}
		if !ok || what == "" || len(of) == 0 || len(found) == maxPlaced {
			continue
		}
		if g, ok := r.git().upstreams[u.Name]; ok {
			field = g.Field + "." + field
		}
		found = append(found, r.missing(field, fmt.Sprintf("upstream %s has %s", u.Name, what), untilExpired, of))
	}
	return found
}

// replaced returns the field of an upstream that changes its answers, and a text for it. Both are
// empty if servers were only added, or only removed.
func replaced(was, is manifest.Upstream) (field, what string) {
	lacks := func(list, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
	}
	switch {
	case was.Scheme != is.Scheme && was.Scheme != "" && is.Scheme != "":
		return "scheme", "another scheme"
	case lacks(was.Servers, is.Servers) && lacks(is.Servers, was.Servers):
		return "servers", "other servers"
	}
	return "", ""
}

// maxNamed bounds how many paths a command has.
const maxNamed = 5

// fix is the command that writes a request of the locations.
func (r rerouting) fix(of []manifest.Location) string {
	hosts, paths := map[string]bool{}, map[string]bool{}
	for _, l := range of {
		host := r.object.Host
		if canName(l.Host, host) && !strings.Contains(l.Host, "*") {
			host = l.Host
		}
		hosts[host], paths[l.Purged()] = true, true
	}
	command := "trueup purge new"
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		command += " --hostname " + ledger.ShellWord(host)
	}
	for _, path := range slices.Sorted(maps.Keys(paths))[:min(maxNamed, len(paths))] {
		command += " " + ledger.ShellWord(path)
	}
	if more := len(paths) - maxNamed; more > 0 {
		command += fmt.Sprintf(", with %d more paths,", more)
	}
	return command + " writes a purge, which apply sends after the change; or wait for the cache to expire"
}

// differing returns the sorted names of the fields whose values differ.
func differing(a, b map[string]string) []string {
	if maps.Equal(a, b) {
		return nil
	}
	return slices.DeleteFunc(keysOfBoth(a, b), func(field string) bool {
		was, had := a[field]
		return had && was == b[field]
	})
}

// routeIndex finds upstreams by their names, and locations by their paths, with and without a host.
type routeIndex struct {
	upstreams map[string]manifest.Upstream
	locations map[[2]string][]manifest.Location
}

func newRouteIndex(r manifest.Routes) routeIndex {
	x := routeIndex{map[string]manifest.Upstream{}, map[[2]string][]manifest.Location{}}
	for _, u := range r.Upstreams {
		x.upstreams[u.Name] = u
	}
	for _, l := range r.Locations {
		for _, key := range [][2]string{{anyHost, l.Path}, {kind.HostKey(l.Host), l.Path}} {
			x.locations[key] = append(x.locations[key], l)
		}
	}
	return x
}

// anyHost is unlike any host.
const anyHost = "/"

// location returns the location of the same path and host. A missing host matches the only location of
// the path (docs/design.md 0.16).
func (x routeIndex) location(l manifest.Location) (manifest.Location, bool) {
	if same := x.locations[[2]string{kind.HostKey(l.Host), l.Path}]; len(same) > 0 {
		return same[len(same)-1], true
	}
	if all := x.locations[[2]string{anyHost, l.Path}]; len(all) == 1 && (l.Host == "" || all[0].Host == "") {
		return all[0], true
	}
	return manifest.Location{}, false
}

// purged returns a function that reports whether a request for the hostname invalidates all that a
// location serves; if none can name its host, any request counts.
func purged(requests []purge.Spec, hostname string) func(manifest.Location) bool {
	hosts, lists, files := make([]map[string]bool, len(requests)), make([][]string, len(requests)), map[string][]int{}
	for i, spec := range requests {
		hosts[i], lists[i] = hostsOf(spec.Hostname, spec.Subdomains), spec.Paths
		for _, path := range spec.Paths {
			if !purge.IsPrefix(path) {
				files[path] = append(files[path], i)
			}
		}
	}
	cover := purge.NewCover(lists...)
	return func(l manifest.Location) bool {
		path, unnamed := l.Purged(), !canName(l.Host, hostname)
		fits := func(i int, _ string) bool { return unnamed || l.HostIn(hosts[i]) }
		_, _, ok := cover.By(path, fits)
		return ok || slices.ContainsFunc(files[path], func(i int) bool { return fits(i, path) })
	}
}

// canName reports whether a purge of the hostname can name the host.
func canName(host, hostname string) bool {
	host, hostname = kind.HostKey(host), kind.HostKey(hostname)
	return host == hostname || strings.HasSuffix(host, "."+hostname)
}
