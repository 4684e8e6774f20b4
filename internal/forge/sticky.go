package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// note is a text that stands at the host: a comment, or an open issue.
type note struct {
	id          int64
	author      string
	title, body string
	url         string
}

// perPage is the most that either host gives at once, and maxPages how many
// pages of a list are read.
const (
	perPage  = 100
	maxPages = 100
)

// host is one code host's API.
type host interface {
	// viewer is the author of what the token writes, as note.author has it.
	viewer(ctx context.Context) (string, error)
	// head is the newest commit of a pull request.
	head(ctx context.Context, pull int) (string, error)
	comments(pull int) commentStore
	issues() commentStore
}

// Outcome says what became of a text.
type Outcome string

// The outcomes. Outdated is a text that a newer run has overtaken.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Outdated  Outcome = "outdated"
	Closed    Outcome = "closed"
	Nothing   Outcome = "nothing"
)

// Result is the outcome, the page where the text is to be seen, if any, and how
// many older copies of ours were taken away.
type Result struct {
	Outcome Outcome
	URL     string
	Removed int
}

// sticky is one text to be kept in a store.
type sticky struct {
	store       commentStore
	mark        mark
	title, body string
	// resolved says that the text has no reason any more.
	resolved bool
	// commit is what a comment is about, where that is known: it has no place on
	// pull request pull any more when that has another newest commit.
	commit string
	pull   int
}

// tries is how often a text is put up before the host's failures are told.
const tries = 4

// longestWait is the longest pause that a host may ask for.
const longestWait = 2 * time.Minute

// put reads the store and then writes, until it succeeds. After any failure
// that may have written something it looks again, so nothing is written twice
// for an answer that got lost.
func (c *Client) put(ctx context.Context, s sticky) (Result, error) {
	pause := time.Second
	for try := 1; ; try++ {
		res, err := c.putOnce(ctx, s)
		if err == nil || try == tries || !passing(ctx, err) {
			return res, c.explained(err)
		}
		wait := pause
		var r *refusal
		if errors.As(err, &r) {
			wait = max(wait, r.wait)
		}
		if wait > longestWait {
			return res, fmt.Errorf("%w (the host asks to wait for %s)", err, wait.Round(time.Second))
		}
		if err := c.options.Sleep(ctx, wait); err != nil {
			return res, err
		}
		pause *= 3
	}
}

// errGone is a note that somebody took away between the look and the write.
var errGone = errors.New("it was deleted just now")

// passing reports whether the same may go well a moment later.
func passing(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	var r *refusal
	return errors.Is(err, errGone) || !errors.As(err, &r) || r.status >= 500 || r.limited
}

// putOnce looks once, and writes.
func (c *Client) putOnce(ctx context.Context, s sticky) (Result, error) {
	if s.commit != "" {
		head, err := c.host.head(ctx, s.pull)
		if err != nil || head != s.commit {
			return Result{Outcome: Outdated}, err
		}
	}
	author, err := c.viewer(ctx)
	if err != nil {
		return Result{}, err
	}
	ours, err := s.ours(ctx, author)
	switch {
	case err != nil:
		return Result{}, err
	case len(ours) > 0:
		return s.settle(ctx, ours)
	case !s.resolved:
		return c.create(ctx, s)
	case author == "":
		return Result{}, errors.New("the host does not name the token's owner, so trueup can't recognise its issue")
	}
	return Result{Outcome: Nothing}, nil
}

// create writes a new note and looks again, for another run may have done the
// same meanwhile; and who wrote it is now known for certain, so older copies are
// found where the host does not say before whom the token belongs to.
func (c *Client) create(ctx context.Context, s sticky) (Result, error) {
	made, err := s.store.create(ctx, s.title, s.text())
	if err != nil {
		return Result{}, err
	}
	c.author = made.author
	ours, err := s.ours(ctx, made.author, made)
	if err != nil {
		return Result{}, err
	}
	res, err := s.settle(ctx, ours)
	if res.Outcome == Unchanged {
		res.Outcome = Created
	}
	return res, err
}

func (s sticky) text() string { return s.mark.String() + s.body }

// ours are the notes of this use and key by an author, the newest run's first,
// and what was just made, which a host may list late. A note of somebody else is
// none, whatever it says.
func (s sticky) ours(ctx context.Context, author string, made ...note) ([]note, error) {
	all, err := s.store.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range made {
		if !slices.ContainsFunc(all, func(o note) bool { return o.id == n.id }) {
			all = append(all, n)
		}
	}
	all = slices.DeleteFunc(all, func(n note) bool {
		m, ok := readMark(n.body)
		return !ok || author == "" || n.author != author || m.use != s.mark.use || m.key != s.mark.key
	})
	slices.SortFunc(all, func(a, b note) int {
		first, _ := readMark(a.body)
		second, _ := readMark(b.body)
		return cmp.Or(second.run.compare(first.run), cmp.Compare(a.id, b.id))
	})
	return all, nil
}

// settle writes to the newest note of ours, unless it is of a later run or says
// the same, and takes the others away.
func (s sticky) settle(ctx context.Context, ours []note) (Result, error) {
	keep, text := ours[0], s.text()
	said, _ := readMark(keep.body)
	res := Result{Outcome: Unchanged, URL: keep.url}
	switch {
	case s.mark.run.compare(said.run) < 0:
		res.Outcome = Outdated
	case !sameText(keep.body, text) || !sameText(keep.title, s.title):
		res.Outcome = Updated
		if err := s.store.update(ctx, keep.id, s.title, text); err != nil {
			return Result{}, gone(err)
		}
	}
	if s.resolved && res.Outcome != Outdated {
		res.Outcome = Closed
		if err := s.store.remove(ctx, keep.id); err != nil {
			return Result{}, gone(err)
		}
	}
	for _, extra := range ours[1:] {
		if err := s.store.remove(ctx, extra.id); err != nil && status(err) != http.StatusNotFound {
			return res, fmt.Errorf("delete an older copy: %w", err)
		}
		res.Removed++
	}
	return res, nil
}

// gone marks the refusal of a note that is not there any more.
func gone(err error) error {
	if status(err) == http.StatusNotFound {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}
