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
	client.http = &http.Client{
		Transport: o.Transport, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
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
