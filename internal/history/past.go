package history

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
)

// timeout bounds what a plan waits for git to explain it.
const timeout = time.Minute

// Past reads the project of the commit that ref, CI or the remote names, and its manifests if
// they are asked for. It never fails a run: the result has the problem.
func (r *Reader) Past(ctx context.Context, ref string, manifests bool) plan.Past {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	at := r.place
	at.names, at.shown = slices.Clone(r.names), slices.Clone(r.shown)
	p := &pastReader{Reader: r, place: at, same: map[string]bool{}}
	if problem := p.open(ctx); problem.Problem != "" {
		return plan.Past{Blame: problem}
	}
	b := baseFinder{Repository: p.repository, ci: r.cfg.CI, inCI: r.cfg.InCI, names: p.names}
	blame := b.find(ctx, ref)
	if blame.Base == "" {
		return plan.Past{Blame: blame}
	}
	past, err := plan.Past{}, error(nil)
	if manifests {
		past, err = p.read(ctx, blame.Base)
	}
	if err == nil {
		past.Project, err = p.settings(ctx, blame.Base)
	}
	if err != nil {
		failed := unreadable(err)
		blame.Base, blame.Problem, blame.Fix = "", failed.Problem, failed.Fix
		if p.repository.Partial(ctx) {
			blame.Problem = "this partial clone lacks some files of the base"
			blame.Fix = "clone without --filter, or fetch its files"
		}
	}
	if manifests {
		p.addLimits(ctx, &past, &blame)
	}
	past.Blame = blame
	return past
}

// addLimits says what a comparison of the two trees can't show, unless there is another problem.
func (p *pastReader) addLimits(ctx context.Context, past *plan.Past, blame *plan.Blame) {
	problem, fix := "", ""
	if past.Unclear {
		problem = "some manifests of the base have errors, so trueup can't tell what they contained"
		fix = "nothing to do: this ends when they are fixed and merged"
	}
	switch name := p.submodule(ctx); {
	case name != "":
		past.Unclear, past.Partial = true, true
		problem = "the files of the submodule " + name + " have their own history"
		fix = "run trueup in the submodule to see the reason of each change"
	case p.repository.Sparse:
		past.Partial = true
		problem = "only a part of the files is checked out (sparse checkout), so files that are absent here may be in git"
		fix = "check out the whole tree"
	}
	if blame.Problem == "" {
		blame.Problem, blame.Fix = problem, fix
	}
}

// submodule returns the name of a submodule that has manifests, or an empty string.
func (p *pastReader) submodule(ctx context.Context) string {
	entry, _ := files.Above(p.dir, ".git")
	if _, err := os.Lstat(filepath.Join(filepath.Dir(entry), ".gitmodules")); err != nil {
		return "" // as almost always
	}
	modules, err := p.repository.Submodules(ctx)
	if err != nil {
		return ""
	}
	for _, module := range modules {
		if p.names.cover(".", module) || slices.ContainsFunc(p.names, func(name string) bool { return holds(module, name) }) {
			return module
		}
	}
	return ""
}

// pastReader reads the files of a commit that differ from those of now.
type pastReader struct {
	*Reader
	// place is that of the reader, or starts from the top of the repository if a name leads out
	// of the folder of the project.
	place
	// same has the files that do not differ, by the paths of their objects.
	same map[string]bool
}

// open finds the repository that has all names.
func (p *pastReader) open(ctx context.Context) plan.Blame {
	if slices.Contains(p.names, "-") {
		return plan.Blame{Problem: "standard input is not in git", Fix: "name files that are in git"}
	}
	if _, found := files.Above(p.dir, ".git"); !found && !p.cfg.GitDir {
		return plan.Blame{Problem: "this is not a git repository", Fix: "run trueup in a clone of the repository"}
	}
	repository, err := git.At(ctx, p.dir)
	if err != nil {
		return plan.Blame{Problem: unreadable(err).Problem, Fix: "run trueup in a clone that git may read"}
	}
	p.repository = repository.Offline()
	if !slices.ContainsFunc(p.names, func(name string) bool { return !filepath.IsLocal(name) }) {
		return plan.Blame{}
	}
	return p.rebaseToRepoRoot(ctx)
}

// rebaseToRepoRoot makes the names start from the top of the repository.
func (p *pastReader) rebaseToRepoRoot(ctx context.Context) plan.Blame {
	top, folder, err := p.repository.Top(ctx)
	if err != nil {
		return unreadable(err)
	}
	for i, name := range p.names {
		if filepath.IsAbs(name) {
			if rel, err := filepath.Rel(p.dir, name); err == nil {
				name = rel
			}
		}
		p.names[i] = path.Join(folder, filepath.ToSlash(name))
		if !filepath.IsLocal(p.names[i]) {
			return plan.Blame{Problem: p.shown[i] + " is outside the repository", Fix: "name files inside it"}
		}
	}
	p.repository, p.dir = p.repository.In(top), top
	return plan.Blame{}
}

