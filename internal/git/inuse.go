package git

import (
	"context"
	"slices"
	"strings"
)

// InUse says what else a branch is for: it is checked out in a work tree of the
// user's repository, or the default branch of the repository or of the remote. It
// is "" for a branch that is neither, and for a ref that is no branch.
func (m *Mirror) InUse(ctx context.Context, ref string) (string, error) {
	if !strings.HasPrefix(ref, "refs/heads/") {
		return "", nil
	}
	trees, err := m.user(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	// Some file systems hold no two names that differ in case alone.
	if slices.ContainsFunc(strings.Split(trees, "\n"), func(line string) bool { return strings.EqualFold(line, "branch "+ref) }) {
		return "it is checked out here", nil
	}
	// A clone need not know one.
	known, _ := m.user(ctx, "symbolic-ref", "--quiet", "refs/remotes/"+m.remote+"/HEAD")
	if strings.EqualFold(strings.TrimSpace(known), "refs/remotes/"+m.remote+"/"+strings.TrimPrefix(ref, "refs/heads/")) {
		return "it is the default branch", nil
	}
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	head, err := m.git(ctx, "", "ls-remote", "--quiet", "--symref", m.remote, "HEAD")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(head) {
		if strings.EqualFold(strings.TrimSpace(line), "ref: "+ref+"\tHEAD") {
			return "it is the default branch", nil
		}
	}
	return "", nil
}

// user runs a command that reads the user's repository.
func (m *Mirror) user(ctx context.Context, args ...string) (string, error) {
	out, err := call{dir: m.top, alone: true, args: args}.run(ctx)
	return string(out), err
}
