package cli

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// moved reads the manifests of a commit in which the project stood in another
// folder of the repository, where it stands no more: what moves with its project is
// not new. It is known by its workspace; without just one such folder nothing is read.
func (r *pastReader) moved(ctx context.Context, commit string) (past plan.Past, moved bool, err error) {
	dir, _, err := r.repository.Top(ctx)
	if err != nil {
		return plan.Past{}, false, err
	}
	top := r.repository.In(dir)
	left, err := top.Tree(ctx, commit, func(name, _ string) bool {
		if path.Base(name) != projectFile {
			return false
		}
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		return err != nil
	})
	if err != nil {
		return plan.Past{}, false, err
	}
	found := r.placesIn(left)
	if len(found) != 1 {
		return plan.Past{}, false, nil
	}
	at := found[0]
	tree, err := top.Tree(ctx, commit, func(name, _ string) bool { return at.wants(name) && at.reads(".", name) })
	if err != nil {
		return plan.Past{}, false, err
	}
	set, findings, err := at.parse(ctx, manifest.Source{FS: tree}, r.base.options)
	return plan.Past{Set: set, Unclear: findings.HasErrors()}, true, err
}

// placesIn are, for each file of a project of this workspace, the places where that
// has its manifests, from the top of the repository.
func (r *pastReader) placesIn(projects fs.FS) []places {
	var all []places
	_ = fs.WalkDir(projects, ".", func(name string, d fs.DirEntry, err error) error { // it is in memory
		if err != nil || d.IsDir() {
			return err
		}
		content, err := slurp(projects, name)
		if err != nil {
			return err
		}
		p, err := parseProject(content)
		if err != nil || p.Workspace.UUID != r.base.loaded.project.Workspace.UUID {
			return nil // it is of another project, or of none
		}
		names := p.Manifests
		if len(names) == 0 {
			names = []string{"."}
		}
		var at places
		for _, n := range names {
			at = append(at, path.Join(path.Dir(name), filepath.ToSlash(n)))
		}
		all = append(all, at)
		return nil
	})
	return all
}
