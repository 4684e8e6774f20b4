package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/forge"
	"trueup/internal/git"
	"trueup/internal/plan"
)

// chooser finds the commit that holds what git said before this change. It asks
// no remote.
type chooser struct {
	git.Repository
	ci forge.Context
	// inCI says that a service runs this, known to forge or not.
	inCI bool
	// names are where the manifests are, from the repository's folder.
	names []string
	// head is the commit that is checked out.
	head string
}

// choose fills in blame: with a base, or with why there is none.
func (c *chooser) choose(ctx context.Context, ref string) plan.Blame {
	var err error
	if c.head, err = c.Commit(ctx, "HEAD"); err != nil {
		return plan.Blame{Problem: "the repository has no commit yet", Fix: "commit the manifests first"}
	}
	b := c.base(ctx, ref)
	b.Head = c.head
	return b
}

// base chooses by --base-ref, then by what CI says, then by the remote's default
// branch.
func (c *chooser) base(ctx context.Context, ref string) plan.Blame {
	if ref != "" {
		return c.since(ctx, ref, ref)
	}
	if b, ok := c.merged(ctx); ok {
		return b
	}
	if c.ci.BaseRef != "" {
		return c.target(ctx)
	}
	mainline, err := c.mainline(ctx)
	if err != nil {
		return unreadable(err)
	}
	if c.inCI && c.within(ctx, mainline) {
		return c.landed(ctx)
	}
	if mainline == "" {
		return plan.Blame{
			Problem: "the remote origin has no default branch to compare with",
			Fix:     "name a commit to compare with: --base-ref REF",
		}
	}
	return c.since(ctx, mainline, "refs/remotes/"+mainline)
}

// mainline is the remote's default branch, or empty where it is not here. What CI
// says of it is right; a clone may know but another branch of a usual name.
func (c *chooser) mainline(ctx context.Context) (string, error) {
	if c.ci.DefaultBranch == "" {
		return c.Mainline(ctx)
	}
	name := "origin/" + c.ci.DefaultBranch
	if _, err := c.Commit(ctx, "refs/remotes/"+name); err == nil {
		return name, nil
	}
	return "", nil
}

// merged recognises a merge that the code host made of a pull request: what it
// changes is what differs from its first parent, which is the target branch as
// it was then. A later one would show other people's merges as reversions, an
// earlier one as changes of this pull request.
func (c *chooser) merged(ctx context.Context) (plan.Blame, bool) {
	if c.ci.PullRequest == 0 || c.head == c.ci.HeadCommit {
		return plan.Blame{}, false
	}
	// A job may have checked out the branch itself, which can end in a merge as well.
	parents, err := c.Parents(ctx, c.head)
	if err != nil || len(parents) != 2 || c.head != c.ci.MergeCommit && parents[1] != c.ci.HeadCommit {
		return plan.Blame{}, false
	}
	b := plan.Blame{Ref: "the target branch", Merge: true}
	if c.ci.BaseRef != "" {
		b.Ref = "origin/" + c.ci.BaseRef
	}
	return c.exactly(ctx, b, parents[0], "the commit that the pull request is merged into"), true
}

// target compares with the branch that a pull request is to be merged into. One
// that waits in a queue is compared with what it is queued behind.
func (c *chooser) target(ctx context.Context) plan.Blame {
	shown := "origin/" + c.ci.BaseRef
	if c.ci.PullRequest == 0 && c.ci.BaseCommit != "" {
		return c.exactly(ctx, plan.Blame{Ref: shown}, c.ci.BaseCommit, "the commit before this one in the merge queue")
	}
	if _, err := c.Commit(ctx, "refs/remotes/"+shown); err == nil {
		return c.since(ctx, shown, "refs/remotes/"+shown)
	}
	if c.ci.BaseCommit != "" {
		return c.since(ctx, shown, c.ci.BaseCommit)
	}
	return c.absent(shown)
}

// within reports whether the commit is one of the default branch, or of a branch
// that nothing is known to be beside.
func (c *chooser) within(ctx context.Context, mainline string) bool {
	if mainline == "" {
		return true
	}
	bases, err := c.MergeBases(ctx, c.head, "refs/remotes/"+mainline)
	return err == nil && bases[0] == c.head
}

