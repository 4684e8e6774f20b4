package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"trueup/internal/api"
	"trueup/internal/diag"
)

// ClientOptions are settings of a client that CI does not give.
type ClientOptions struct {
	Token     api.Token
	Transport http.RoundTripper // sends requests; nil means http.DefaultTransport
	UserAgent string
	Timeout   time.Duration // bounds one request
	Now       func() time.Time
	Sleep     func(context.Context, time.Duration) error
	Trace     func(op string, status int) // Trace, if it is set, is called for each answer
	ReadOnly  bool                        // makes NewClient fail with diag.ErrReadOnly: a Client is there to write
}

// RepositoryClient writes to one repository of a code host.
type RepositoryClient struct {
	ClientOptions
	context CIContext
	run     runOrder
	http    *http.Client
	header  http.Header
	host    hostAPI
	author  string // the user of the token, once that is known
}

// StickyText is a text that the host shows once: a comment or an issue.
type StickyText struct {
	Key      string // Key distinguishes the texts of one repository, such as an environment or a folder
	Pull     int    // the number of the pull request, for a comment
	Title    string // of an issue
	Resolved bool   // Resolved closes the issue
	Body     string // Markdown
}

// NewClient returns a client for the repository that CI names. Nothing is sent yet.
func NewClient(c CIContext, o ClientOptions) (*RepositoryClient, error) {
	base, err := parseAPIURL(c.API)
	if err == nil && o.ReadOnly {
		err = diag.ErrReadOnly
	}
	if err != nil {
		return nil, err
	}
	if o.Token.IsZero() {
		return nil, errors.New("there is no token for the code host")
	}
	client := &RepositoryClient{ClientOptions: o, context: c, run: runOrder{attempt: c.Attempt}, header: http.Header{"User-Agent": {o.UserAgent}}}
	if _, err := fmt.Sscan(c.RunID, &client.run.id); err != nil {
		return nil, errors.New("CI does not say which run this is, so trueup can't tell an older run from a newer one")
	}
	client.http = api.NewHTTPClient(o.Transport)
	client.http.Timeout = o.Timeout
	switch c.Host {
	case GitHub:
		client.host, err = newGitHub(base, c.Repository)
		client.header.Set("Accept", "application/vnd.github+json")
		client.header.Set("X-Github-Api-Version", "2022-11-28")
		client.header.Set("Authorization", "Bearer "+o.Token.Reveal())
	case GitLab:
		client.host, err = newGitLab(base, c.Repository)
		client.header.Set("Accept", "application/json")
		client.header.Set("Private-Token", o.Token.Reveal())
	case NoHost:
		err = errors.New("this is not a CI run of GitHub or GitLab")
	}
	return client, err
}

// tries bounds how often a text is written after failures of the host, and longestWait the pause that a
// host may ask for.
const (
	tries       = 4
	longestWait = 2 * time.Minute
)

// Put makes or updates the comment with this key on a pull request; with a title it makes, updates or closes the issue. It
// reads the store and then writes, until it succeeds. After a failure it reads again, so a lost answer makes no second copy.
func (c *RepositoryClient) Put(ctx context.Context, p StickyText) (PostResult, error) {
	t, err := c.newText(p)
	if err != nil {
		return PostResult{}, err
	}
	pause := time.Second
	for try := 1; ; try++ {
		res, err := t.tryPut(ctx)
		if err == nil || try == tries || !isTemporary(ctx, err) {
			return res, c.explainError(err)
		}
		wait := max(pause, refusalOf(err).wait)
		if wait > longestWait {
			return res, fmt.Errorf("%w (the host asks to wait for %s)", err, wait.Round(time.Second))
		}
		if err := c.Sleep(ctx, wait); err != nil {
			return res, err
		}
		pause *= 3
	}
}

func isTemporary(ctx context.Context, err error) bool {
	r := refusalOf(err)
	return ctx.Err() == nil && (errors.Is(err, errGone) || r.status == 0 || r.status >= 500 || r.limited)
}

