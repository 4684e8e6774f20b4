package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Options are what a client needs beside what CI says.
type Options struct {
	Token Token
	// Transport sends requests; http.DefaultTransport where it is nil.
	Transport http.RoundTripper
	UserAgent string
	// Timeout is that of one request.
	Timeout time.Duration
	Now     func() time.Time
	Sleep   func(context.Context, time.Duration) error
	// Trace is told of each answer; it may be nil.
	Trace func(op string, status int)
}

// Client writes to one repository of a code host.
type Client struct {
	host    host
	context Context
	options Options
	run     run
	// author is whom the token belongs to, once that is known.
	author string
}

// Post is a text to be kept at the host, in one place.
type Post struct {
	// Key tells texts of one repository apart: an environment or a folder.
	Key string
	// Pull is the number of the pull request, for a comment.
	Pull int
	// Title is an issue's title, and Resolved says that it is to be closed.
	Title    string
	Resolved bool
	// Body is Markdown.
	Body string
}

// Open returns a client for the repository that CI names. Nothing is sent yet.
func Open(c Context, o Options) (*Client, error) {
	base, err := parseAPI(c.API)
	if err != nil {
		return nil, err
	}
	if o.Token.secret == "" {
		return nil, errors.New("there is no token for the code host")
	}
	id := run{attempt: c.Attempt}
	if _, err := fmt.Sscan(c.RunID, &id.id); err != nil {
		return nil, errors.New("CI does not say which run this is, so trueup can't tell an older run from a newer one")
	}
	transport := &pinned{
		next: cmp.Or[http.RoundTripper](o.Transport, http.DefaultTransport), base: base,
		token: o.Token, now: o.Now, trace: o.Trace,
	}
	web := &http.Client{
		Transport: transport, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	client := &Client{context: c, options: o, run: id}
	switch c.Host {
	case GitHub:
		client.host, err = newGitHub(web, base, c.Repository, o)
	case GitLab:
		client.host, err = newGitLab(web, base, c.Repository, o)
	case NoHost:
		err = errors.New("this is not a CI run of GitHub or GitLab")
	}
	return client, err
}

// Comment keeps a text as the one comment of its key on a pull request.
func (c *Client) Comment(ctx context.Context, p Post) (Result, error) {
	body, err := c.fit("comment", p)
	if err != nil {
		return Result{}, err
	}
	s := sticky{store: c.host.comments(p.Pull), mark: mark{use: "comment", key: p.Key, run: c.run}, body: body}
	if p.Pull == c.context.PullRequest {
		s.pull, s.commit = p.Pull, c.context.HeadCommit
	}
	return c.put(ctx, s)
}

// Issue keeps a text as the one open issue of its key, or closes that one.
func (c *Client) Issue(ctx context.Context, p Post) (Result, error) {
	body, err := c.fit("issue", p)
	if err != nil {
		return Result{}, err
	}
	return c.put(ctx, sticky{
		store: c.host.issues(), mark: mark{use: "issue", key: p.Key, run: c.run},
		title: p.Title, body: body, resolved: p.Resolved,
	})
}

// viewer asks whom the token belongs to, once. A host that does not tell is no
// failure: the author is then nobody, to whom no note belongs.
func (c *Client) viewer(ctx context.Context) (string, error) {
	if c.author != "" {
		return c.author, nil
	}
	author, err := c.host.viewer(ctx)
	if err != nil && passing(ctx, err) {
		return "", fmt.Errorf("ask whom the token belongs to: %w", err)
	}
	c.author = author
	return author, nil
}

// explained adds to a refusal what to do about it.
func (c *Client) explained(err error) error {
	switch status(err) {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: the host does not accept the token: store a new one", err)
	case http.StatusForbidden:
		if c.context.Fork {
			return fmt.Errorf("%w: runs of pull requests from another repository have a read-only token: show the plan in the job's summary instead (plan --report summary=FILE)", err)
		}
		return fmt.Errorf("%w: allow the token to write comments or issues (GitHub: permissions pull-requests: write or issues: write; GitLab: a token with scope api)", err)
	case http.StatusNotFound:
		return fmt.Errorf("%w: not found, or not visible to the token: check the repository, the number of the pull request, and the token's permissions", err)
	}
	return err
}

// What is added to a text takes less than 512 bytes, which reports leave free:
// a key and the address of a run have these bounds, in bytes as they are written.
const (
	maxKey    = 150
	maxRunURL = 150
)

// Limits of a text, in characters, as the hosts count them (the host's own
// documents: 65,536 for GitHub's comments and issues, a million for GitLab's notes).
const (
	limitGitHub = 65_536
	limitGitLab = 1_000_000
)

// Limit is how many characters a text of a host may have.
func (h Host) Limit() int {
	if h == GitLab {
		return limitGitLab
	}
	return limitGitHub
}

// ErrText is a text that no host takes, or not this one; nothing was sent.
var ErrText = errors.New("it can't be posted")

// fit adds where a text comes from, and refuses one that the host would refuse.
func (c *Client) fit(use string, p Post) (string, error) {
	body := strings.TrimRight(p.Body, "\n") + "\n" + c.origin()
	n := utf8.RuneCountInString(mark{use: use, key: p.Key, run: c.run}.String() + body)
	switch {
	case len(escaped(p.Key)) > maxKey:
		return "", fmt.Errorf("%w: its key is longer than %d characters; name a shorter one with --key", ErrText, maxKey)
	case !utf8.ValidString(body) || strings.ContainsRune(body, 0):
		return "", fmt.Errorf("%w: it is not UTF-8 text", ErrText)
	case n > c.context.Host.Limit():
		return "", fmt.Errorf("%w: it has %d characters, and a %s may have %d: use what --report markdown=FILE writes",
			ErrText, n, use, c.context.Host.Limit())
	}
	return body, nil
}

// origin is a last line that says which run a text is of.
func (c *Client) origin() string {
	text := "run " + c.context.RunID
	if c.context.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", c.context.Attempt)
	}
	u, err := url.Parse(c.context.RunURL)
	if err == nil && u.Host != "" && len(c.context.RunURL) <= maxRunURL && (u.Scheme == "https" || onLoopback(u)) {
		text = "[" + text + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", `\`, "%5C").Replace(u.String()) + ">)"
	}
	if c.context.HeadCommit != "" {
		text = "commit <code>" + c.context.HeadCommit[:12] + "</code>, " + text
	}
	return "\n<sub>" + text + "</sub>\n"
}
