package plan

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// everything advises on a request that invalidates all of a hostname.
func (a *adviser) everything(o *manifest.Object) diag.List {
	spec, err := parseSpec(o.Spec)
	if err != nil {
		return nil // the schema has said so
	}
	by, known := a.servesPaths(spec.Hostname)
	hosts := purgedHosts(spec)
	locations := slices.DeleteFunc(slices.Clone(by.will.Locations), func(l manifest.Location) bool { return !l.HostIn(hosts) })
	at := slices.Index(spec.Paths, "/*")
	if at < 0 {
		at = widest(spec.Paths, locations)
	}
	if at < 0 {
		return nil
	}
	message := fmt.Sprintf("%s invalidates everything cached for %s", spec.Paths[at], manifest.Some(slices.Sorted(maps.Keys(hosts))))
	if known && len(locations) > 0 {
		message += fmt.Sprintf(", which is %s of %s", counted(len(locations), "location"), by.key)
		if servers := by.will.ServersOf(locations); servers > 0 {
			message += " and comes from " + counted(servers, "server")
		}
	}
	return diag.List{advice(o, manifest.RulePurgeEverything, fmt.Sprintf("spec.paths[%d]", at), message,
		"name the paths that changed, or send it when the servers can handle every request")}
}

// widest returns which path has all locations below it, together with other
// prefixes perhaps; -1 where some location is not.
func widest(paths []string, locations []manifest.Location) int {
	cover, at := purge.NewCover(paths), -1
	for _, l := range locations {
		_, by, ok := cover.By(l.Purged(), func(int, string) bool { return true })
		if !ok {
			return -1
		}
		if at < 0 {
			at = slices.Index(paths, by)
		}
	}
	return at
}

// unmatched advises on paths that no location serves, live or in git.
func (a *adviser) unmatched(o *manifest.Object) diag.List {
	spec, err := parseSpec(o.Spec)
	if err != nil {
		return nil
	}
	by, known := a.servesPaths(spec.Hostname)
	reach := a.reach(by, purgedHosts(spec))
	if !known || reach.unknown {
		return nil
	}
	first := slices.IndexFunc(spec.Paths, func(path string) bool { return !reach.has(path) })
	if first < 0 {
		return nil
	}
	outside := slices.DeleteFunc(slices.Clone(spec.Paths[first:]), reach.has)
	return diag.List{advice(o, manifest.RulePurgeUnmatched, fmt.Sprintf("spec.paths[%d]", first),
		fmt.Sprintf("no location of %s serves %s", by.key, manifest.Some(outside)), "correct the path, or add the location")}
}

// reach is what locations serve.
type reach struct {
	cover   purge.Cover
	files   map[string]bool
	stems   []string
	unknown bool
}

func newReach(locations []manifest.Location, hosts map[string]bool) reach {
	r := reach{files: map[string]bool{}, unknown: len(locations) == 0}
	var paths []string
	for _, l := range locations {
		if l.HostIn(hosts) {
			path := l.Purged()
			paths, r.files[path] = append(paths, path), true
			r.stems = append(r.stems, strings.TrimSuffix(path, "*"))
		}
	}
	r.cover = purge.NewCover(paths)
	slices.Sort(r.stems)
	return r
}

// has reports whether a location serves the path, or a part of what is below it.
func (r reach) has(path string) bool {
	if _, _, ok := r.cover.By(path, func(int, string) bool { return true }); ok || r.files[path] {
		return true
	}
	if !purge.IsPrefix(path) {
		return false
	}
	stem := strings.TrimSuffix(path, "*")
	i := sort.SearchStrings(r.stems, stem)
	return i < len(r.stems) && strings.HasPrefix(r.stems[i], stem)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
