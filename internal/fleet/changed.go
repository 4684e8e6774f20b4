package fleet

import (
	"cmp"
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

// changed is what differs between a commit and the work tree.
type changed struct {
	Facts
	// names are from the folder of the search; one may be a folder of git's. folders are all those above them.
	names, folders map[string]bool
}

// has reports whether a file in the folder of a project differs, or a folder above it, which was a link or a submodule.
func (c changed) has(p Project) bool {
	for at := range above(p.Path) {
		if c.names[at] {
			return true
		}
	}
	return c.names[p.Path] || c.folders[p.Path]
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

// since compares the work tree with a commit.
func since(ctx context.Context, ref string, f Fleet) (c changed, err error) {
	repository, err := git.At(ctx, f.Root)
	if err != nil {
		return c, fmt.Errorf("%w: run trueup in a clone of the repository", err)
	}
	commit, err := repository.Commit(ctx, ref)
	switch {
	case errors.Is(err, git.ErrNoCommit) && repository.Shallow:
		return c, errors.New("this shallow clone lacks the commit: fetch it, or check out the whole history (fetch-depth: 0, GIT_DEPTH: 0)")
	case errors.Is(err, git.ErrNoCommit):
		return c, errors.New("the repository has no such commit: fetch it, or name another")
	case err != nil:
		return c, err
	}
	top, folder, err := repository.Top(ctx)
	if err != nil {
		return c, err
	}
	list, err := repository.ChangesSince(ctx, commit)
	if err != nil {
		return c, err
	}
	then := past{repository.In(top), commit, folder, list}
	c.Since = commit
	c.names, c.folders = map[string]bool{}, map[string]bool{}
	for _, change := range then.below() {
		c.names[change.Name] = true
		for at := range above(change.Name) {
			c.folders[at] = true
		}
	}
	err = c.readPast(ctx, f.All, then)
	return c, err
}

// past is a commit, and what differs from it.
type past struct {
	repository git.Repository // seen from its top
	commit     string
	folder     string // that of the search, from the top
	changes    []git.Change
}

// below returns the changes below the folder of the search, with names that start from it.
func (t past) below() (list []git.Change) {
	for _, change := range t.changes {
		name, in := change.Name, true
		if t.folder != "." {
			name, in = strings.CutPrefix(change.Name, t.folder+"/")
		}
		if in && !change.Same {
			change.Name = name
			list = append(list, change)
		}
	}
	return list
}

// readPast finds which projects are new, gone or in another folder. It reads the settings that the commit had of those
// that are gone.
func (c *changed) readPast(ctx context.Context, all []Project, then past) error {
	gone, isNew := then.gone(all), map[string]bool{}
	for _, change := range then.below() {
		if at, name := path.Split(change.Name); name == project.File {
			_, twice := isNew[path.Clean(at)] // git has two changes for a file that it no longer tracks
			isNew[path.Clean(at)] = change.Was == git.Absent && !twice
		}
	}
	if len(gone) > 0 {
		tree, err := then.repository.Tree(ctx, then.commit, func(name, _ string) bool { return gone[name] != "" })
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(gone)) {
			if to := movedTo(tree, name, all); to == "" {
				c.Removed = append(c.Removed, gone[name])
			} else {
				c.Moved = append(c.Moved, Move{gone[name], to})
				delete(isNew, to)
			}
		}
	}
	for _, p := range all {
		if isNew[p.Path] {
			c.Added = append(c.Added, p.Path)
		}
	}
	return nil
}

// gone returns the paths of projects that the commit had and that are gone, by the names of their files from the top.
func (t past) gone(all []Project) map[string]string {
	exists, gone := map[string]bool{}, map[string]string{}
	for _, p := range all { // git has two changes for a file that it no longer tracks
		exists[p.Path] = true
	}
	for _, change := range t.below() {
		at, name := path.Split(change.Name)
		isGone := name == project.File && change.Was != git.Absent && change.Is == git.Absent
		if isGone && !exists[path.Clean(at)] && !strings.Contains("/"+at, "/.") {
			gone[path.Join(t.folder, change.Name)] = path.Clean(at)
		}
	}
	return gone
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
	repository, err := git.At(ctx, f.Root)
	if err != nil {
		return "", ""
	}
	if commit, err = repository.Commit(ctx, "HEAD"); err != nil {
		return "", "" // a new repository has none
	}
	_, folder, err := repository.Top(ctx)
	list, failed := repository.ChangesSince(ctx, commit)
	if err = cmp.Or(err, failed); err != nil {
		return commit, "unknown: " + err.Error()
	}
	digest, none, projects := sha256.New(), true, map[string]Project{}
	for _, p := range f.All {
		projects[p.Path] = p
	}
	for _, change := range (past{folder: folder, changes: list}).below() {
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
		return commit, ""
	}
	return commit, fmt.Sprintf("sha256:%x", digest.Sum(nil))
}

// maxDirty limits a file that counts in a digest, in bytes.
const maxDirty = 64 << 20
