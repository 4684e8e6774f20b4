package config

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// usedHost is a host of an object, in the form of kind.HostKey.
type usedHost struct {
	claim
	diag.Finding // about the host, without a rule if a comment silences it or it was given
	host, object string
	isLocation   bool // it is the host of a location, and not the hostname
}

// CompareHosts compares the hosts in the manifests of all projects. Projects with the same
// hostname get an error, and those with another host in common a warning. One that can't be read fails when its turn comes.
func (f *Fleet) CompareHosts(ctx context.Context) error {
	alike := f.findSharedHosts(ctx)
	used := make([][]*usedHost, len(alike))
	diag.InParallel(len(alike), func(i int) { used[i] = alike[i].readHosts(ctx) })
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	first := map[string]*usedHost{}
	for _, locations := range []bool{false, true} {
		for _, h := range slices.Concat(used...) {
			switch by := first[h.host]; {
			case h.isLocation != locations:
			case by == nil:
				first[h.host] = h
			case by.project == h.project:
			case locations:
				h.warnOf(by)
				by.warnOf(h)
			default:
				addConflict(h.claim, by.claim, "the hostname "+h.host, "keep it in one project")
			}
		}
	}
	return nil
}

// findSharedHosts returns the projects that seem to have a host that another has, or that can't be read. To load all projects
// takes too long.
func (f *Fleet) findSharedHosts(ctx context.Context) []*ProjectFolder {
	hosts, unread := make([]map[string]bool, len(f.All)), make([]error, len(f.All))
	diag.InParallelWith(runtime.GOMAXPROCS(0), len(hosts), func(r *manifest.HostReader, i int) (more bool) {
		unread[i] = f.All[i].withSources(func(sources []manifest.PathSource) (err error) {
			hosts[i], err = r.ReadHosts(sources)
			return err
		})
		return ctx.Err() == nil
	})
	projects := map[string]int{}
	for _, found := range hosts {
		for host := range found {
			projects[host]++
		}
	}
	var shared []*ProjectFolder
	for i, p := range f.All {
		isShared := func(host string) bool { return projects[host] > 1 }
		if unread[i] != nil || slices.ContainsFunc(slices.Collect(maps.Keys(hosts[i])), isShared) {
			shared = append(shared, p)
		}
	}
	return shared
}

// withSources calls read with the project's manifests, which it opens and closes: there may be thousands of projects.
func (p *ProjectFolder) withSources(read func([]manifest.PathSource) error) error {
	if p.Err != nil {
		return p.Err
	}
	sources, err := Options{Env: Env{Cwd: p.Settings.Dir}}.OpenSources(p.Settings, nil)
	if err == nil {
		err = read(sources)
	}
	for _, s := range sources {
		if root := files.RootOf(s.FS); root != nil {
			_ = root.Close()
		}
	}
	return err
}

// readHosts returns the hosts of a project's manifests, or none if they can't be read.
func (p *ProjectFolder) readHosts(ctx context.Context) (used []*usedHost) {
	set := &manifest.Set{}
	_ = p.withSources(func(sources []manifest.PathSource) error { // the run in the project says what is wrong
		all, _, err := manifest.Load(ctx, sources, p.Settings.ManifestOptions(1))
		set = cmp.Or(all, set)
		return err
	})
	for _, o := range set.Objects {
		if own := kind.HostKey(o.Host); o.Kind.CanPatch() {
			seen := map[string]bool{"": true}
			used = p.addHost(used, o, own, "spec."+o.Kind.HostField, seen)
			if slices.ContainsFunc(o.LocationHosts(), func(host string) bool { return host != own }) {
				for _, l := range routing.ReadConfig(o.Tree()).Locations {
					seen[l.Host] = seen[l.Host] || strings.Contains(l.Host, "*") // a wildcard may be shared
					used = p.addHost(used, o, l.Host, l.FieldPath()+".host", seen)
				}
			}
		}
	}
	return used
}

// addHost adds a host of an object that was not seen before. A part of the object's text would keep all of it.
func (p *ProjectFolder) addHost(used []*usedHost, o *manifest.Object, host, field string, seen map[string]bool) []*usedHost {
	if seen[host] {
		return used
	}
	seen[host] = true
	f := diag.Finding{Path: o.Path, Field: field, Rule: rules.HostnameTaken, Severity: diag.Warning, Fix: rules.FixSharedHost}
	f.Line, f.Column = o.Position(field)
	if shown, _ := o.SplitSilenced(diag.List{f}); len(shown) == 0 {
		f.Rule = ""
	}
	return append(used, &usedHost{
		claim: claim{p, fmt.Sprintf("%s:%d", path.Join(p.Path, f.Path), f.Line)}, Finding: f,
		host: strings.Clone(host), object: strings.Clone(o.Key().String()), isLocation: strings.HasSuffix(field, "].host"),
	})
}

// warnOf adds a warning to the project unless it has one about the host.
func (h *usedHost) warnOf(other *usedHost) {
	if h.Rule != "" {
		h.Message = rules.SharedHostMessage(fmt.Sprintf("%s in %s", other.object, other.place), h.host)
		h.project.Warnings = append(h.project.Warnings, h.Finding)
		h.Rule = ""
	}
}
