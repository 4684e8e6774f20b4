package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/git"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
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

// maxOlder limits the commits that the ledger knows to be older.
const maxOlder = 200

// AddOlder adds, to the ancestors of the commit that is checked out, those that an apply of it must keep older: what was
// applied before, if that is older, and what was older then. A commit that a person chose to go back to forgets the latter.
func (o CommitOrder) AddOlder(ancestors []string, applied *ledger.ApplyHead) []string {
	var more []string
	applied = cmp.Or(applied, &ledger.ApplyHead{})
	switch {
	case o.Ancestor:
	case o.Unclear != "":
		more = applied.Ancestors
	case applied.NewestCommit() != "":
		more = append([]string{ShortID(applied.NewestCommit())}, applied.Ancestors...)
	}
	for _, id := range more {
		if !slices.Contains(ancestors, id) && id != ShortID(o.Commit) {
			ancestors = append(ancestors, id)
		}
	}
	return ancestors[:min(len(ancestors), maxOlder)]
}

// CompareWithApplied compares the commit that is checked out with the one that was applied; nil is none. It never fails a run.
func (r *CommitReader) CompareWithApplied(ctx context.Context, applied *ledger.ApplyHead, withDirty bool) CommitOrder {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if problem := r.explainable(ctx); problem.Problem != "" {
		return CommitOrder{Unclear: problem.Problem}
	}
	if r.head == "" {
		r.head, _ = r.repository.ResolveCommit(ctx, "HEAD")
	}
	o := CommitOrder{Commit: r.head}
	switch {
	case o.Commit == "":
		return CommitOrder{Unclear: "the repository has no commit yet"}
	case applied.NewestCommit() == "" || applied.NewestCommit() == o.Commit:
	case slices.Contains(applied.Ancestors, ShortID(o.Commit)): // a clone may lack the commit
		o.Ancestor = true
	default:
		o.Ancestor, o.Unclear = r.compareCommits(ctx, applied.NewestCommit())
	}
	if withDirty || o.Ancestor {
		o.Dirty = r.hasUncommitted(ctx)
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
	if r.explainable(ctx).Problem != "" {
		return nil
	}
	line, err := r.repository.ListCommits(ctx, maxAncestors+1)
	if err != nil || len(line) == 0 {
		return nil
	}
	return diag.MapList(line[1:], ShortID)
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
	if name, err := filepath.Rel(r.dir, filepath.Join(r.Project.Dir, config.ProjectFile)); err == nil && r.Project.Dir != "" {
		paths, read[path.Clean(filepath.ToSlash(name))] = append(paths, filepath.ToSlash(name)), true
	}
	for _, o := range r.Set.Objects {
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

// findBase returns the base, or why there is none. It takes --base-ref, then what CI says, then the
// remote's default branch.
func (r *CommitReader) findBase(ctx context.Context, ref string) plan.ComparedCommits {
	var err error
	if r.head, err = r.repository.ResolveCommit(ctx, "HEAD"); err != nil {
		return plan.ComparedCommits{Problem: "the repository has no commit yet", Fix: "commit the manifests first"}
	}
	if ref != "" {
		return r.baseFromMergeBase(ctx, ref, ref)
	}
	if b, ok := r.baseFromMergeCommit(ctx); ok {
		return b
	}
	if r.ci.BaseRef != "" {
		return r.baseFromTargetBranch(ctx)
	}
	mainline, err := r.findMainline(ctx)
	switch {
	case err != nil:
		return unreadableBase(err)
	case r.env.InCI() && r.isOnMainline(ctx, mainline):
		return r.baseFromPush(ctx)
	case mainline == "":
		problem := "the remote origin has no default branch to compare with"
		if r.repository.RemoteURL(ctx, "origin") == "" {
			problem = "there is no remote origin to compare with"
		}
		return plan.ComparedCommits{Problem: problem, Fix: "name a commit to compare with: --base-ref REF"}
	}
	return r.baseFromMergeBase(ctx, mainline, "refs/remotes/"+mainline)
}

// findMainline returns the remote's default branch, empty if it is not here. It trusts CI first,
// because a clone may only have another branch with a usual name.
func (r *CommitReader) findMainline(ctx context.Context) (string, error) {
	if r.ci.DefaultBranch == "" {
		return r.repository.DefaultBranch(ctx)
	}
	name := "origin/" + r.ci.DefaultBranch
	if _, err := r.repository.ResolveCommit(ctx, "refs/remotes/"+name); err == nil {
		return name, nil
	}
	return "", nil
}

// baseFromMergeCommit recognises a merge that the code host made of a pull request. Its base is the first
// parent, the target branch at that time: a later commit would show other people's merges as
// reverted, an earlier one as changes of this pull request.
func (r *CommitReader) baseFromMergeCommit(ctx context.Context) (plan.ComparedCommits, bool) {
	if r.ci.PullRequest == 0 || r.head == r.ci.HeadCommit {
		return plan.ComparedCommits{}, false
	}
	// A job may have checked out the branch itself, which can end in a merge as well.
	parents, err := r.repository.Parents(ctx, r.head)
	if err != nil || len(parents) != 2 || r.head != r.ci.MergeCommit && parents[1] != r.ci.HeadCommit {
		return plan.ComparedCommits{}, false
	}
	b := plan.ComparedCommits{Ref: "the target branch", Merge: true}
	if r.ci.BaseRef != "" {
		b.Ref = "origin/" + r.ci.BaseRef
	}
	return r.baseFromCommit(ctx, b, parents[0], "the commit that the pull request is merged into"), true
}

// baseFromTargetBranch compares with the target branch of a pull request, or in a merge queue with the commit before this one.
func (r *CommitReader) baseFromTargetBranch(ctx context.Context) plan.ComparedCommits {
	shown := "origin/" + r.ci.BaseRef
	if r.ci.PullRequest == 0 && r.ci.BaseCommit != "" {
		return r.baseFromCommit(ctx, plan.ComparedCommits{Ref: shown}, r.ci.BaseCommit, "the commit before this one in the merge queue")
	}
	if _, err := r.repository.ResolveCommit(ctx, "refs/remotes/"+shown); err == nil {
		return r.baseFromMergeBase(ctx, shown, "refs/remotes/"+shown)
	}
	if r.ci.BaseCommit != "" {
		return r.baseFromMergeBase(ctx, shown, r.ci.BaseCommit)
	}
	return r.missingCommit(plan.ComparedCommits{}, shown)
}

// isOnMainline reports whether the commit is one of the default branch, or no other branch is known.
func (r *CommitReader) isOnMainline(ctx context.Context, mainline string) bool {
	if mainline == "" {
		return true
	}
	bases, err := r.repository.MergeBases(ctx, r.head, "refs/remotes/"+mainline)
	return err == nil && bases[0] == r.head
}

// baseFromPush compares with the branch before the push, if CI says so, else before the commit.
func (r *CommitReader) baseFromPush(ctx context.Context) plan.ComparedCommits {
	if before := r.ci.BaseCommit; before != "" {
		b := r.baseFromCommit(ctx, plan.ComparedCommits{Ref: "the branch before the push"}, before, "the branch before the push")
		if b.Base == "" && !r.repository.Shallow {
			b.Problem += ": the branch was probably force-pushed"
		}
		return b
	}
	parents, err := r.repository.Parents(ctx, r.head)
	switch {
	case err != nil:
		return unreadableBase(err)
	case len(parents) == 0:
		return plan.ComparedCommits{Problem: "this is the first commit, so there is nothing before it"}
	}
	return r.baseFromCommit(ctx, plan.ComparedCommits{Ref: "HEAD^"}, parents[0], "the commit before this one")
}

// baseFromCommit compares with this commit, which messages call what.
func (r *CommitReader) baseFromCommit(ctx context.Context, b plan.ComparedCommits, id, what string) plan.ComparedCommits {
	commit, err := r.repository.ResolveCommit(ctx, id)
	if err == nil {
		b.Base = commit
		return b
	}
	return r.missingCommit(b, fmt.Sprintf("%s (%.12s)", what, id))
}

// baseFromMergeBase compares with the newest common ancestor of HEAD and a ref, so that commits that the ref
// got since do not count.
func (r *CommitReader) baseFromMergeBase(ctx context.Context, shown, ref string) plan.ComparedCommits {
	b := plan.ComparedCommits{Ref: shown}
	other, err := r.repository.ResolveCommit(ctx, ref)
	if err != nil {
		return r.missingCommit(b, shown)
	}
	bases, err := r.commonAncestors(ctx, other)
	if err == nil {
		b.Base = bases[0]
	}
	switch {
	case errors.Is(err, git.ErrUnrelated) && r.repository.Shallow:
		b.Problem = fmt.Sprintf("this shallow clone lacks the commit where this branch began on %s", shown)
		b.Fix = "fetch more history (in CI: fetch-depth: 0, or GIT_DEPTH: 0)"
	case errors.Is(err, git.ErrUnrelated):
		b.Problem = fmt.Sprintf("this branch has no commit in common with %s", shown)
		b.Fix = "name a commit to compare with: --base-ref REF"
	case err != nil:
		return unreadableBase(err)
	case len(bases) > 1:
		b.Problem = fmt.Sprintf("this branch and %s were merged into each other, so the plan may confuse their changes", shown)
		b.Fix = fmt.Sprintf("merge %s into this branch, or rebase this branch", shown)
	case b.Base != other:
		if n, err := r.repository.CountMissingCommits(ctx, r.head, other, r.names); err == nil && n > 0 {
			b.Problem = fmt.Sprintf("this branch lacks %s of %s that changed manifests: apply from this branch would undo them",
				diag.Plural(n, "commit", "commits"), b.Ref)
			b.Fix = fmt.Sprintf("rebase this branch, or merge %s into it", b.Ref)
		}
	}
	return b
}

// commonAncestors returns the newest common ancestors of a commit and HEAD. In a shallow clone the last
// commits have no parents, but they name them.
func (r *CommitReader) commonAncestors(ctx context.Context, other string) ([]string, error) {
	if r.repository.Shallow {
		if parents, err := r.repository.Parents(ctx, r.head); err == nil && slices.Contains(parents, other) {
			return []string{other}, nil
		}
	}
	return r.repository.MergeBases(ctx, other, r.head)
}

func (r *CommitReader) missingCommit(b plan.ComparedCommits, what string) plan.ComparedCommits {
	clone, fix := "clone", "fetch it,"
	if r.repository.Shallow {
		clone, fix = "shallow clone", "fetch more history (in CI: fetch-depth: 0, or GIT_DEPTH: 0),"
	}
	b.Problem, b.Fix = what+" is not in this "+clone, fix+" or name a commit that this clone has: --base-ref REF"
	return b
}

func unreadableBase(err error) plan.ComparedCommits {
	text := err.Error()
	if failed, ok := errors.AsType[*git.CommandError](err); ok {
		text = cmp.Or(strings.TrimPrefix(failed.Said, "fatal: "), failed.Err.Error())
	}
	return plan.ComparedCommits{Problem: text, Fix: "fix that, or name a commit to compare with: --base-ref REF"}
}
