package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
	projects map[string]bool // by path, those that read a file that differs
	names    map[string]bool // from the folder of the search; one may be a folder of git's
	read     []git.Change    // of files that a project reads
}

func (c changed) has(p Project) bool {
	if c.projects[p.Path] {
		return true
	}
	for above := p.Path; above != "."; above = path.Dir(above) {
		if c.names[above] { // it was a link or a file, or it is another commit of a submodule
			return true
		}
	}
	return false
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
	c.projects, c.names = map[string]bool{}, map[string]bool{}
	then := past{repository.In(top), commit, folder, list}
	c.Since = commit
	c.compare(f.All, then.below())
	err = c.readPast(ctx, f.All, then)
	return c, err
}

// compare finds the projects that read what differs.
func (c *changed) compare(all []Project, list []git.Change) {
	at := map[string]Project{}
	for _, p := range all {
		at[p.Path] = p
	}
	for _, change := range list {
		c.names[change.Name] = true
		isRead := false
		for above := change.Name; above != "."; {
			above = path.Dir(above)
			if p, ok := at[above]; ok && p.reads(change) {
				c.projects[above], isRead = true, true
			}
		}
		if isRead {
			c.read = append(c.read, change)
		}
	}
}

// reads reports whether the project reads a file below its folder, before or after the change. Settings that differ
// select the project, so those of now decide. Any new or removed file counts in a folder that manifests: names: without
// its last file the folder is gone, which is an error.
func (p Project) reads(change git.Change) bool {
	full := filepath.Join(p.Dir, filepath.FromSlash(strings.TrimPrefix(change.Name, p.Path+"/")))
	special := func(k git.FileKind) bool { return k != git.Regular && k != git.Absent }
	switch {
	case p.Err != nil || special(change.Was) || special(change.Is) || p.hasLinks():
		return true // nobody knows which files it reads
	case full == filepath.Join(p.Dir, project.File):
		return true
	case manifest.IsFile(change.Name) && p.Settings.Reads(p.Dir, full):
		return true
	}
	return slices.ContainsFunc(p.Settings.Manifests, func(name string) bool {
		place := filepath.Join(p.Dir, name)
		isNewOrGone := change.Was == git.Absent || change.Is == git.Absent
		return full == place || isNewOrGone && strings.HasPrefix(full, place+string(filepath.Separator))
	})
}

// hasLinks reports whether trueup.yaml or a place of manifests is behind a link.
func (p Project) hasLinks() bool {
	return slices.ContainsFunc(append([]string{project.File}, p.Settings.Manifests...), func(name string) bool {
		for name = filepath.Clean(name); name != "."; name = filepath.Dir(name) {
			if info, err := os.Lstat(filepath.Join(p.Dir, name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return true
			}
		}
		return false
	})
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
	c, digest := changed{projects: map[string]bool{}, names: map[string]bool{}}, sha256.New()
	c.compare(f.All, past{folder: folder, changes: list}.below())
	if len(c.read) == 0 {
		return commit, ""
	}
	for _, change := range c.read {
		text, _, _ := files.Read(filepath.Join(f.Root, filepath.FromSlash(change.Name)), maxDirty) // it may be gone
		_, _ = fmt.Fprintf(digest, "%q %q %d\n", change.Name, text, change.Is)
	}
	return commit, fmt.Sprintf("sha256:%x", digest.Sum(nil))
}

// maxDirty limits a file that counts in a digest, in bytes.
const maxDirty = 64 << 20
