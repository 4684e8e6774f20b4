package cli

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
	"trueup/internal/forge"
	"trueup/internal/git"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// pastTimeout bounds all that git is asked for an explanation: a plan does not
// wait for it.
const pastTimeout = time.Minute

// past reads what git said before this change: the project, and the manifests where
// they are asked for. Where it can't, it says why: that never fails a run.
func (b *baseReader) past(ctx context.Context, ref string, manifests bool) plan.Past {
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	r := &pastReader{base: b, dir: b.dir, names: slices.Clone(b.names), shown: slices.Clone(b.shown), same: map[string]bool{}}
	if problem, fix := r.open(ctx); problem != "" {
		return plan.Past{Blame: plan.Blame{Problem: problem, Fix: fix}}
	}
	// What CI says of an event that can't be read is of use as far as it goes.
	ci, _ := forge.Detect(b.app.env.Getenv, readEvent)
	c := chooser{Repository: r.repository, ci: ci, inCI: b.app.inCI(), names: r.names}
	blame := c.choose(ctx, ref)
	if blame.Base == "" {
		return plan.Past{Blame: blame}
	}
	past, err := plan.Past{}, error(nil)
	if manifests {
		past, err = r.read(ctx, blame.Base)
	}
	if err == nil {
		past.Project, err = r.project(ctx, blame.Base)
	}
	if err != nil {
		failed := unreadable(err)
		blame.Base, blame.Problem, blame.Fix = "", failed.Problem, failed.Fix
		if r.repository.Partial(ctx) {
			blame.Problem = "this partial clone lacks some files of the base"
			blame.Fix = "clone without --filter, or fetch its files"
		}
	}
	if manifests {
		r.judge(ctx, &past, &blame)
	}
	past.Blame = blame
	return past
}

// judge says what the two trees can't tell, unless something else was said.
func (r *pastReader) judge(ctx context.Context, past *plan.Past, blame *plan.Blame) {
	problem, fix := "", ""
	if past.Unclear {
		problem = "some manifests of the base have errors, so trueup can't tell what they contained"
		fix = "nothing to do: this ends when they are fixed and merged"
	}
	switch name := r.submodule(ctx); {
	case name != "":
		past.Unclear, past.Partial = true, true
		problem = "the files of the submodule " + name + " have their own history"
		fix = "run trueup in the submodule to see the reason of each change"
	case r.repository.Sparse:
		past.Partial = true
		problem = "only a part of the files is checked out (sparse checkout), so files that are absent here may be in git"
		fix = "check out the whole tree"
	}
	if blame.Problem == "" {
		blame.Problem, blame.Fix = problem, fix
	}
}

// submodule is one in which manifests are, or empty.
func (r *pastReader) submodule(ctx context.Context) string {
	entry, _ := files.Above(r.dir, ".git")
	if _, err := os.Lstat(filepath.Join(filepath.Dir(entry), ".gitmodules")); err != nil {
		return "" // as almost always
	}
	names, err := r.repository.Submodules(ctx)
	if err != nil {
		return ""
	}
	for _, name := range names {
		if r.names.reads(".", name) || slices.ContainsFunc(r.names, func(n string) bool { return holds(name, path.Clean(filepath.ToSlash(n))) }) {
			return name
		}
	}
	return ""
}

// pastReader reads a commit for an explanation: only files that are not now as
// they were then.
type pastReader struct {
	base *baseReader
	// dir and names are those of base, or start from the top of the repository where
	// a name leads out of the folder of the project.
	repository git.Repository
	dir        string
	names      places
	shown      []string
	// same are files as they were, by the paths of their objects.
	same map[string]bool
}

// open finds the repository that all names are in.
func (r *pastReader) open(ctx context.Context) (problem, fix string) {
	if slices.Contains(r.names, "-") {
		return "standard input is not in git", "name files that are in git"
	}
	if _, found := files.Above(r.dir, ".git"); !found && r.base.app.env.Getenv("GIT_DIR") == "" {
		return "this is not a git repository", "run trueup in a clone of the repository"
	}
	var err error
	if r.repository, err = git.At(ctx, r.dir); err != nil {
		failed := unreadable(err)
		return failed.Problem, "run trueup in a clone that git may read"
	}
	r.repository = r.repository.Alone()
	if !slices.ContainsFunc(r.names, func(name string) bool { return !filepath.IsLocal(name) }) {
		return "", ""
	}
	return r.rebaseToRepoRoot(ctx)
}

