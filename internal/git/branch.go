package git

import (
	"context"
	"strings"
)

// Branch returns the branch that is checked out, which may have no commit yet; ""
// where a commit is.
func (r Repository) Branch(ctx context.Context) string {
	aim, err := r.git(ctx, "", "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return "" // so git says of a commit
	}
	return strings.TrimPrefix(strings.TrimSpace(aim), "refs/heads/")
}

// Remote returns the address of a remote, as the clone has it, or "" where it has
// none of that name. It may hold a password: it is not to be shown.
func (r Repository) Remote(ctx context.Context, name string) string {
	address, err := r.git(ctx, "", "config", "--get", "remote."+name+".url")
	if err != nil {
		return "" // so git says of none
	}
	return strings.TrimSpace(address)
}
