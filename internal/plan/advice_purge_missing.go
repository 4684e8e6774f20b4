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
	r := rerouting{object: o, git: sync.OnceValue(func() manifest.Routes { return routesOf(o.Spec) })}
	var patch map[string]any
	if it.Request != nil {
		body, _ := canon.MustDecode(it.Request.Body).(map[string]any)
		patch, _ = body["spec"].(map[string]any)
		_, locations := patch["locations"]
		if _, upstreams := patch["upstreams"]; !locations && !upstreams {
			return nil
		}
	}
	before := canon.MustDecode(a.before(it.Key))
	r.was, r.flushed = manifest.RoutesOf(before), newFlushed(a.waiting[kind.HostKey(o.Host)])
	r.old = byPath(r.was.Locations)
	if it.Request == nil {
		r.is = r.git()
	} else {
		r.is = manifest.RoutesOf(effect.Apply(patch, before))
	}
	return append(r.locations(), r.upstreams()...)
}

// rerouting is how a patch changes the way in which paths are served.
type rerouting struct {
	object *manifest.Object
	// was and is are what live has before and after. Only git's routes have places in
	// the manifest.
	was, is manifest.Routes
	old     pathIndex
	git     func() manifest.Routes
	flushed flushed
}

// missing is the finding at a field.
func (r rerouting) missing(field, what string, of []manifest.Location) diag.Finding {
	return advice(r.object, manifest.RulePurgeMissing, field,
		what+": cached copies stay until they expire, and this plan does not purge them", r.fix(of))
}

// locations advises on locations that handle requests in another way.
func (r rerouting) locations() diag.List {
	var found diag.List
	git := sync.OnceValue(func() pathIndex { return byPath(r.git().Locations) })
	for _, l := range r.is.Locations {
		before, ok := r.old.find(l)
		if !ok {
			continue
		}
		changed := differing(before.Handling(), l.Handling())
		if len(changed) == 0 || !cached(before) || r.flushed.has(l) || len(found) == maxPlaced {
			continue
		}
		field := "spec.locations"
		if g, ok := git().find(l); ok {
			if field = g.Field; len(changed) == 1 {
				field += "." + changed[0]
			}
		}
		found = append(found, r.missing(field, fmt.Sprintf("%s of %s changes", strings.Join(changed, ", "), l.Path), []manifest.Location{l}))
	}
	return found
}

// upstreams advises on upstreams that may answer in another way.
func (r rerouting) upstreams() diag.List {
	old, git := byName(r.was.Upstreams), sync.OnceValue(func() map[string]manifest.Upstream { return byName(r.git().Upstreams) })
	unflushed := sync.OnceValue(r.unflushed)
	var found diag.List
	for _, u := range r.is.Upstreams {
		before, ok := old[u.Name]
		field, what := replaced(before, u)
		if !ok || what == "" || len(found) == maxPlaced {
			continue
		}
		of := unflushed()[u.Name]
		if len(r.is.Locations) == 0 {
			of = unflushed()[""]
		}
		if len(of) == 0 {
			continue
		}
		if g, ok := git()[u.Name]; ok {
			field = g.Field + "." + field
		}
		found = append(found, r.missing(field, fmt.Sprintf("upstream %s has %s", u.Name, what), of))
	}
	return found
}

