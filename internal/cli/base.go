package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// baseReader reads manifests out of commits, in the places where they are read
// now: as proofs of deletion, and to tell whose change a line is. A commit that
// was read for the one is not read again for the other.
type baseReader struct {
	app    *app
	loaded loaded
	// dir is what names start from; they are the files and folders to read.
	dir   string
	names places
	// shown are the names as their objects have them in their paths.
	shown      []string
	repository git.Repository
	options    manifest.Options
	// configured says that trueup.yaml names them.
	configured bool
	// sets are whole commits that were read, by their ids.
	sets map[string]baseSet
}

// baseSet is what stood in a commit; unclear says that some of it had errors.
type baseSet struct {
	*manifest.Set
	unclear bool
}

// base prepares to read what git had before, in the places of a run.
func (a *app) base(l loaded, paths []string) *baseReader {
	b := &baseReader{
		app: a, loaded: l, dir: a.dir(), names: paths, shown: paths,
		options: a.manifestOptions(l.project, false), sets: map[string]baseSet{},
	}
	switch p := l.project; {
	case len(paths) == 0 && len(p.Manifests) > 0:
		b.dir, b.names, b.shown, b.configured = p.dir, p.Manifests, nil, true
		for _, name := range p.Manifests {
			b.shown = append(b.shown, configuredAs(a.dir(), p, name))
		}
	case len(paths) == 0:
		b.names, b.shown = []string{"."}, []string{"."}
	}
	return b
}

// proofs reads the tree of a ref, or without one the commit that is checked out
// and its first parent. What can't be read proves nothing, and says why.
func (b *baseReader) proofs(ctx context.Context, ref string) plan.Base {
	for _, name := range b.names {
		if !filepath.IsLocal(name) || name == "-" {
			return plan.Base{Problem: name + " is not in the folder of the project", Fix: "name manifests inside the repository"}
		}
	}
	var err error
	if b.repository, err = git.At(ctx, b.dir); err != nil {
		return plan.Base{Problem: err.Error(), Fix: "run trueup in a clone of the repository"}
	}
	if missing, fix := b.notCheckedOut(ctx); missing != "" {
		return plan.Base{Problem: missing + ", so files that are absent here may be in git", Fix: fix}
	}
	base := b.read(ctx, ref)
	if base.Elsewhere, err = b.elsewhere(ctx, left(base, b.loaded.set), b.loaded.project.Workspace); err != nil {
		return plan.Base{Problem: "trueup can't tell what else it contains: " + err.Error(), Fix: "fix that"}
	}
	return base
}

// notCheckedOut says what of the places to read is in git and not in the work tree,
// and how to get it, or nothing.
func (b *baseReader) notCheckedOut(ctx context.Context) (missing, fix string) {
	if b.repository.Sparse {
		return "only a part of the files is checked out (sparse checkout)", "check out the whole tree"
	}
	submodules, err := b.repository.Unfilled(ctx)
	if err != nil {
		return err.Error(), "mend that"
	}
	for _, name := range submodules {
		if b.names.reads(".", name) {
			return "the files of the submodule " + name + " are not checked out",
				"git submodule update --init --recursive (in CI: check out with submodules)"
		}
	}
	return "", ""
}

