package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/purge"
)

// unpurged advises on what the edges hold and would be made otherwise once the
// patch is done, where no request that waits covers it.
func (a *adviser) unpurged(o *manifest.Object, it *Item) diag.List {
	git := routesOf(o.Spec)
	r := rerouting{
		object: o, was: routesOf(a.before(it.Key)), is: git, git: git, flushed: newFlushed(a.waiting[kind.HostKey(o.Host)]),
	}
	if it.Request != nil {
		body, _ := canon.MustDecode(it.Request.Body).(map[string]any)
		r.is = manifest.RoutesOf(merge.Apply(body["spec"], canon.MustDecode(a.before(it.Key))))
	}
	return append(r.locations(), r.upstreams()...)
}

// rerouting is how a patch changes the way in which paths are served.
type rerouting struct {
	object *manifest.Object
	// was and is are what live has before and after, git what the manifest says,
	// which alone has places.
	was, is, git manifest.Routes
	flushed      flushed
}

// locations advises on locations that are handled otherwise.
func (r rerouting) locations() diag.List {
	var found diag.List
	old, git := byPath(r.was.Locations), byPath(r.git.Locations)
	for _, l := range r.is.Locations {
		before, ok := old.find(l)
		changed := differing(before.Handling(), l.Handling())
		if !ok || len(changed) == 0 || !held(before) || r.flushed.has(l) || len(found) == maxPlaced {
			continue
		}
		field := "spec.locations"
		if g, ok := git.find(l); ok {
			if field = g.Field; len(changed) == 1 {
				field += "." + changed[0]
			}
		}
		found = append(found, advice(r.object, manifest.RulePurgeMissing, field,
			fmt.Sprintf("%s of %s changes, and no purge of this plan covers what the edges hold of it", strings.Join(changed, ", "), l.Path),
			r.fix([]string{l.Purged()})))
	}
	return found
}

// upstreams advises on upstreams whose answers may be others.
func (r rerouting) upstreams() diag.List {
	old, git := byName(r.was.Upstreams), byName(r.git.Upstreams)
	paths := r.unflushed()
	var found diag.List
	for _, u := range r.is.Upstreams {
		before, ok := old[u.Name]
		field, what := replaced(before, u)
		of := paths[u.Name]
		if len(r.is.Locations) == 0 {
			of = paths[""]
		}
		if !ok || what == "" || len(of) == 0 || len(found) == maxPlaced {
			continue
		}
		if g, ok := git[u.Name]; ok {
			field = g.Field + "." + field
		}
		found = append(found, advice(r.object, manifest.RulePurgeMissing, field,
			fmt.Sprintf("upstream %s has %s, and no purge of this plan covers what the edges hold of it", u.Name, what),
			r.fix(slices.Compact(slices.Sorted(slices.Values(of))))))
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

// replaced says what of an upstream is another now, and in which field; "" where
// its answers are likely to be the same: a server more or less makes no other.
func replaced(was, is manifest.Upstream) (field, what string) {
	if was.Scheme != is.Scheme && was.Scheme != "" && is.Scheme != "" {
		return "scheme", "another scheme"
	}
	if lacks(was.Servers, is.Servers) && lacks(is.Servers, was.Servers) {
		return "servers", "other servers"
	}
	return "", ""
}

// lacks tells whether the first list has not all of the second.
func lacks(list, of []string) bool {
	has := make(map[string]bool, len(list))
	for _, s := range list {
		has[s] = true
	}
	return slices.ContainsFunc(of, func(s string) bool { return !has[s] })
}

// unflushed are the paths of each upstream, before and after, that no request
// covers. Where no location is known they are all paths, of "".
func (r rerouting) unflushed() map[string][]string {
	paths := map[string][]string{}
	if len(r.is.Locations) == 0 {
		if all := (manifest.Location{Path: "/*"}); !r.flushed.has(all) {
			paths[""] = []string{all.Path}
		}
		return paths
	}
	old := byPath(r.was.Locations)
	for _, l := range r.is.Locations {
		before, ok := old.find(l)
		if ok && before.Upstream == l.Upstream && held(before) && !r.flushed.has(l) {
			paths[l.Upstream] = append(paths[l.Upstream], l.Purged())
		}
	}
	return paths
}

func (r rerouting) fix(paths []string) string {
	noun := "path"
	if len(paths) > 1 {
		noun = "paths"
	}
	return fmt.Sprintf("add a purge of %s with the %s %s, or let what is held end by itself", r.object.Host, noun, manifest.Some(paths))
}

// held tells whether the edges keep anything of the location.
func held(l manifest.Location) bool { return l.Handling()["cache.edgeTTL"] != "0" }

// differing are the fields that are not the same, in the order of their names.
func differing(a, b map[string]string) []string {
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(a)) {
		if a[field] != b[field] {
			fields = append(fields, field)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(b)) {
		if _, both := a[field]; !both {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields
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

// find returns the location of the same path and host. A host that is missing
// on one side is the other's, where that has one location of the path (design
// 0.16).
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
		f.hosts, lists[i] = append(f.hosts, purgedHosts(spec)), spec.Paths
		for _, path := range spec.Paths {
			if purge.FormOf(path) == purge.Absolute {
				f.files[path] = append(f.files[path], i)
			}
		}
	}
	f.cover = purge.NewCover(lists...)
	return f
}

// has tells whether one of the requests invalidates all that a location serves;
// of a host that none can name, whichever is for the hostname.
func (f flushed) has(l manifest.Location) bool {
	path := l.Purged()
	fits := func(i int, _ string) bool { return l.HostIn(f.hosts[i]) || !canName(l.Host, f.requests[i].Hostname) }
	if slices.ContainsFunc(f.files[path], func(i int) bool { return fits(i, path) }) {
		return true
	}
	_, _, ok := f.cover.By(path, fits)
	return ok
}

// canName tells whether a purge of the hostname can name the host.
func canName(host, hostname string) bool {
	host, hostname = kind.HostKey(host), kind.HostKey(hostname)
	return host == hostname || strings.HasSuffix(host, "."+hostname)
}
