package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/forge"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// CommitReader reads the manifests of commits, in the places where the run reads them now.
type CommitReader struct {
	env config.Options
	// LoadedProject has the project and the manifests as they are now.
	config.LoadedProject
	options    manifest.LoadSettings
	ci         forge.CIContext // what the CI service says of the run
	repository git.Repository
	dir        string        // the folder of names
	names      manifestPaths // the files and folders to read
	shown      []string      // the names as the paths of objects begin
	configured bool          // true if the project has the names
	// same has the files of a commit that do not differ from those of now, by the paths of their objects.
	same    map[string]bool
	opening sync.Once
	problem plan.ComparedCommits // says why git can't explain a plan
	head    string               // the commit that is checked out, or empty before it was asked for
}

// NewCommitReader returns the reader of a run with these PATHs.
func NewCommitReader(env config.Options, l config.LoadedProject, paths []string) *CommitReader {
	p, names := l.Project, paths
	r := &CommitReader{
		env: env, LoadedProject: l, options: p.ManifestOptions(env.API.Parallelism), dir: env.Dir(), shown: slices.Clone(paths), same: map[string]bool{},
	}
	r.ci, _ = forge.Detect(env.Getenv) // without its event file, it is incomplete
	switch {
	case len(paths) > 0:
	case len(p.Manifests) > 0:
		names, r.dir, r.configured = p.Manifests, p.Dir, true
		r.shown = diag.MapList(names, func(name string) string { return p.ShownPath(env.Dir(), name) })
	default:
		names, r.shown = []string{"."}, []string{"."}
	}
	r.names = diag.MapList(names, func(name string) string { return path.Clean(filepath.ToSlash(name)) })
	return r
}

// ReadBase reads the manifests of ref, or else of HEAD and its first parent, to prove which objects
// git had. A commit that can't be read proves nothing: the result has the problem.
func (r *CommitReader) ReadBase(ctx context.Context, ref string) plan.PruneBase {
	for _, name := range r.names {
		if !filepath.IsLocal(name) || name == "-" {
			return plan.PruneBase{Problem: name + " is not in the folder of the project", Fix: "name manifests inside the repository"}
		}
	}
	var err error
	if r.repository, err = git.OpenRepository(ctx, r.dir); err != nil {
		return plan.PruneBase{Problem: err.Error(), Fix: git.Advice(err)}
	}
	if missing, fix := r.notCheckedOut(ctx); missing != "" {
		return plan.PruneBase{Problem: missing + ", so files that are absent here may be in git", Fix: fix}
	}
	base := r.readTrees(ctx, "HEAD", "HEAD^")
	if ref != "" {
		newer := base.Trees
		base = r.readTrees(ctx, ref)
		base.Newer = newer
	}
	if base.Elsewhere, err = r.findMovedManifests(ctx, RemovedKeys(base, r.Set)); err != nil {
		return plan.PruneBase{Problem: "trueup can't tell what else it contains: " + err.Error(), Fix: "fix that"}
	}
	return base
}

// notCheckedOut says which files to read are in git and not in the work tree.
func (r *CommitReader) notCheckedOut(ctx context.Context) (missing, fix string) {
	if r.repository.IsSparse(ctx) {
		return "only a part of the files is checked out (sparse checkout)", "check out the whole tree"
	}
	submodules, err := r.repository.EmptySubmodules(ctx)
	if err != nil {
		return err.Error(), "fix that"
	}
	for _, name := range submodules {
		if r.names.coversFile(".", name) {
			return "the files of the submodule " + name + " are not checked out",
				"git submodule update --init --recursive (in CI: check out with submodules)"
		}
	}
	return "", ""
}

