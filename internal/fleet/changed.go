package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

// past is a commit of the repository that has a fleet, and what differs from it.
type past struct {
	repository git.Repository // seen from its top
	commit     string
	folder     string       // that of the search, from the top
	changes    []git.Change // below that folder, with names that start from it
}

// since compares the work tree with a commit.
func (f Fleet) since(ctx context.Context, ref string) (then past, err error) {
	repository, err := git.At(ctx, f.Root)
	if err != nil {
		return then, fmt.Errorf("%w: run trueup in a clone of the repository", err)
	}
	then.commit, err = repository.Commit(ctx, ref)
	switch {
	case errors.Is(err, git.ErrNoCommit) && repository.Shallow:
		return then, errors.New("this shallow clone lacks the commit: fetch it, or check out the whole history (fetch-depth: 0, GIT_DEPTH: 0)")
	case errors.Is(err, git.ErrNoCommit):
		return then, errors.New("the repository has no such commit: fetch it, or name another")
	case err != nil:
		return then, err
	}
	top, folder, err := repository.Top(ctx)
	if err != nil {
		return then, err
	}
	then.repository, then.folder = repository.In(top), folder
	list, err := repository.ChangesSince(ctx, then.commit)
	for _, change := range list {
		name, isBelow := change.Name, true
		if folder != "." {
			name, isBelow = strings.CutPrefix(change.Name, folder+"/")
		}
		if isBelow && !change.Same {
			change.Name = name
			then.changes = append(then.changes, change)
		}
	}
	return then, err
}

// above returns the folders above a path, the nearest first.
func above(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name != "." {
			if name = path.Dir(name); !yield(name) {
				return
			}
		}
	}
}

// changed returns the paths of the projects that have a file in their folder that differs, or a folder above it, which
// was a link or a submodule.
func (t past) changed(all []Project) map[string]bool {
	names, folders, changed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, change := range t.changes {
		names[change.Name] = true
		for at := range above(change.Name) {
			folders[at] = true
		}
	}
	for _, p := range all {
		changed[p.Path] = names[p.Path] || folders[p.Path]
		for at := range above(p.Path) {
			changed[p.Path] = changed[p.Path] || names[at]
		}
	}
	return changed
}

// addPast finds which projects are new, gone or in another folder. It reads the settings that the commit had of those
// that are gone.
func (f *Fleet) addPast(ctx context.Context, then past) error {
	f.Since = then.commit
	exists, isNew, gone := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, p := range f.All {
		exists[p.Path] = true
	}
	for _, change := range then.changes {
		folder, name := path.Split(change.Name)
		switch at := path.Clean(folder); {
		case name != project.File || strings.Contains("/"+folder, "/."):
		case exists[at]:
			_, twice := isNew[at] // git has two changes for a file that it no longer tracks
			isNew[at] = change.Was == git.Absent && !twice
		case change.Was != git.Absent && change.Is == git.Absent:
			gone[path.Join(then.folder, change.Name)] = at
		}
	}
	if len(gone) > 0 {
		tree, err := then.repository.Tree(ctx, then.commit, func(name, _ string) bool { return gone[name] != "" })
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(gone)) {
			if to := movedTo(tree, name, f.All); to == "" {
				f.Removed = append(f.Removed, gone[name])
			} else {
				f.Moved = append(f.Moved, Move{gone[name], to})
				delete(isNew, to)
			}
		}
	}
	for _, p := range f.All {
		if isNew[p.Path] {
			f.Added = append(f.Added, p.Path)
		}
	}
	return nil
}

// movedTo returns where the project of a file that is gone is now, or "".
func movedTo(tree fs.FS, name string, all []Project) string {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return "" // a link
	}
	was, err := project.Parse(text)
	i := slices.IndexFunc(all, func(p Project) bool { return p.Settings.Workspace.UUID == was.Workspace.UUID })
	if err != nil || i < 0 {
		return ""
	}
	return all[i].Path
}

// reads reports whether a file is of the settings, manifests or request tests of the project.
func (p Project) reads(full string) bool {
	return full == filepath.Join(p.Dir, project.File) || manifest.IsFile(full) && p.Settings.Reads(p.Dir, full)
}

// Digest returns the commit that is checked out, "" outside git, and a digest of the files that projects read and that
// differ from it, "" without any.
func (f Fleet) Digest(ctx context.Context) (commit, dirty string) {
	then, err := f.since(ctx, "HEAD")
	switch {
	case then.commit == "":
		return "", "" // a new repository has none
	case err != nil:
		return then.commit, "unknown: " + err.Error()
	}
	projects, digest, none := map[string]Project{}, sha256.New(), true
	for _, p := range f.All {
		projects[p.Path] = p
	}
	for _, change := range then.changes {
		full := filepath.Join(f.Root, filepath.FromSlash(change.Name))
		for at := range above(change.Name) {
			if p, ok := projects[at]; ok && p.reads(full) {
				text, _, _ := files.Read(full, maxDirty) // it may be gone
				_, _ = fmt.Fprintf(digest, "%q %q %d\n", change.Name, text, change.Is)
				none = false
			}
		}
	}
	if none {
		return then.commit, ""
	}
	return then.commit, fmt.Sprintf("sha256:%x", digest.Sum(nil))
}

// maxDirty limits a file that counts in a digest, in bytes.
const maxDirty = 64 << 20