// tokenUser returns the user of the token, or "" if the host does not name it.
func (c *RepositoryClient) tokenUser(ctx context.Context) (string, error) {
	if c.author != "" {
		return c.author, nil
	}
	var answer struct {
		Username string // of GitLab
		Login    string // of Gitea
		Data     struct{ Viewer struct{ Login string } }
	}
	if _, err := c.sendRequest(ctx, c.host.viewer, &answer); err != nil && isTemporary(ctx, err) {
		return "", fmt.Errorf("ask whom the token belongs to: %w", err)
	}
	c.author = cmp.Or(answer.Data.Viewer.Login, answer.Login, answer.Username)
	return c.author, nil
}

func (c *RepositoryClient) explainError(err error) error {
	switch refusalOf(err).status {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: the host does not accept the token: store a new one", err)
	case http.StatusForbidden:
		if c.context.Fork {
			return fmt.Errorf("%w: runs of pull requests from another repository have a read-only token: show the plan in the job's summary instead (plan --report markdown=$GITHUB_STEP_SUMMARY)", err)
		}
		return fmt.Errorf("%w: allow the token to write comments or issues (GitHub: permissions pull-requests: write or issues: write; GitLab: a token with scope api)", err)
	case http.StatusNotFound:
		return fmt.Errorf("%w: not found, or not visible to the token: check the repository, the number of the pull request, and the token's permissions", err)
	}
	return err
}

// maxAdded limits the key, and the address of the run, in bytes: what is added to a text stays
// below the 512 bytes that reports leave free.
const maxAdded = 150

// MaxTextLength returns how many characters a comment or an issue may have, as the hosts document it.
func (h HostKind) MaxTextLength() int {
	if h == GitLab {
		return 1_000_000
	}
	return 65_536
}

// ErrText says that the host would reject a text. Nothing was sent.
var ErrText = errors.New("it can't be posted")

// newText adds the mark and the origin to a text, and rejects one that the host would reject.
func (c *RepositoryClient) newText(p StickyText) (*textUpdate, error) {
	use, in := "comment", c.host.comments(p.Pull)
	if p.Title != "" {
		use, in, p.Pull = "issue", c.host.issues, 0
	} else {
		p.Resolved = false
	}
	body := strings.TrimRight(p.Body, "\n") + "\n" + c.runLink()
	t := &textUpdate{RepositoryClient: c, StickyText: p, store: in, mark: hiddenMark{use, p.Key, c.run}}
	t.whole = t.mark.String() + body
	n, most := utf8.RuneCountInString(t.whole), c.context.Host.MaxTextLength()
	switch {
	case len(escapeKey(p.Key)) > maxAdded:
		return nil, fmt.Errorf("%w: its key is longer than %d characters; name a shorter one with --key", ErrText, maxAdded)
	case !utf8.ValidString(body) || strings.ContainsRune(body, 0):
		return nil, fmt.Errorf("%w: it is not UTF-8 text", ErrText)
	case n > most:
		return nil, fmt.Errorf("%w: it has %d characters, and a %s may have %d: use what --report markdown=FILE writes", ErrText, n, use, most)
	}
	return t, nil
}

func (c *RepositoryClient) runLink() string {
	text := "run " + c.context.RunID
	if c.context.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", c.context.Attempt)
	}
	u, err := url.Parse(c.context.RunURL)
	if err == nil && u.Host != "" && len(c.context.RunURL) <= maxAdded && (u.Scheme == "https" || api.IsLoopback(u)) {
		text = "[" + text + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", `\`, "%5C").Replace(u.String()) + ">)"
	}
	if c.context.HeadCommit != "" {
		text = "commit <code>" + c.context.HeadCommit[:12] + "</code>, " + text
	}
	return "\n<sub>" + text + "</sub>\n"
}

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

var markPattern = diag.Pattern(`^<!-- trueup:(comment|issue) v1 key=(\S*) run=(\d{1,19})\.(\d{1,9}) -->(?:\r?\n|$)`)

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

// textUpdate is a text that a store shall have once.
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
			return PostResult{}, goneIfNotFound(err)
		}
	}
	if t.Resolved && res.Outcome != Outdated {
		res.Outcome = Closed
		if err := t.removeNote(ctx, t.store, keep.id); err != nil {
			return PostResult{}, goneIfNotFound(err)
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

func goneIfNotFound(err error) error {
	if refusalOf(err).status == http.StatusNotFound {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}
