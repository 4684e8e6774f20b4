package reconcile

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"trueup/internal/config"
	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// timeout bounds what a plan waits for git to explain it.
const timeout = time.Minute

// ReadPast reads the project of the commit that ref, CI or the remote names, and its manifests if they are
// asked for. It never fails a run: the result has the problem.
func (r *CommitReader) ReadPast(ctx context.Context, ref string, manifests bool) plan.BaseState {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if problem := r.explainable(ctx); problem.Problem != "" {
		return plan.BaseState{Blame: problem}
	}
	blame := r.findBase(ctx, ref)
	blame.Head = r.head
	if blame.Base == "" {
		return plan.BaseState{Blame: blame}
	}
	then, err := r.readProject(ctx, blame.Base)
	var past plan.BaseState
	if err == nil && manifests {
		past, err = r.readManifests(ctx, blame.Base, then)
	}
	if past.Project = then; err != nil {
		failed := unreadableBase(err)
		blame.Base, blame.Problem, blame.Fix = "", failed.Problem, failed.Fix
		if r.repository.IsPartial(ctx) {
			blame.Problem = "this partial clone lacks some files of the base"
			blame.Fix = "clone without --filter, or fetch its files"
		}
	}
	if manifests {
		r.addLimits(ctx, &past, &blame)
	}
	past.Blame = blame
	return past
}

// addLimits says what a comparison of the two trees can't show, unless there is another problem.
func (r *CommitReader) addLimits(ctx context.Context, past *plan.BaseState, blame *plan.ComparedCommits) {
	problem, fix := "", ""
	if past.Unclear {
		problem = "some manifests of the base commit have errors, so trueup can't read them"
		fix = "you need to do nothing: this note disappears when a fix is merged"
	}
	switch name := r.findSubmodule(ctx); {
	case name != "":
		past.Unclear, past.Partial = true, true
		problem = "the files of the submodule " + name + " have their own history"
		fix = "run trueup in the submodule to see the reason of each change"
	case r.repository.IsSparse(ctx):
		past.Partial = true
		problem = "only a part of the files is checked out (sparse checkout), so files that are absent here may be in git"
		fix = "check out the whole tree"
	}
	if blame.Problem == "" {
		blame.Problem, blame.Fix = problem, fix
	}
}

func (r *CommitReader) findSubmodule(ctx context.Context) string {
	entry, _ := files.FindAbove(r.dir, ".git")
	if _, err := os.Lstat(filepath.Join(filepath.Dir(entry), ".gitmodules")); err != nil {
		return "" // as almost always
	}
	modules, err := r.repository.Submodules(ctx)
	if err != nil {
		return ""
	}
	for _, module := range modules {
		if r.names.coversFile(".", module) || slices.ContainsFunc(r.names, func(name string) bool { return isBelow(module, name) }) {
			return module
		}
	}
	return ""
}

// explainable opens the repository, and returns why git can't explain a plan. It asks git once.
func (r *CommitReader) explainable(ctx context.Context) plan.ComparedCommits {
	r.opening.Do(func() { r.problem = r.openRepository(ctx) })
	return r.problem
}

func (r *CommitReader) openRepository(ctx context.Context) plan.ComparedCommits {
	if slices.Contains(r.names, "-") {
		return plan.ComparedCommits{Problem: "standard input is not in git"}
	}
	repository, err := git.OpenRepository(ctx, r.dir)
	if err != nil {
		return plan.ComparedCommits{Problem: unreadableBase(err).Problem, Fix: git.Advice(err)}
	}
	r.repository = repository.WithoutFetching()
	if !slices.ContainsFunc(r.names, func(name string) bool { return !filepath.IsLocal(name) }) {
		return plan.ComparedCommits{}
	}
	return r.rebaseToRepoRoot(ctx)
}

// rebaseToRepoRoot makes the names start from the top of the repository.
func (r *CommitReader) rebaseToRepoRoot(ctx context.Context) plan.ComparedCommits {
	top, folder, err := r.repository.TopFolder(ctx)
	if err != nil {
		return unreadableBase(err)
	}
	for i, name := range r.names {
		if filepath.IsAbs(name) {
			if rel, err := filepath.Rel(r.dir, name); err == nil {
				name = rel
			}
		}
		r.names[i] = path.Join(folder, filepath.ToSlash(name))
		if !filepath.IsLocal(r.names[i]) {
			return plan.ComparedCommits{Problem: r.shown[i] + " is outside the repository", Fix: "name files inside it"}
		}
	}
	r.repository, r.dir = r.repository.InFolder(top), top
	return plan.ComparedCommits{}
}

// readManifests reads the manifests of a commit.
func (r *CommitReader) readManifests(ctx context.Context, commit string, then *plan.ProjectSettings) (plan.BaseState, error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return plan.BaseState{}, fmt.Errorf("read folder: %w", files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	if then != nil && r.dir == r.Project.Dir {
		if then.Workspace.UUID != r.Project.Workspace.UUID {
			return plan.BaseState{Set: &manifest.Set{}}, nil // this workspace had no manifests
		}
		r.addNames(then)
	}
	tree, err := r.repository.ReadTree(ctx, commit, func(name, id string) bool { return r.mayDiffer(files.OpenFS(root), name, id) })
	if err != nil {
		return plan.BaseState{}, err
	}
	set, findings, err := r.names.parseTree(ctx, manifest.PathSource{FS: tree}, r.options)
	return plan.BaseState{Set: set, Same: r.same, Unclear: findings.HasErrors()}, err
}

// readProject returns the project of a commit, nil if the commit has none in this folder that can be read.
func (r *CommitReader) readProject(ctx context.Context, commit string) (*plan.ProjectSettings, error) {
	now := r.Project
	if now.Dir == "" {
		return nil, nil
	}
	isSame := false
	text, found, err := r.repository.InFolder(now.Dir).ReadFile(ctx, commit, config.ProjectFile, func(id string) bool {
		isSame = r.repository.BlobID(now.Text) == id
		return isSame
	})
	switch {
	case err != nil || !found:
		return nil, err
	case isSame:
		return &now.ProjectSettings, nil
	}
	if then, err := config.ParseProject([]byte(text)); err == nil {
		return &then.ProjectSettings, nil
	}
	return nil, nil // all of it is new
}

// addNames adds names that the project had then, so that an object is not new because its file was moved.
func (r *CommitReader) addNames(then *plan.ProjectSettings) {
	for _, name := range then.Manifests {
		clean := path.Clean(filepath.ToSlash(name))
		if r.configured && filepath.IsLocal(name) && !slices.Contains(r.names, clean) {
			r.names = append(r.names, clean)
			r.shown = append(r.shown, r.Project.ShownPath(r.env.Dir(), name))
		}
	}
}

// mayDiffer reports whether a file of the commit may have manifests and differs from that of now.
func (r *CommitReader) mayDiffer(now fs.FS, name, id string) bool {
	if !r.names.mayHold(name) || !r.names.coversFile(".", name) {
		return false
	}
	content, err := files.ReadFS(now, name, manifest.MaxFile)
	if err != nil || r.repository.BlobID(content) != id {
		return true
	}
	for i, place := range r.names {
		if isBelow(place, name) {
			r.same[path.Join(filepath.ToSlash(r.shown[i]), pathInside(place, name))] = true
		}
	}
	return false
}
