package git

import (
	"context"
	"fmt"
	"strings"
)

// fetchTries bounds how often Fetch tries a ref that another run just made.
const fetchTries = 3

// Fetch fetches the newest commits of a ref, depth of them, and returns the newest; ""
// if the remote has no such ref.
func (m *Mirror) Fetch(ctx context.Context, ref string, depth int) (string, error) {
	for try := 1; ; try++ {
		tip, err := m.fetch(ctx, ref, depth)
		if err == nil {
			return tip, nil
		}
		// A fetch also fails if no ref matches the pattern.
		listed, lerr := m.listed(ctx, ref)
		switch {
		case lerr == nil && !listed:
			return "", nil
		case lerr != nil || try == fetchTries:
			return "", err
		}
	}
}

func (m *Mirror) fetch(ctx context.Context, ref string, depth int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	// A pattern, because a plain name would also find refs/heads/<name>.
	_, err := m.git(ctx, "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", fmt.Sprintf("--depth=%d", depth),
		"--prune", m.remote, "+"+ref+"*:"+tipRef+"*")
	if err != nil {
		return "", err
	}
	out, err := m.git(ctx, "", "for-each-ref", "--format=%(refname) %(objectname)", tipRef)
	for line := range strings.Lines(out) {
		if tip, exact := strings.CutPrefix(line, tipRef+" "); exact {
			return strings.TrimSpace(tip), err
		}
	}
	return "", err
}

func (m *Mirror) listed(ctx context.Context, ref string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	out, err := m.git(ctx, "", "ls-remote", "--quiet", m.remote, ref)
	return lists(out, ref), err
}

// lists reports whether a listing has exactly this ref: ls-remote also lists refs that
// end like it.
func lists(listing, ref string) bool {
	for line := range strings.Lines(listing) {
		if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); name == ref {
			return true
		}
	}
	return false
}

// Holds reports whether a commit is among the depth newest of a ref.
func (m *Mirror) Holds(ctx context.Context, ref string, depth int, commit string) (bool, error) {
	tip, err := m.Fetch(ctx, ref, depth)
	if err != nil || tip == "" {
		return false, err
	}
	out, err := m.git(ctx, "", "rev-list", fmt.Sprintf("--max-count=%d", depth), tip)
	return strings.Contains(out, commit), err
}