func byName(upstreams []manifest.Upstream) map[string]manifest.Upstream {
	m := make(map[string]manifest.Upstream, len(upstreams))
	for _, u := range upstreams {
		m[u.Name] = u
	}
	return m
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

// unflushed returns the locations that each upstream keeps and no request covers; without any known
// location, one of all paths for "".
func (r rerouting) unflushed() map[string][]manifest.Location {
	found := map[string][]manifest.Location{}
	if all := (manifest.Location{Path: allPaths}); len(r.is.Locations) == 0 && !r.flushed.has(all) {
		found[""] = []manifest.Location{all}
	}
	for _, l := range r.is.Locations {
		before, ok := r.old.find(l)
		if ok && before.Upstream == l.Upstream && cached(before) && !r.flushed.has(l) {
			found[l.Upstream] = append(found[l.Upstream], l)
		}
	}
	return found
}

// maxNamed bounds how many paths a command has.
const maxNamed = 5

// fix is the command that writes a request of the locations.
func (r rerouting) fix(of []manifest.Location) string {
	var hosts, paths []string
	for _, l := range of {
		host := r.object.Host
		if canName(l.Host, host) && !strings.Contains(l.Host, "*") {
			host = l.Host
		}
		hosts, paths = append(hosts, host), append(paths, l.Purged())
	}
	hosts, paths = slices.Compact(slices.Sorted(slices.Values(hosts))), slices.Compact(slices.Sorted(slices.Values(paths)))
	command := "trueup purge new"
	for _, host := range hosts {
		command += " --hostname " + ledger.ShellWord(host)
	}
	for _, path := range paths[:min(maxNamed, len(paths))] {
		command += " " + ledger.ShellWord(path)
	}
	if more := len(paths) - maxNamed; more > 0 {
		command += fmt.Sprintf(", with %d more paths,", more)
	}
	return command + " writes a purge, which apply sends after the change; or wait for the cache to expire"
}

// cached reports whether the edges keep anything of the location.
func cached(l manifest.Location) bool { return l.Handling()["cache.edgeTTL"] != "0" }

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

// pathIndex finds locations by their hosts and paths, and by their paths alone.
type pathIndex struct {
	exact map[[2]string]manifest.Location
	paths map[string][]manifest.Location
}

func byPath(locations []manifest.Location) pathIndex {
	x := pathIndex{map[[2]string]manifest.Location{}, map[string][]manifest.Location{}}
	for _, l := range locations {
		x.exact[[2]string{kind.HostKey(l.Host), l.Path}] = l
		x.paths[l.Path] = append(x.paths[l.Path], l)
	}
	return x
}

// find returns the location of the same path and host. A missing host matches the only location of
// the path (docs/design.md 0.16).
func (x pathIndex) find(l manifest.Location) (manifest.Location, bool) {
	if same, ok := x.exact[[2]string{kind.HostKey(l.Host), l.Path}]; ok {
		return same, true
	}
	if all := x.paths[l.Path]; len(all) == 1 && (l.Host == "" || all[0].Host == "") {
		return all[0], true
	}
	return manifest.Location{}, false
}

// flushed is what requests will have invalidated.
type flushed struct {
	requests []purge.Spec
	hosts    []map[string]bool
	cover    purge.Cover
	// files are the requests that name a path without a star.
	files map[string][]int
}

func newFlushed(requests []purge.Spec) flushed {
	f := flushed{requests: requests, files: map[string][]int{}}
	lists := make([][]string, len(requests))
	for i, spec := range requests {
		f.hosts, lists[i] = append(f.hosts, hostsOf(spec.Hostname, spec.Subdomains)), spec.Paths
		for _, path := range spec.Paths {
			if !purge.IsPrefix(path) {
				f.files[path] = append(f.files[path], i)
			}
		}
	}
	f.cover = purge.NewCover(lists...)
	return f
}

// has reports whether a request invalidates all that a location serves; if none can name its host,
// any request for the hostname counts.
func (f flushed) has(l manifest.Location) bool {
	path := l.Purged()
	fits := func(i int, _ string) bool { return l.HostIn(f.hosts[i]) || !canName(l.Host, f.requests[i].Hostname) }
	if slices.ContainsFunc(f.files[path], func(i int) bool { return fits(i, path) }) {
		return true
	}
	_, _, ok := f.cover.By(path, fits)
	return ok
}

// canName reports whether a purge of the hostname can name the host.
func canName(host, hostname string) bool {
	host, hostname = kind.HostKey(host), kind.HostKey(hostname)
	return host == hostname || strings.HasSuffix(host, "."+hostname)
}
