package reconcile

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/git"
	"trueup/internal/manifest"
)

// CommitOrder compares the files of a run with a commit that was applied.
type CommitOrder struct {
	Commit string // the one that is checked out, or empty
	// Dirty means that the project's files are not those of Commit. It is only known if that was asked for.
	Dirty bool
	// Ancestor means that the applied commit contains Commit and more. Unclear says why it may do so or not.
	Ancestor bool
	Unclear  string
}

// IsOlder reports whether the files of the run are certainly older than those of the commit that was applied.
func (o CommitOrder) IsOlder() bool { return o.Ancestor && !o.Dirty }

// AppliedCommit is a commit that was applied, which may be empty, and abbreviated ancestors of it: a clone may lack the commit.
type AppliedCommit struct {
	Commit    string
	Ancestors []string
}

// maxOlder limits the commits that the ledger knows to be older.
const maxOlder = 200

// AddOlder adds, to the ancestors of the commit that is checked out, those that an apply of it must keep older: what was
// applied before, if that is older, and what was older then. A commit that a person chose to go back to forgets the latter.
func (o CommitOrder) AddOlder(ancestors []string, applied AppliedCommit) []string {
	var more []string
	switch {
	case o.Ancestor:
	case o.Unclear != "":
		more = applied.Ancestors
	case applied.Commit != "":
		more = append([]string{ShortID(applied.Commit)}, applied.Ancestors...)
	}
	for _, id := range more {
		if !slices.Contains(ancestors, id) && id != ShortID(o.Commit) {
			ancestors = append(ancestors, id)
		}
	}
	return ancestors[:min(len(ancestors), maxOlder)]
}

// Order compares the commit that is checked out with the one that was applied. It never fails a run.
func (r *CommitReader) Order(ctx context.Context, applied AppliedCommit, withDirty bool) CommitOrder {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, problem := r.withRepository(ctx)
	if problem.Problem != "" {
		return CommitOrder{Unclear: problem.Problem}
	}
	if p.head == "" {
		p.head, _ = p.repository.Commit(ctx, "HEAD")
	}
	o := CommitOrder{Commit: p.head}
	switch {
	case o.Commit == "":
		return CommitOrder{Unclear: "the repository has no commit yet"}
	case applied.Commit == "" || applied.Commit == o.Commit:
	case slices.Contains(applied.Ancestors, ShortID(o.Commit)):
		o.Ancestor = true
	default:
		o.Ancestor, o.Unclear = p.compareCommits(ctx, applied.Commit)
	}
	if withDirty || o.Ancestor {
		o.Dirty = p.hasUncommitted(ctx)
	}
	if o.Dirty && o.Ancestor {
		o.Unclear = "the files differ from those of this commit"
	}
	return o
}

// maxAncestors is how many commits may follow one whose run is late, until only a clone with both commits shows it.
const maxAncestors = 100

// Ancestors returns the abbreviated ids of the newest ancestors of the commit that is checked out.
func (r *CommitReader) Ancestors(ctx context.Context) (ids []string) {
	p, problem := r.withRepository(ctx)
	if problem.Problem != "" {
		return nil
	}
	line, err := p.repository.ListCommits(ctx, maxAncestors+1)
	if err != nil || len(line) == 0 {
		return nil
	}
	for _, id := range line[1:] {
		ids = append(ids, ShortID(id))
	}
	return ids
}

// ShortID returns the beginning of a commit's id that no other commit has.
func ShortID(id string) string { return id[:min(len(id), 12)] }

func (r *CommitReader) compareCommits(ctx context.Context, applied string) (isAncestor bool, unclear string) {
	bases, err := r.repository.MergeBases(ctx, r.head, applied)
	switch {
	case err == nil && bases[0] == r.head:
		return true, ""
	case err == nil && bases[0] == applied:
		return false, ""
	case err != nil && !errors.Is(err, git.ErrUnrelated):
		return false, "this clone does not have that commit"
	case r.repository.Shallow:
		return false, "this shallow clone lacks the commits between them"
	}
	return false, "neither contains the other"
}

// hasUncommitted reports whether a file that the project reads is not as in the commit, or git can't tell.
func (r *CommitReader) hasUncommitted(ctx context.Context) bool {
	paths, read := slices.Clone(r.names), map[string]bool{}
	if name, err := filepath.Rel(r.dir, filepath.Join(r.cfg.Project.Dir, config.ProjectFile)); err == nil && r.cfg.Project.Dir != "" {
		paths, read[path.Clean(filepath.ToSlash(name))] = append(paths, filepath.ToSlash(name)), true
	}
	for _, o := range r.cfg.Set.Objects {
		read[r.fileOf(o.Path)] = true
	}
	changed, added, err := r.repository.UncommittedNames(ctx, paths)
	return err != nil || slices.ContainsFunc(changed, manifest.IsFile) || slices.ContainsFunc(added, func(name string) bool {
		for end := name; end != ""; _, end, _ = strings.Cut(end, "/") {
			if read[end] {
				return true
			}
		}
		return false
	})
}