// holds reports whether a name is a folder's, or of something in it.
func holds(folder, name string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

func (b *baseReader) read(ctx context.Context, ref string) plan.Base {
	refs := []string{"HEAD", "HEAD^"}
	if ref == "" {
		return b.readAll(ctx, refs)
	}
	base := b.readAll(ctx, []string{ref})
	base.Newer = b.readAll(ctx, refs).Trees
	return base
}

// readAll reads the trees of some refs; of several only HEAD must be there.
func (b *baseReader) readAll(ctx context.Context, refs []string) plan.Base {
	var base plan.Base
	for _, name := range refs {
		set, err := b.set(ctx, name)
		switch {
		case err == nil:
			base.Trees = append(base.Trees, plan.BaseTree{Ref: name, Set: set})
		case !errors.Is(err, git.ErrNoCommit):
			base.Problem, base.Fix = err.Error(), "fix that, or name another commit with --base-ref REF"
		case b.repository.Shallow:
			base.Problem = fmt.Sprintf("the commit %s is not in this shallow clone", name)
			base.Fix = "fetch more history (fetch-depth: 2, or 0), or use --base-ref REF with a commit that is here"
		case len(refs) == 1 || name == "HEAD":
			base.Problem = fmt.Sprintf("the repository has no commit %s", name)
			base.Fix = "fetch it, or name another commit with --base-ref REF"
		}
	}
	return base
}

// set reads the manifests of a commit; mistakes in them are of no interest.
func (b *baseReader) set(ctx context.Context, ref string) (*manifest.Set, error) {
	commit, err := b.repository.Commit(ctx, ref)
	if err != nil {
		return nil, err
	}
	if known, read := b.sets[commit]; read {
		return known.Set, nil
	}
	tree, err := b.repository.Tree(ctx, commit, func(name, _ string) bool { return b.names.wants(name) })
	if err != nil {
		return nil, err
	}
	set, findings, err := b.names.parse(ctx, manifest.Source{FS: tree, Display: ref}, b.options)
	if err == nil {
		b.sets[commit] = baseSet{set, findings.HasErrors()}
	}
	return set, err
}

// places are files and folders to read, from one folder of a repository.
type places []string

// parse reads the manifests that stand in these places of a tree.
func (p places) parse(ctx context.Context, tree manifest.Source, options manifest.Options) (*manifest.Set, diag.List, error) {
	var list []manifest.Source
	for _, name := range p {
		tree.Path = path.Clean(filepath.ToSlash(name))
		if f, err := tree.FS.Open(tree.Path); err == nil {
			_ = f.Close() // it is in memory
			list = append(list, tree)
		}
	}
	return manifest.Load(ctx, list, options)
}

// elsewhere finds manifests that left the places to read and stand in another
// folder of the commit that is checked out: that of another project, perhaps, which
// shares workspace and ledger.
func (b *baseReader) elsewhere(ctx context.Context, gone []kind.Key, ws kind.Workspace) (map[kind.Key]string, error) {
	if len(gone) == 0 {
		return nil, nil
	}
	dir, folder, err := b.repository.Top(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := b.repository.In(dir).Tree(ctx, "HEAD", func(name, _ string) bool {
		return mayHold(name) && !b.names.reads(folder, name) && !ofAnother(ws, filepath.Join(dir, filepath.FromSlash(path.Dir(name))))
	})
	if err != nil {
		return nil, err
	}
	set, _, err := manifest.Load(ctx, []manifest.Source{{FS: tree, Path: "."}}, b.options)
	if err != nil {
		return nil, err
	}
	found := map[kind.Key]string{}
	for _, key := range gone {
		if o := set.Find(key); o != nil && o.Namespace == ws.Name {
			found[key] = o.Path
		}
	}
	return found, nil
}

// reads reports whether a name is in the places, which are in the folder.
func (p places) reads(folder, name string) bool {
	return slices.ContainsFunc(p, func(n string) bool {
		return holds(path.Join(folder, filepath.ToSlash(n)), name)
	})
}

// ofAnother reports whether a folder belongs to a project of another workspace.
func ofAnother(ws kind.Workspace, dir string) bool {
	p, err := loadProject(dir)
	return err == nil && p.exists() && p.Workspace.UUID != ws.UUID
}

// mayHold tells by its name whether a file may hold manifests.
func mayHold(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// wants reports whether a file of the places may hold manifests.
func (p places) wants(name string) bool {
	return mayHold(name) ||
		slices.ContainsFunc(p, func(n string) bool { return path.Clean(filepath.ToSlash(n)) == name })
}

// left are the keys of manifests that git had and has no more, of kinds that can
// be deleted: the ledger is asked about them.
func left(base plan.Base, set *manifest.Set) []kind.Key {
	var keys []kind.Key
	for _, t := range base.Trees {
		for _, o := range t.Set.Objects {
			if o.Kind.Can(kind.Delete) && set.Find(o.Key()) == nil {
				keys = append(keys, o.Key())
			}
		}
	}
	slices.SortFunc(keys, func(a, b kind.Key) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}

// deletable are the kinds that can be deleted and whose list can be read.
func (w *world) deletable() []*kind.Kind {
	var kinds []*kind.Kind
	for _, k := range kind.All() {
		e := w.api.Endpoints[k.Area]
		if k.Can(kind.Delete) && e.Base != nil && (!e.Token.IsZero() || e.Ask != nil) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
