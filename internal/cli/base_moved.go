package cli

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// moved reads the manifests of a commit in which the project stood in another
// folder of the repository, where it stands no more: what moves with its project is
// not new. It is known by its workspace; without just one such folder nothing is read.
func (r *pastReader) moved(ctx context.Context, commit string) (past plan.Past, moved bool, err error) {
	top, left, err := r.leftProjects(ctx, commit)
	if err != nil {
		return plan.Past{}, false, err
	}
	var found []places
	for name, p := range left {
		if p.Workspace.UUID == r.base.loaded.project.Workspace.UUID {
			found = append(found, p.placesIn(path.Dir(name)))
		}
	}
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

// leftProjects returns the projects of a commit whose file is not in the work tree
// any more, by their files, and the repository from whose top these names start.
func (r *pastReader) leftProjects(ctx context.Context, commit string) (git.Repository, map[string]project, error) {
	dir, _, err := r.repository.Top(ctx)
	if err != nil {
		return git.Repository{}, nil, err
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
		return git.Repository{}, nil, err
	}
	found := map[string]project{}
	err = fs.WalkDir(left, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFS(left, name, manifest.MaxFile)
		if err != nil {
			return err
		}
		if p, err := parseProject(content); err == nil { // any other is no project
			found[name] = p
		}
		return nil
	})
	return top, found, err
}

// placesIn are the places where a project in a folder of the repository has its
// manifests, from the top of the repository.
func (p project) placesIn(folder string) places {
	names := p.Manifests
	if len(names) == 0 {
		names = []string{"."}
	}
	var at places
	for _, n := range names {
		at = append(at, path.Join(folder, filepath.ToSlash(n)))
	}
	return at
}

// project returns what trueup.yaml of a commit says, nil where the commit has none
// that can be read. One that was moved is the one that is not in its old place any
// more; of several, that of the same workspace.
func (r *pastReader) project(ctx context.Context, commit string) (*plan.Project, error) {
	now := r.base.loaded.project
	if !now.exists() {
		return nil, nil
	}
	isSame := false
	text, found, err := r.repository.In(now.dir).File(ctx, commit, projectFile, func(id string) bool {
		isSame = r.repository.BlobID(now.content) == id
		return isSame
	})
	switch {
	case err != nil:
		return nil, err
	case isSame:
		return now.settings(), nil
	case found:
		then, err := parseProject([]byte(text))
		if err != nil {
			return nil, nil // all of it is new
		}
		return then.settings(), nil
	}
	_, left, err := r.leftProjects(ctx, commit)
	if err != nil {
		return nil, err
	}
	for name, p := range left {
		if len(left) > 1 && p.Workspace.UUID != now.Workspace.UUID {
			delete(left, name)
		}
	}
	for _, p := range left {
		if len(left) == 1 {
			return p.settings(), nil
		}
	}
	return nil, nil
}
