package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/forge"
	"trueup/internal/git"
	"trueup/internal/plan"
)

type baseFinder struct {
	git.Repository
	ci    forge.Context
	inCI  bool
	names []string // where the manifests are, from the repository's folder
	head  string   // the commit that is checked out
}

// findBase returns the base, or why there is none. It takes --base-ref, then what CI says, then the
// remote's default branch.
func (f *baseFinder) findBase(ctx context.Context, ref string) plan.Blame {
	var err error
	if f.head, err = f.Commit(ctx, "HEAD"); err != nil {
		return plan.Blame{Problem: "the repository has no commit yet", Fix: "commit the manifests first"}
	}
	if ref != "" {
		return f.useMergeBase(ctx, ref, ref)
	}
	if b, ok := f.fromMergeCommit(ctx); ok {
		return b
	}
	if f.ci.BaseRef != "" {
		return f.fromTargetBranch(ctx)
	}
	mainline, err := f.findMainline(ctx)
	switch {
	case err != nil:
		return unreadableBase(err)
	case f.inCI && f.isOnMainline(ctx, mainline):
		return f.fromPush(ctx)
	case mainline == "":
		problem := "the remote origin has no default branch to compare with"
		if f.Remote(ctx, "origin") == "" {
			problem = "there is no remote origin to compare with"
		}
		return plan.Blame{Problem: problem, Fix: "name a commit to compare with: --base-ref REF"}
	}
	return f.useMergeBase(ctx, mainline, "refs/remotes/"+mainline)
}

// findMainline returns the remote's default branch, empty if it is not here. It trusts CI first,
// because a clone may only have another branch with a usual name.
func (f *baseFinder) findMainline(ctx context.Context) (string, error) {
	if f.ci.DefaultBranch == "" {
		return f.DefaultBranch(ctx)
	}
	name := "origin/" + f.ci.DefaultBranch
	if _, err := f.Commit(ctx, "refs/remotes/"+name); err == nil {
		return name, nil
	}
	return "", nil
}

// fromMergeCommit recognises a merge that the code host made of a pull request. Its base is the first
// parent, the target branch at that time: a later commit would show other people's merges as
// reverted, an earlier one as changes of this pull request.
func (f *baseFinder) fromMergeCommit(ctx context.Context) (plan.Blame, bool) {
	if f.ci.PullRequest == 0 || f.head == f.ci.HeadCommit {
		return plan.Blame{}, false
	}
	// A job may have checked out the branch itself, which can end in a merge as well.
	parents, err := f.Parents(ctx, f.head)
	if err != nil || len(parents) != 2 || f.head != f.ci.MergeCommit && parents[1] != f.ci.HeadCommit {
		return plan.Blame{}, false
	}
	b := plan.Blame{Ref: "the target branch", Merge: true}
	if f.ci.BaseRef != "" {
		b.Ref = "origin/" + f.ci.BaseRef
	}
	return f.useCommit(ctx, b, parents[0], "the commit that the pull request is merged into"), true
}

// fromTargetBranch compares with the target branch of a pull request, or in a merge queue with the commit before this one.
func (f *baseFinder) fromTargetBranch(ctx context.Context) plan.Blame {
	shown := "origin/" + f.ci.BaseRef
	if f.ci.PullRequest == 0 && f.ci.BaseCommit != "" {
		return f.useCommit(ctx, plan.Blame{Ref: shown}, f.ci.BaseCommit, "the commit before this one in the merge queue")
	}
	if _, err := f.Commit(ctx, "refs/remotes/"+shown); err == nil {
		return f.useMergeBase(ctx, shown, "refs/remotes/"+shown)
	}
	if f.ci.BaseCommit != "" {
		return f.useMergeBase(ctx, shown, f.ci.BaseCommit)
	}
	return f.missingCommit(plan.Blame{}, shown)
}

// isOnMainline reports whether the commit is one of the default branch, or no other branch is known.
func (f *baseFinder) isOnMainline(ctx context.Context, mainline string) bool {
	if mainline == "" {
		return true
	}
	bases, err := f.MergeBases(ctx, f.head, "refs/remotes/"+mainline)
	return err == nil && bases[0] == f.head
}

// fromPush compares with the branch before the push, if CI says so, else before the commit.
func (f *baseFinder) fromPush(ctx context.Context) plan.Blame {
	if before := f.ci.BaseCommit; before != "" {
		b := f.useCommit(ctx, plan.Blame{Ref: "the branch before the push"}, before, "the branch before the push")
		if b.Base == "" && !f.Shallow {
			b.Problem += ": the branch was probably force-pushed"
		}
		return b
	}
	parents, err := f.Parents(ctx, f.head)
	switch {
	case err != nil:
		return unreadableBase(err)
	case len(parents) == 0:
		return plan.Blame{Problem: "this is the first commit, so there is nothing before it"}
	}
	return f.useCommit(ctx, plan.Blame{Ref: "HEAD^"}, parents[0], "the commit before this one")
}

// useCommit compares with this commit, which messages call what.
func (f *baseFinder) useCommit(ctx context.Context, b plan.Blame, id, what string) plan.Blame {
	commit, err := f.Commit(ctx, id)
	if err == nil {
		b.Base = commit
		return b
	}
	return f.missingCommit(b, fmt.Sprintf("%s (%.12s)", what, id))
}

// useMergeBase compares with the newest common ancestor of HEAD and a ref, so that commits that the ref
// got since do not count.
func (f *baseFinder) useMergeBase(ctx context.Context, shown, ref string) plan.Blame {
	b := plan.Blame{Ref: shown}
	other, err := f.Commit(ctx, ref)
	if err != nil {
		return f.missingCommit(b, shown)
	}
	bases, err := f.commonAncestors(ctx, other)
	if err == nil {
		b.Base = bases[0]
	}
	switch {
	case errors.Is(err, git.ErrUnrelated) && f.Shallow:
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
		if n, err := f.CountMissing(ctx, f.head, other, f.names); err == nil && n > 0 {
			b.Problem = fmt.Sprintf("this branch lacks %s of %s that changed manifests: apply from this branch would undo them",
				diag.Plural(n, "commit", "commits"), b.Ref)
			b.Fix = fmt.Sprintf("rebase this branch, or merge %s into it", b.Ref)
		}
	}
	return b
}

// commonAncestors returns the newest common ancestors of a commit and HEAD. In a shallow clone the last
// commits have no parents, but they name them.
func (f *baseFinder) commonAncestors(ctx context.Context, other string) ([]string, error) {
	if f.Shallow {
		if parents, err := f.Parents(ctx, f.head); err == nil && slices.Contains(parents, other) {
			return []string{other}, nil
		}
	}
	return f.MergeBases(ctx, other, f.head)
}

func (f *baseFinder) missingCommit(b plan.Blame, what string) plan.Blame {
	clone, fix := "clone", "fetch it,"
	if f.Shallow {
		clone, fix = "shallow clone", "fetch more history (in CI: fetch-depth: 0, or GIT_DEPTH: 0),"
	}
	b.Problem, b.Fix = what+" is not in this "+clone, fix+" or name a commit that this clone has: --base-ref REF"
	return b
}

func unreadableBase(err error) plan.Blame {
	text := err.Error()
	failed, ok := errors.AsType[*git.CommandError](err)
	switch {
	case !ok:
	case failed.Said != "":
		text = "git says: " + strings.TrimPrefix(failed.Said, "fatal: ")
	default:
		text = failed.Err.Error()
	}
	return plan.Blame{Problem: text, Fix: "fix that, or name a commit to compare with: --base-ref REF"}
}