// landed compares with what the branch was before: before the push, where CI says
// so, else before the commit.
func (c *chooser) landed(ctx context.Context) plan.Blame {
	if before := c.ci.BaseCommit; before != "" {
		b := c.exactly(ctx, plan.Blame{Ref: "the branch before the push"}, before, "the branch before the push")
		if b.Base == "" && !c.Shallow {
			b.Problem += ": the branch was probably force-pushed"
		}
		return b
	}
	parents, err := c.Parents(ctx, c.head)
	switch {
	case err != nil:
		return unreadable(err)
	case len(parents) == 0:
		return plan.Blame{Problem: "this is the first commit, so there is nothing before it"}
	}
	return c.exactly(ctx, plan.Blame{Ref: "HEAD^"}, parents[0], "the commit before this one")
}

// exactly compares with a commit itself, which is called what.
func (c *chooser) exactly(ctx context.Context, b plan.Blame, id, what string) plan.Blame {
	commit, err := c.Commit(ctx, id)
	if err == nil {
		b.Base = commit
		return b
	}
	gone := c.absent(fmt.Sprintf("%s (%.12s)", what, id))
	b.Problem, b.Fix = gone.Problem, gone.Fix
	return b
}

// since compares with the newest common ancestor of a ref and of what is checked
// out, so that nothing of what the ref got meanwhile counts.
func (c *chooser) since(ctx context.Context, shown, ref string) plan.Blame {
	other, err := c.Commit(ctx, ref)
	if err != nil {
		b := c.absent(shown)
		b.Ref = shown
		return b
	}
	b := plan.Blame{Ref: shown}
	bases, err := c.ancestors(ctx, other)
	if err == nil {
		b.Base = bases[0]
	}
	switch {
	case errors.Is(err, git.ErrUnrelated) && c.Shallow:
		b.Problem = fmt.Sprintf("where this branch left %s is not in this shallow clone", shown)
		b.Fix = "fetch more history (in CI: fetch-depth: 0, or GIT_DEPTH: 0)"
	case errors.Is(err, git.ErrUnrelated):
		b.Problem = fmt.Sprintf("this branch has no commit in common with %s", shown)
		b.Fix = "name a commit to compare with: --base-ref REF"
	case err != nil:
		return unreadable(err)
	case len(bases) > 1:
		b.Problem = fmt.Sprintf("this branch and %s were merged into each other, so the plan may count changes of either as this branch's", shown)
		b.Fix = fmt.Sprintf("merge %s into it, or rebase it", shown)
	case b.Base != other:
		c.behind(ctx, &b, other)
	}
	return b
}

// ancestors are the newest common ones of a commit and of what is checked out. A
// shallow clone does not know the parents of its last commits, which name them all
// the same.
func (c *chooser) ancestors(ctx context.Context, other string) ([]string, error) {
	if c.Shallow {
		if parents, err := c.Parents(ctx, c.head); err == nil && slices.Contains(parents, other) {
			return []string{other}, nil
		}
	}
	return c.MergeBases(ctx, other, c.head)
}

// behind says that the branch lacks changes of its base: what live has of them
// looks here as if git had changed it back before.
func (c *chooser) behind(ctx context.Context, b *plan.Blame, other string) {
	n, err := c.Missing(ctx, c.head, other, c.names)
	if err != nil || n == 0 {
		return
	}
	commits := "1 commit"
	if n > 1 {
		commits = fmt.Sprintf("%d commits", n)
	}
	b.Problem = fmt.Sprintf("this branch lacks %s of %s in the manifests: apply from here would undo what they changed", commits, b.Ref)
	b.Fix = fmt.Sprintf("rebase it, or merge %s into it", b.Ref)
}

// absent says that a commit is not here.
func (c *chooser) absent(what string) plan.Blame {
	if c.Shallow {
		return plan.Blame{
			Problem: what + " is not in this shallow clone",
			Fix:     "fetch more history (in CI: fetch-depth: 0, or GIT_DEPTH: 0), or use --base-ref REF with a commit that is here",
		}
	}
	return plan.Blame{
		Problem: what + " is not in this clone",
		Fix:     "fetch it, or use --base-ref REF with a commit that is here",
	}
}

// unreadable says what git says.
func unreadable(err error) plan.Blame {
	var failed *git.Error
	text := err.Error()
	switch {
	case !errors.As(err, &failed):
	case failed.Said != "":
		text = "git says: " + strings.TrimPrefix(failed.Said, "fatal: ")
	default:
		text = failed.Err.Error()
	}
	return plan.Blame{Problem: text, Fix: "fix that, or name a commit to compare with: --base-ref REF"}
}
