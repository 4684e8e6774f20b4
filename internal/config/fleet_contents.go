package config

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// ProjectContents is what the manifests of a project have.
type ProjectContents struct {
	Objects int
	Err     error // why trueup can't read the project
	claims  []hostClaim
}

// hostClaim is a host of an object, in the form of kind.HostKey.
type hostClaim struct {
	diag.Finding // about the host, without a rule if a comment silences it
	host, object string
	isLocation   bool // it is the host of a location, and not the hostname
	project      *ProjectFolder
	isTold       bool
}

// ReadContents reads the manifests of all projects, a few projects at once, and keeps only their hosts. Projects with the
// same hostname get an error, and those with another host in common a warning. It returns the contents of the selected projects, in their order.
func (f *Fleet) ReadContents(ctx context.Context, parallelism int) ([]ProjectContents, error) {
	all := make([]ProjectContents, len(f.All))
	diag.InParallelWith(max(parallelism, 1), len(all), func(_ *struct{}, i int) (more bool) {
		all[i] = f.All[i].readContents(ctx)
		return ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	f.compareHosts(all)
	selected := make([]ProjectContents, 0, len(f.Projects))
	for i, p := range f.All {
		if n := len(selected); n < len(f.Projects) && f.Projects[n].Path == p.Path {
			f.Projects[n] = p
			selected = append(selected, all[i])
		}
	}
	return selected, nil
}

func (p ProjectFolder) readContents(ctx context.Context) (c ProjectContents) {
	if p.Err != nil {
		return ProjectContents{Err: p.Err}
	}
	sources, err := p.Settings.OpenSources(p.Dir, nil, nil)
	if err != nil {
		return ProjectContents{Err: p.insideError(err)}
	}
	set, _, err := manifest.Load(ctx, sources, p.Settings.ManifestOptions(1))
	if err != nil {
		return ProjectContents{Err: p.insideError(err)}
	}
	c.Objects = len(set.Objects)
	for _, o := range set.Objects {
		if own := kind.HostKey(o.Host); o.Kind.CanPatch() {
			seen := map[string]bool{"": true}
			c.addClaim(o, own, "spec."+o.Kind.HostField, seen)
			if slices.ContainsFunc(o.LocationHosts(), func(host string) bool { return host != own }) {
				for _, l := range routing.ReadConfig(o.Tree()).Locations {
					seen[l.Host] = seen[l.Host] || strings.Contains(l.Host, "*") // a wildcard may be shared
					c.addClaim(o, l.Host, l.FieldPath()+".host", seen)
				}
			}
		}
	}
	return c
}

// addClaim adds a host that was not seen before. A part of the object's text would keep all of it.
func (c *ProjectContents) addClaim(o *manifest.Object, host, field string, seen map[string]bool) {
	if seen[host] {
		return
	}
	seen[host] = true
	f := diag.Finding{Path: o.Path, Field: field, Rule: rules.HostnameTaken, Severity: diag.Warning, Fix: rules.FixSharedHost}
	f.Line, f.Column = o.Position(field)
	if shown, _ := o.SplitSilenced(diag.List{f}); len(shown) == 0 {
		f.Rule = ""
	}
	c.claims = append(c.claims, hostClaim{Finding: f, host: strings.Clone(host), object: strings.Clone(o.Key().String()), isLocation: strings.HasSuffix(field, "].host")})
}

// insideError adds the path of the project to an error whose files start in its folder.
func (p ProjectFolder) insideError(err error) error {
	return diag.WithExit(diag.ExitOf(err), fmt.Errorf("%s: %w", p.Path, err))
}

// compareHosts gives an error to projects that have the same hostname, and a warning to those with a location for a host of
// another.
func (f *Fleet) compareHosts(all []ProjectContents) {
	first := map[string]*hostClaim{}
	for _, locations := range []bool{false, true} {
		for i := range all {
			for j := range all[i].claims {
				c := &all[i].claims[j]
				c.project = &f.All[i]
				switch by := first[c.host]; {
				case c.isLocation != locations:
				case by == nil:
					first[c.host] = c
				case by.project == c.project:
				case locations:
					c.addWarning(by)
					by.addWarning(c)
				default:
					addConflict(c.project, c.placeOf(), by.project, by.placeOf(), "the hostname "+c.host, "keep it in one project")
				}
			}
		}
	}
}

// addWarning adds a warning to the project unless it has one about the claim.
func (c *hostClaim) addWarning(other *hostClaim) {
	if c.Rule != "" && !c.isTold {
		c.isTold = true
		c.Message = rules.SharedHostMessage(fmt.Sprintf("%s in %s", other.object, other.placeOf()), c.host)
		c.project.Warnings = append(c.project.Warnings, c.Finding)
	}
}

func (c *hostClaim) placeOf() string {
	return fmt.Sprintf("%s:%d", path.Join(c.project.Path, c.Path), c.Line)
}
