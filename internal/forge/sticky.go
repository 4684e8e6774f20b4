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

// note is a comment or an open issue at the host.
type note struct {
	id          int64
	author      string
	title, body string
	url         string
}

// perPage is the most that either host returns at once, and maxPages bounds how many
// pages are read.
const (
	perPage  = 100
	maxPages = 100
)

// Outcome says what happened to a text.
type Outcome string

// The outcomes. Outdated means that a newer run has written already.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Outdated  Outcome = "outdated"
	Closed    Outcome = "closed"
	Nothing   Outcome = "nothing"
)

// Result is the outcome, the page of the text, if any, and how many older copies were
// deleted.
type Result struct {
	Outcome Outcome
	URL     string
	Removed int
}

// sticky is a text that a store shall have once.
type sticky struct {
	store       commentStore
	mark        mark
	title, body string
	// resolved says that the reason for the text is gone.
	resolved bool
	// commit is the newest commit of pull request pull that the comment is about, if that
	// is known. The comment is outdated when there is a newer one.
	commit string
	pull   int
}

// tries bounds how often a text is written after failures of the host.
const tries = 4

// longestWait bounds the pause that a host may ask for.
const longestWait = 2 * time.Minute

// put reads the store and then writes, until it succeeds. After a failure it reads again,
// so a lost answer makes no second copy.
func (c *Client) put(ctx context.Context, s sticky) (Result, error) {
	pause := time.Second
	for try := 1; ; try++ {
		res, err := c.putOnce(ctx, s)
		if err == nil || try == tries || !temporary(ctx, err) {
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

// errGone says that somebody deleted a note between the read and the write.
var errGone = errors.New("it was deleted just now")

// temporary reports whether a second try may succeed.
func temporary(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	var r *refusal
	return errors.Is(err, errGone) || !errors.As(err, &r) || r.status >= 500 || r.limited
}

// putOnce reads once, and writes.
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

// create writes a new note and reads again: another run may have done the same. The
// author is known now, so it also finds older copies if the host does not name the user of
// a token.
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

// ours returns the author's notes with this use and key, the newest run's first, and what
// was just made, which a host may list late.
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

// settle updates the newest of our notes, unless a later run wrote it or it is up to date,
// and deletes the others.
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

// gone adds errGone if the note is not there any more.
func gone(err error) error {
	if status(err) == http.StatusNotFound {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}