// read reads the manifests of a commit.
func (p *pastReader) read(ctx context.Context, commit string) (plan.Past, error) {
	if known, ok := p.sets[commit]; ok && p.dir == p.Reader.dir {
		return known, nil
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return plan.Past{}, fmt.Errorf("read folder: %w", files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	now := p.cfg.Project
	wasHere := p.dir != now.Dir // whether the project's file was in this folder, if it is asked for
	tree, then, err := p.tree(ctx, commit, func(name, id string) bool {
		wasHere = wasHere || name == project.File
		return p.differs(files.FS(root), name, id)
	})
	switch {
	case err != nil:
		return plan.Past{}, err
	case then != nil && then.Workspace.UUID != now.Workspace.UUID:
		return plan.Past{Set: &manifest.Set{}}, nil // this workspace had no manifests
	case !wasHere:
		if past, found, err := p.moved(ctx, commit); found || err != nil {
			return past, err
		}
	}
	set, findings, err := p.names.parse(ctx, manifest.Source{FS: tree}, p.cfg.Options)
	return plan.Past{Set: set, Same: p.same, Unclear: findings.HasErrors()}, err
}

// tree reads the wanted files of a commit, and the project if its file differs from that of now.
func (p *pastReader) tree(ctx context.Context, commit string, want func(name, id string) bool) (fs.FS, *project.Project, error) {
	tree, err := p.repository.Tree(ctx, commit, want)
	if err != nil {
		return nil, nil, err
	}
	text, err := files.ReadFS(tree, project.File, manifest.MaxFile)
	if err != nil {
		return tree, nil, nil
	}
	then, err := project.Parse(text)
	if err != nil {
		return tree, nil, nil
	}
	if p.configured && p.addNames(then) {
		tree, err = p.repository.Tree(ctx, commit, want)
	}
	return tree, &then, err
}

// addNames adds names that the project had then, so that an object is not new because its file
// was moved. It reports whether there are any.
func (p *pastReader) addNames(then project.Project) bool {
	before := len(p.names)
	for _, name := range then.Manifests {
		if clean := path.Clean(filepath.ToSlash(name)); filepath.IsLocal(name) && !slices.Contains(p.names, clean) {
			p.names = append(p.names, clean)
			p.shown = append(p.shown, p.cfg.Project.Shown(p.cfg.Cwd, name))
		}
	}
	return len(p.names) > before
}

// differs reports whether a file of the commit may have manifests and differs from that of now.
func (p *pastReader) differs(now fs.FS, name, id string) bool {
	isProject := p.dir == p.cfg.Project.Dir && name == project.File
	if !isProject && (!p.names.mayHold(name) || !p.names.cover(".", name)) {
		return false
	}
	content, err := files.ReadFS(now, name, manifest.MaxFile)
	if err != nil || p.repository.BlobID(content) != id {
		return true
	}
	for i, place := range p.names {
		if !holds(place, name) {
			continue
		}
		inside := name
		if place != "." {
			inside = strings.TrimPrefix(strings.TrimPrefix(name, place), "/")
		}
		p.same[path.Join(filepath.ToSlash(p.shown[i]), inside)] = true
	}
	return false
}

// moved reads the manifests of a commit in which the project was in another folder of the
// repository, where it is no more: objects that move with their project are not new. It is found
// by its workspace, if only one such folder has it.
func (p *pastReader) moved(ctx context.Context, commit string) (past plan.Past, found bool, err error) {
	top, projects, err := p.removedProjects(ctx, commit)
	if err != nil {
		return plan.Past{}, false, err
	}
	var at []names
	for name, then := range projects {
		if then.Workspace.UUID != p.cfg.Project.Workspace.UUID {
			continue
		}
		list := then.Manifests
		if len(list) == 0 {
			list = []string{"."}
		}
		var inside names
		for _, n := range list {
			inside = append(inside, path.Join(path.Dir(name), filepath.ToSlash(n)))
		}
		at = append(at, inside)
	}
	if len(at) != 1 {
		return plan.Past{}, false, nil
	}
	tree, err := top.Tree(ctx, commit, func(name, _ string) bool { return at[0].mayHold(name) && at[0].cover(".", name) })
	if err != nil {
		return plan.Past{}, false, err
	}
	set, findings, err := at[0].parse(ctx, manifest.Source{FS: tree}, p.cfg.Options)
	return plan.Past{Set: set, Unclear: findings.HasErrors()}, true, err
}

// removedProjects returns the projects of a commit whose file is not in the work tree any more,
// by the names of their files from the top of the repository that is returned.
func (p *pastReader) removedProjects(ctx context.Context, commit string) (git.Repository, map[string]project.Project, error) {
	dir, _, err := p.repository.Top(ctx)
	if err != nil {
		return git.Repository{}, nil, err
	}
	top := p.repository.In(dir)
	tree, err := top.Tree(ctx, commit, func(name, _ string) bool {
		if path.Base(name) != project.File {
			return false
		}
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		return err != nil
	})
	if err != nil {
		return git.Repository{}, nil, err
	}
	found := map[string]project.Project{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFS(tree, name, manifest.MaxFile)
		if err != nil {
			return err
		}
		if then, err := project.Parse(text); err == nil { // any other is no project
			found[name] = then
		}
		return nil
	})
	return top, found, err
}

// settings returns what the project's file says in a commit, nil if the commit has none that can
// be read. A project that moved is the one that is not in its old folder any more; of several,
// the one with the same workspace.
func (p *pastReader) settings(ctx context.Context, commit string) (*plan.Project, error) {
	now := p.cfg.Project
	if now.Dir == "" {
		return nil, nil
	}
	isSame := false
	text, found, err := p.repository.In(now.Dir).File(ctx, commit, project.File, func(id string) bool {
		isSame = p.repository.BlobID(now.Text) == id
		return isSame
	})
	switch {
	case err != nil:
		return nil, err
	case isSame:
		return &now.Project, nil
	case found:
		if then, err := project.Parse([]byte(text)); err == nil {
			return &then.Project, nil
		}
		return nil, nil // all of it is new
	}
	_, projects, err := p.removedProjects(ctx, commit)
	if err != nil {
		return nil, err
	}
	var same []*plan.Project
	for _, then := range projects {
		if len(projects) == 1 || then.Workspace.UUID == now.Workspace.UUID {
			same = append(same, &then.Project)
		}
	}
	if len(same) != 1 {
		return nil, nil
	}
	return same[0], nil
}
