package fleet

import (
	"context"
	"fmt"
	"path"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/parallel"
)

// Contents is what the manifests of a project have.
type Contents struct {
	Objects int
	Err     error // why trueup can't read the project
	claims  []claim
}

// claim is a hostname of an object, in the form of kind.HostKey.
type claim struct{ host, place string }

// ReadContents reads the manifests of all projects, a few projects at once, and keeps only their hostnames. Projects with the
// same hostname get an error. It returns the contents of the selected projects, in their order.
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

func (p Project) readContents(ctx context.Context) (c Contents) {
	if p.Err != nil {
		return Contents{Err: p.Err}
	}
	sources, err := p.Settings.OpenSources(p.Dir, nil, nil)
	if err != nil {
		return Contents{Err: p.insideError(err)}
	}
	set, _, err := manifest.Load(ctx, sources, p.Settings.ManifestOptions(false, 1))
	if err != nil {
		return Contents{Err: p.insideError(err)}
	}
	c.Objects = len(set.Objects)
	for _, o := range set.Objects {
		if o.Kind.CanPatch() && o.Host != "" {
			line, _ := o.Place("spec." + o.Kind.HostField)
			// A part of the object's text would keep all of it.
			c.claims = append(c.claims, claim{strings.Clone(kind.HostKey(o.Host)), fmt.Sprintf("%s:%d", path.Join(p.Path, o.Path), line)})
		}
	}
	return c
}

// insideError adds the path of the project to an error whose files start in its folder.
func (p Project) insideError(err error) error {
	return exit.WithCode(exit.Of(err), fmt.Errorf("%s: %w", p.Path, err))
}

// compareHosts gives an error to projects that have the same hostname.
func (f *Fleet) compareHosts(all []Contents) {
	type owner struct {
		project int
		place   string
	}
	first := map[string]owner{}
	for i, c := range all {
		for _, claim := range c.claims {
			if by, taken := first[claim.host]; !taken {
				first[claim.host] = owner{i, claim.place}
			} else if by.project != i {
				clash(&f.All[i], claim.place, &f.All[by.project], by.place, "the hostname "+claim.host, "keep it in one project")
			}
		}
	}
}
