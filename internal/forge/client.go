package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Options are settings of a client that CI does not give.
type Options struct {
	Token Token
	// Transport sends requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	UserAgent string
	// Timeout bounds one request.
	Timeout time.Duration
	Now     func() time.Time
	Sleep   func(context.Context, time.Duration) error
	// Trace, if it is set, is called for each answer.
	Trace func(op string, status int)
}

// Client writes to one repository of a code host.
type Client struct {
	host    codeHost
	context Context
	options Options
	run     run
	// author is the user of the token, once that is known.
	author string
}

// Post is a text that the host shows once: a comment or an issue.
type Post struct {
	// Key distinguishes the texts of one repository, such as an environment or a folder.
	Key string
	// Pull is the number of the pull request, for a comment.
	Pull int
	// Title is that of an issue. Resolved closes the issue.
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
	r := &rest{
		client: &http.Client{
			Transport: o.Transport, Timeout: o.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: base, header: http.Header{"User-Agent": {o.UserAgent}}, token: o.Token, now: o.Now, trace: o.Trace,
	}
	client := &Client{context: c, options: o, run: id}
	switch c.Host {
	case GitHub:
		client.host, err = newGitHub(r, c.Repository)
	case GitLab:
		client.host, err = newGitLab(r, c.Repository)
	case NoHost:
		err = errors.New("this is not a CI run of GitHub or GitLab")
	}
	return client, err
}

// Comment makes or updates the comment with this key on a pull request.
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

// Issue makes, updates or closes the issue with this key.
func (c *Client) Issue(ctx context.Context, p Post) (Result, error) {
	body, err := c.fit("issue", p)
	if err != nil {
		return Result{}, err
	}
	return c.put(ctx, sticky{
		store: c.host.issues, mark: mark{use: "issue", key: p.Key, run: c.run},
		title: p.Title, body: body, resolved: p.Resolved,
	})
}

// viewer returns the user of the token, or "" if the host does not name it.
func (c *Client) viewer(ctx context.Context) (string, error) {
	if c.author != "" {
		return c.author, nil
	}
	author, err := c.host.user(ctx)
	if err != nil && temporary(ctx, err) {
		return "", fmt.Errorf("ask whom the token belongs to: %w", err)
	}
	c.author = author
	return author, nil
}

// explained adds a fix to an error of the host.
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

// These limits, in bytes, keep what is added to a text below the 512 bytes that reports
// leave free.
const (
	maxKey    = 150
	maxRunURL = 150
)

// The hosts' documented limits of comments and issues, in characters.
const (
	limitGitHub = 65_536
	limitGitLab = 1_000_000
)

// Limit returns how many characters a text may have.
func (h Host) Limit() int {
	if h == GitLab {
		return limitGitLab
	}
	return limitGitHub
}

// ErrText says that the host would reject a text. Nothing was sent.
var ErrText = errors.New("it can't be posted")

// fit adds the origin to a text, and rejects one that the host would reject.
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

// origin returns a last line that names the run.
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
