package git

import (
	"context"
	"fmt"
	"strings"
)

// fetchTries is how often a ref is fetched that was made meanwhile.
const fetchTries = 3

// Fetch brings the newest commits of a ref, depth of them, without their files
// if the remote can leave them out, and returns the newest; "" means that the
// remote has no such ref.
func (m *Mirror) Fetch(ctx context.Context, ref string, depth int) (string, error) {
	for try := 1; ; try++ {
		// Of filters, tree:0 and blob:none are those that every host takes which
		// has any.
		err := m.fetchRef(ctx, ref, fmt.Sprintf("--depth=%d", depth), "--filter=tree:0")
		if err == nil {
			return m.tip(ctx)
		}
		// It also fails where nothing is like the pattern.
		listed, lerr := m.listed(ctx, ref)
		switch {
		case lerr == nil && !listed:
			return "", nil
		case lerr != nil || try == fetchTries:
			return "", err
		}
	}
}

func (m *Mirror) fetchRef(ctx context.Context, ref string, args ...string) error {
	m.mu.Lock()
	m.ref = ref
	m.mu.Unlock()
	// A pattern, because a plain name would also find refs/heads/<name>.
	return m.fetch(ctx, nil, "", append(args, "--prune", m.remote, "+"+ref+"*:"+tipRef+"*")...)
}

// tip is what Fetch brought last.
func (m *Mirror) tip(ctx context.Context) (string, error) {
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

// fetch runs git fetch as from a remote that promised the objects which it
// leaves out: with that git takes part of a commit. No other command is told of
// the promise, so that git never asks for missing objects by itself, one by one.
func (m *Mirror) fetch(ctx context.Context, more []setting, in string, args ...string) error {
	select {
	case m.fetching <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.fetching }()
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	ofRemote := "remote." + m.remote + "."
	more = append(more, setting{ofRemote + "promisor", "true"}, setting{ofRemote + "partialclonefilter", "tree:0"})
	_, err := m.gitWith(ctx, more, in, append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head"}, args...)...)
	return err
}

// request asks the remote for objects, in one conversation; whole also for all
// that trees among them hold.
func (m *Mirror) request(ctx context.Context, ids []string, whole bool) error {
	filter := "--filter=tree:0"
	if whole {
		filter = "--no-filter"
	}
	// What is here of a commit would else count as all of it.
	tellNothing := []setting{{"fetch.negotiationAlgorithm", "noop"}}
	err := m.fetch(ctx, tellNothing, strings.Join(ids, "\n")+"\n", filter, "--stdin", m.remote)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// A remote that gives no single objects, as one may over an old protocol,
	// gives the whole of the newest commit.
	m.mu.Lock()
	ref := m.ref
	m.mu.Unlock()
	if m.fetchRef(ctx, ref, "--depth=1", "--refetch", "--no-filter") != nil {
		return err
	}
	return nil
}

// lists says whether a listing has exactly this ref: ls-remote gives those that
// end like it too.
func lists(listing, ref string) bool {
	for line := range strings.Lines(listing) {
		if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); name == ref {
			return true
		}
	}
	return false
}

// Holds says whether one of the commits is among the depth newest of a ref.
func (m *Mirror) Holds(ctx context.Context, ref string, depth int, commits []string) (bool, error) {
	tip, err := m.Fetch(ctx, ref, depth)
	if err != nil || tip == "" {
		return false, err
	}
	out, err := m.git(ctx, "", "rev-list", fmt.Sprintf("--max-count=%d", depth), tip)
	if err != nil {
		return false, err
	}
	for _, c := range commits {
		if strings.Contains(out, c) {
			return true, nil
		}
	}
	return false, nil
}
