package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/git"
	"trueup/internal/project"
)

// past is a commit of the repository that has a fleet, and what differs from it.
type past struct {
	repository git.Repository // seen from its top
	commit     string
	folder     string       // that of the search, from the top
	changes    []git.Change // below that folder, with names that start from it
}

// readPast compares the work tree with a commit.
func (f Fleet) readPast(ctx context.Context, ref string) (then past, err error) {
	repository, err := git.OpenRepository(ctx, f.Root)
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
	top, folder, err := repository.TopFolder(ctx)
	if err != nil {
		return then, err
	}
	then.repository, then.folder = repository.InFolder(top), folder
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

// foldersAbove returns the folders above a path, the nearest first.
func foldersAbove(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name != "." {
			if name = path.Dir(name); !yield(name) {
				return
			}
		}
	}
}

// changedProjects returns the paths of the projects that have a file in their folder that differs, or a folder above it, which
// was a link or a submodule.
func (t past) changedProjects(all []Project) map[string]bool {
	names, folders, changed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, change := range t.changes {
		names[change.Name] = true
		for at := range foldersAbove(change.Name) {
			folders[at] = true
		}
	}
	for _, p := range all {
		changed[p.Path] = names[p.Path] || folders[p.Path]
		for at := range foldersAbove(p.Path) {
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
		case name != project.File || strings.Contains("/"+folder, "/."): // no project
		case exists[at]:
			_, twice := isNew[at] // git has two changes for a file that it no longer tracks
			isNew[at] = change.Was == git.Absent && !twice
		case change.Was != git.Absent && change.Is == git.Absent:
			gone[path.Join(then.folder, change.Name)] = at
		}
	}
	if err := f.addGone(ctx, then, gone); err != nil {
		return err
	}
	for _, m := range f.Moved {
		delete(isNew, m.To)
	}
	maps.DeleteFunc(isNew, func(_ string, is bool) bool { return !is })
	f.Added = slices.Sorted(maps.Keys(isNew))
	return nil
}

// addGone adds the projects that are gone, by the names of their files from the top: they are removed or moved.
func (f *Fleet) addGone(ctx context.Context, then past, gone map[string]string) error {
	if len(gone) == 0 {
		return nil
	}
	tree, err := then.repository.ReadTree(ctx, then.commit, func(name, _ string) bool { return gone[name] != "" })
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if to := movedTo(tree, name, f.All); to == "" {
			f.Removed = append(f.Removed, gone[name])
		} else {
			f.Moved = append(f.Moved, Move{gone[name], to})
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

// Commit returns the commit that is checked out, or "" without one.
func (f Fleet) Commit(ctx context.Context) string {
	commit := ""
	if repository, err := git.OpenRepository(ctx, f.Root); err == nil {
		commit, _ = repository.Commit(ctx, "HEAD") // a new repository has none
	}
	return commit
}
