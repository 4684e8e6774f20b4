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
