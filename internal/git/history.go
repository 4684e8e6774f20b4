package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// ErrUnrelated says that two commits have no ancestor in common, as far as their
// history is here.
var ErrUnrelated = errors.New("no ancestor in common")

// Offline returns the repository as far as it is here: git does not fetch what a partial
// clone left out.
func (r Repository) Offline() Repository {
	r.offline = true
	return r
}

// Partial reports whether this is a partial clone, which fetches what it lacks.
func (r Repository) Partial(ctx context.Context) bool {
	_, err := r.git(ctx, "", "config", "--get-regexp", `^remote\..*\.promisor$`)
	return err == nil
}

// BlobID returns the id that a file's content has in the repository.
func (r Repository) BlobID(content []byte) string { return blobID(hasher(r.format)(), content) }

// Parents returns the ids of a commit's parents, first parent first, whether they
// are here or not.
func (r Repository) Parents(ctx context.Context, commit string) ([]string, error) {
	out, err := r.git(ctx, "", "cat-file", "commit", commit)
	if err != nil {
		return nil, err
	}
	head, _, _ := strings.Cut(out, "\n\n")
	var parents []string
	for line := range strings.Lines(head) {
		if id, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, strings.TrimSpace(id))
		}
	}
	return parents, nil
}

// MergeBases returns the newest common ancestors of two commits, or ErrUnrelated.
// There are several where each was merged into the other.
func (r Repository) MergeBases(ctx context.Context, a, b string) ([]string, error) {
	out, err := r.git(ctx, "", "merge-base", "--all", a, b)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // whatever else goes wrong ends otherwise
		return nil, fmt.Errorf("%.12s and %.12s: %w: %w", a, b, ErrUnrelated, err)
	}
	return strings.Fields(out), err
}

// Missing counts the commits that other has, commit lacks, and that change one of the
// names.
func (r Repository) Missing(ctx context.Context, commit, other string, names []string) (int, error) {
	args := []string{"rev-list", "--count", commit + ".." + other, "--"}
	for _, name := range names {
		args = append(args, ":(literal)"+name)
	}
	out, err := r.git(ctx, "", args...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// DefaultBranch returns the default branch of remote origin, such as origin/main, or else
// its main or master; "" if there is none.
func (r Repository) DefaultBranch(ctx context.Context) (string, error) {
	const prefix = "refs/remotes/"
	out, err := r.git(ctx, "", "for-each-ref", "--format=%(refname) %(symref)", prefix+"origin/HEAD", prefix+"origin/main", prefix+"origin/master")
	if err != nil {
		return "", err
	}
	// They come in this order.
	for line := range strings.Lines(out) {
		name, aim, _ := strings.Cut(strings.TrimSpace(line), " ")
		return strings.TrimPrefix(cmp.Or(aim, name), prefix), nil
	}
	return "", nil
}
