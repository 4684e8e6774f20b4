package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// TextOutcome says what happened to a text.
type TextOutcome string

// The outcomes. Outdated means that a newer run has written already.
const (
	Created   TextOutcome = "created"
	Updated   TextOutcome = "updated"
	Unchanged TextOutcome = "unchanged"
	Outdated  TextOutcome = "outdated"
	Closed    TextOutcome = "closed"
	Nothing   TextOutcome = "nothing"
)

// PostResult is the outcome, the page of the text, if any, and how many older copies were deleted.
type PostResult struct {
	Outcome TextOutcome
	URL     string
	Removed int
}

// runOrder orders the runs that write: id grows from run to run, attempt with each start of the same run.
type runOrder struct {
	id      int64
	attempt int
}

func (r runOrder) compareRuns(o runOrder) int {
	return cmp.Or(cmp.Compare(r.id, o.id), cmp.Compare(r.attempt, o.attempt))
}

// hiddenMark is the hidden first line of a text. trueup reads nothing below it.
type hiddenMark struct {
	// use is comment or issue.
	use, key string
	run      runOrder
}

var markPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<!-- trueup:(comment|issue) v1 key=(\S*) run=(\d{1,19})\.(\d{1,9}) -->(?:\r?\n|$)`)
})

// String returns the first line. An escaped key has no space and no bracket, so it can't end the line.
func (m hiddenMark) String() string {
	return fmt.Sprintf("<!-- trueup:%s v1 key=%s run=%d.%d -->\n", m.use, escapeKey(m.key), m.run.id, m.run.attempt)
}

func escapeKey(key string) string { return (&url.URL{Path: key}).EscapedPath() }

// parseMark reads the first line of a text. It does not know those of later versions.
func parseMark(text string) (hiddenMark, bool) {
	said := markPattern().FindStringSubmatch(text)
	if said == nil {
		return hiddenMark{}, false
	}
	key, err1 := url.PathUnescape(said[2])
	id, err2 := strconv.ParseInt(said[3], 10, 64)
	attempt, err3 := strconv.Atoi(said[4])
	return hiddenMark{said[1], key, runOrder{id, attempt}}, err1 == nil && err2 == nil && err3 == nil
}

// textUpdate is a Post that a store shall have once.
type textUpdate struct {
	*RepositoryClient
	StickyText
	store textStore
	mark  hiddenMark
	whole string // the text with its mark
}

// errGone says that somebody deleted a note between the read and the write.
var errGone = errors.New("it was deleted just now")

func (t *textUpdate) tryPut(ctx context.Context) (PostResult, error) {
	if t.Pull != 0 && t.Pull == t.context.PullRequest && t.context.HeadCommit != "" {
		// A comment on an older commit is outdated.
		head, err := t.newestCommit(ctx, t.Pull)
		if err != nil || head != t.context.HeadCommit {
			return PostResult{Outcome: Outdated}, err
		}
	}
	author, err := t.tokenUser(ctx)
	if err != nil {
		return PostResult{}, err
	}
	ours, err := t.findOwnNotes(ctx)
	switch {
	case err != nil:
		return PostResult{}, err
	case len(ours) > 0:
		return t.updateNewest(ctx, ours)
	case !t.Resolved:
		return t.createNote(ctx)
	case author == "":
		return PostResult{}, errors.New("the host does not name the token's owner, so trueup can't recognise its issue")
	}
	return PostResult{Outcome: Nothing}, nil
}

func (t *textUpdate) noteFields() map[string]string {
	fields := map[string]string{t.store.bodyField: t.whole}
	if t.Title != "" {
		fields["title"] = t.Title
	}
	return fields
}

// createNote writes a new note and reads again: another run may have done the same. The author is known
// now, so it also finds older copies if the host does not name the user of a token.
func (t *textUpdate) createNote(ctx context.Context) (PostResult, error) {
	var made note
	if _, err := t.sendRequest(ctx, hostRequest{http.MethodPost, t.store.list, t.noteFields()}, &made); err != nil {
		return PostResult{}, fmt.Errorf("add to the %s: %w", t.store.all, err)
	}
	t.author = made.author
	ours, err := t.findOwnNotes(ctx, made)
	if err != nil {
		return PostResult{}, err
	}
	res, err := t.updateNewest(ctx, ours)
	if res.Outcome == Unchanged {
		res.Outcome = Created
	}
	return res, err
}

// findOwnNotes returns the author's notes with this use and key, the newest run's first, and what was just made,
// which a host may list late.
func (t *textUpdate) findOwnNotes(ctx context.Context, made ...note) ([]note, error) {
	all, err := t.listNotes(ctx, t.store)
	if err != nil {
		return nil, err
	}
	for _, n := range made {
		if !slices.ContainsFunc(all, func(o note) bool { return o.id == n.id }) {
			all = append(all, n)
		}
	}
	all = slices.DeleteFunc(all, func(n note) bool {
		m, ok := parseMark(n.body)
		return !ok || t.author == "" || n.author != t.author || m.use != t.mark.use || m.key != t.mark.key
	})
	slices.SortFunc(all, func(a, b note) int {
		first, _ := parseMark(a.body)
		second, _ := parseMark(b.body)
		return cmp.Or(second.run.compareRuns(first.run), cmp.Compare(a.id, b.id))
	})
	return all, nil
}

// updateNewest updates the newest of our notes, unless a later run wrote it or it is up to date, and deletes the others.
func (t *textUpdate) updateNewest(ctx context.Context, ours []note) (PostResult, error) {
	keep := ours[0]
	said, _ := parseMark(keep.body)
	res := PostResult{Outcome: Unchanged, URL: keep.url}
	switch {
	case t.run.compareRuns(said.run) < 0:
		res.Outcome = Outdated
	case !isSameText(keep.body, t.whole) || !isSameText(keep.title, t.Title):
		res.Outcome = Updated
		if err := t.changeNote(ctx, t.store, "update", t.store.method, keep.id, t.noteFields()); err != nil {
			return PostResult{}, ignoreNotFound(err)
		}
	}
	if t.Resolved && res.Outcome != Outdated {
		res.Outcome = Closed
		if err := t.removeNote(ctx, t.store, keep.id); err != nil {
			return PostResult{}, ignoreNotFound(err)
		}
	}
	for _, extra := range ours[1:] {
		if err := t.removeNote(ctx, t.store, extra.id); err != nil && refusalOf(err).status != http.StatusNotFound {
			return res, fmt.Errorf("delete an older copy: %w", err)
		}
		res.Removed++
	}
	return res, nil
}

// isSameText reports whether two texts are equal to a host, which may change line ends and the space around a text.
func isSameText(a, b string) bool {
	norm := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return norm(a) == norm(b)
}

func ignoreNotFound(err error) error {
	if refusalOf(err).status == http.StatusNotFound {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}