// rebaseToRepoRoot starts from the top of the repository.
func (r *pastReader) rebaseToRepoRoot(ctx context.Context) (problem, fix string) {
	top, folder, err := r.repository.Top(ctx)
	if err != nil {
		failed := unreadable(err)
		return failed.Problem, failed.Fix
	}
	names := make(places, len(r.names))
	for i, name := range r.names {
		if filepath.IsAbs(name) {
			if rel, err := filepath.Rel(r.dir, name); err == nil {
				name = rel
			}
		}
		names[i] = path.Join(folder, filepath.ToSlash(name))
		if !filepath.IsLocal(names[i]) {
			return r.names[i] + " is outside the repository", "name files inside it"
		}
	}
	r.repository, r.dir, r.names = r.repository.In(top), top, names
	return "", ""
}

// read reads the manifests of a commit.
func (r *pastReader) read(ctx context.Context, commit string) (plan.Past, error) {
	if known, read := r.base.sets[commit]; read && r.dir == r.base.dir {
		return plan.Past{Set: known.Set, Unclear: known.unclear}, nil
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return plan.Past{}, fmt.Errorf("read folder: %w", files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	// stood reports whether the project, if it is that which is read, was in this folder.
	stood := r.dir != r.base.loaded.project.dir
	want := func(name, id string) bool {
		stood = stood || name == projectFile
		return r.differs(files.FS(root), name, id)
	}
	tree, then, err := r.tree(ctx, commit, want)
	switch {
	case err != nil:
		return plan.Past{}, err
	case then.Kind != "" && then.Workspace.UUID != r.base.loaded.project.Workspace.UUID:
		return plan.Past{Set: &manifest.Set{}}, nil // nothing was said of this workspace
	case !stood:
		if past, found, err := r.moved(ctx, commit); found || err != nil {
			return past, err
		}
	}
	set, findings, err := r.names.parse(ctx, manifest.Source{FS: tree}, r.base.options)
	return plan.Past{Set: set, Same: r.same, Unclear: findings.HasErrors()}, err
}

// tree reads the wanted files of a commit, and the project as it was, which is zero
// where its file is as it is now or was none.
func (r *pastReader) tree(ctx context.Context, commit string, want func(name, id string) bool) (fs.FS, project, error) {
	held, err := r.repository.Tree(ctx, commit, want)
	if err != nil {
		return nil, project{}, err
	}
	content, err := files.ReadFS(held, projectFile, manifest.MaxFile)
	if err != nil {
		return held, project{}, nil
	}
	then, err := parseProject(content)
	if err != nil {
		return held, project{}, nil
	}
	if r.base.configured && r.stoodElsewhere(then) {
		held, err = r.repository.Tree(ctx, commit, want)
	}
	return held, then, err
}

// stoodElsewhere adds the places where the project had its manifests then, if they
// are others: what is moved is not new.
func (r *pastReader) stoodElsewhere(p project) bool {
	n := len(r.names)
	for _, name := range p.Manifests {
		if filepath.IsLocal(name) && !slices.Contains(r.names, name) {
			r.names = append(r.names, name)
			r.shown = append(r.shown, configuredAs(r.base.app.dir(), r.base.loaded.project, name))
		}
	}
	return len(r.names) > n
}

// differs reports whether a file of the commit may hold manifests that are not now
// as they were.
func (r *pastReader) differs(now fs.FS, name, id string) bool {
	project := r.dir == r.base.loaded.project.dir && name == projectFile
	if !project && (!r.names.wants(name) || !r.names.reads(".", name)) {
		return false
	}
	content, err := files.ReadFS(now, name, manifest.MaxFile)
	if err != nil || r.repository.BlobID(content) != id {
		return true
	}
	for i, place := range r.names {
		place = path.Clean(filepath.ToSlash(place))
		if holds(place, name) {
			inside := strings.TrimPrefix(strings.TrimPrefix(name, place), "/")
			if place == "." {
				inside = name
			}
			r.same[path.Join(filepath.ToSlash(r.shown[i]), inside)] = true
		}
	}
	return false
}
