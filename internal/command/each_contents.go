package command

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/parallel"
)

// Contents is what the manifests of a project have.
type Contents struct {
	Objects int
	Err     error             // why trueup can't read the project
	hosts   map[string]string // the places of hostnames, in the form of kind.HostKey
}

// ReadContents reads the manifests of all projects, a few projects at once, and keeps only their hostnames. Projects
// with the same one get an error. It returns the contents of the selected projects, in their order.
func (f *Fleet) ReadContents(ctx context.Context, parallelism int) ([]Contents, error) {
	all := make([]Contents, len(f.All))
	parallel.EachWith(max(parallelism, 1), len(all), func(_ *struct{}, i int) (more bool) {
		all[i] = f.All[i].readContents(ctx)
		return ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	f.compareHosts(all)
	selected := make([]Contents, 0, len(f.Projects))
	for i, p := range f.All {
		if n := len(selected); n < len(f.Projects) && f.Projects[n].Path == p.Path {
			f.Projects[n] = p
			selected = append(selected, all[i])
		}
	}
	return selected, nil
}

func (p ProjectFolder) readContents(ctx context.Context) (c Contents) {
	if p.Err != nil {
		return Contents{Err: p.Err}
	}
	sources, err := p.Settings.OpenSources(p.Dir, nil, nil)
	if err != nil {
		return Contents{Err: p.insideError(err)}
	}
	set, _, err := manifest.Load(ctx, sources, p.Settings.ManifestOptions(1))
	if err != nil {
		return Contents{Err: p.insideError(err)}
	}
	c.Objects, c.hosts = len(set.Objects), map[string]string{}
	for _, o := range set.Objects {
		if host := kind.HostKey(o.Host); o.Kind.CanPatch() && host != "" && c.hosts[host] == "" {
			line, _ := o.Place("spec." + o.Kind.HostField)
			c.hosts[strings.Clone(host)] = fmt.Sprintf("%s:%d", path.Join(p.Path, o.Path), line)
		}
	}
	return c
}

// insideError adds the path of the project to an error whose files start in its folder.
func (p ProjectFolder) insideError(err error) error {
	return exit.WithCode(exit.Of(err), fmt.Errorf("%s: %w", p.Path, err))
}

// compareHosts gives an error to projects that have the same hostname.
func (f *Fleet) compareHosts(all []Contents) {
	first := map[string]int{}
	for i := range all {
		for _, host := range slices.Sorted(maps.Keys(all[i].hosts)) {
			if by, ok := first[host]; ok {
				addClash(&f.All[i], all[i].hosts[host], &f.All[by], all[by].hosts[host], "the hostname "+host, "keep it in one project")
			} else {
				first[host] = i
			}
		}
	}
}