// readTrees reads some commits. Only HEAD, or the only one, must exist.
func (r *CommitReader) readTrees(ctx context.Context, refs ...string) plan.PruneBase {
	var base plan.PruneBase
	for _, ref := range refs {
		set, err := r.readSet(ctx, ref)
		switch {
		case err == nil:
			base.Trees = append(base.Trees, plan.BaseTree{Ref: ref, Set: set})
		case !errors.Is(err, git.ErrNoCommit):
			base.Problem, base.Fix = err.Error(), "fix that, or name another commit with --base-ref REF"
		case r.repository.Shallow:
			base.Problem = fmt.Sprintf("the commit %s is not in this shallow clone", ref)
			base.Fix = "fetch more history (fetch-depth: 2, or 0), or name a commit that this clone has: --base-ref REF"
		case len(refs) == 1 || ref == "HEAD":
			base.Problem = fmt.Sprintf("the repository has no commit %s", ref)
			base.Fix = "fetch it, or name another commit with --base-ref REF"
		}
	}
	return base
}

// readSet reads the manifests of a commit, and ignores mistakes in them.
func (r *CommitReader) readSet(ctx context.Context, ref string) (*manifest.Set, error) {
	commit, err := r.repository.ResolveCommit(ctx, ref)
	if err != nil {
		return nil, err
	}
	tree, err := r.repository.ReadTree(ctx, commit, func(name, _ string) bool { return r.names.mayHold(name) })
	if err != nil {
		return nil, err
	}
	set, _, err := r.names.parseTree(ctx, manifest.PathSource{FS: tree, Display: ref}, r.options)
	return set, err
}

// findMovedManifests finds manifests that left the places to read and are in another folder of HEAD,
// perhaps that of another project with the same workspace and ledger.
func (r *CommitReader) findMovedManifests(ctx context.Context, removed []kind.Key) (map[kind.Key]string, error) {
	if len(removed) == 0 {
		return nil, nil
	}
	top, folder, err := r.repository.TopFolder(ctx)
	if err != nil {
		return nil, err
	}
	ws := r.Project.Workspace
	tree, err := r.repository.InFolder(top).ReadTree(ctx, "HEAD", func(name, _ string) bool {
		if !manifest.IsFile(name) || r.names.coversFile(folder, name) {
			return false
		}
		p, err := config.FindProject(filepath.Join(top, filepath.FromSlash(path.Dir(name))))
		return err != nil || !p.Exists() || p.Workspace.UUID == ws.UUID
	})
	if err != nil {
		return nil, err
	}
	set, _, err := manifest.Load(ctx, []manifest.PathSource{{FS: tree, Path: "."}}, r.options)
	if err != nil {
		return nil, err
	}
	found := map[kind.Key]string{}
	for _, key := range removed {
		if o := set.Find(key); o != nil && o.Namespace == ws.Name {
			found[key] = o.Path
		}
	}
	return found, nil
}

// RemovedKeys returns the keys of objects that git had and has no more, and that can be deleted.
func RemovedKeys(base plan.PruneBase, set *manifest.Set) []kind.Key {
	var keys []kind.Key
	for _, t := range base.Trees {
		for _, o := range t.Set.Objects {
			if o.Kind.Documents(kind.Delete) && set.Find(o.Key()) == nil {
				keys = append(keys, o.Key())
			}
		}
	}
	slices.SortFunc(keys, kind.CompareKeys)
	return slices.Compact(keys)
}

type manifestPaths []string

func (n manifestPaths) parseTree(ctx context.Context, tree manifest.PathSource, options manifest.LoadSettings) (*manifest.Set, diag.List, error) {
	var list []manifest.PathSource
	for _, tree.Path = range n {
		if f, err := tree.FS.Open(tree.Path); err == nil {
			_ = f.Close() // it is in memory
			list = append(list, tree)
		}
	}
	return manifest.Load(ctx, list, options)
}

// coversFile reports whether a file is below these names, which start from the folder.
func (n manifestPaths) coversFile(folder, file string) bool {
	return slices.ContainsFunc(n, func(name string) bool { return isBelow(path.Join(folder, name), file) })
}

// mayHold reports whether a file below these names may have manifests.
func (n manifestPaths) mayHold(file string) bool {
	return manifest.IsFile(file) || slices.Contains(n, file)
}

func isBelow(folder, name string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

// pathInside returns the path, from a folder, of a name that is below it.
func pathInside(folder, name string) string {
	if folder == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, folder), "/")
}
