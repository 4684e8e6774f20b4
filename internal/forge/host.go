package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
)

// hostAPI is what differs between the APIs of GitHub, with which those of Gitea and Forgejo agree, and GitLab.
type hostAPI struct {
	viewer hostRequest // asks for the user of the token
	// pull and pullName are the address and the name of a pull request, without its number.
	pull, pullName string
	comments       func(pull int) textStore
	issues         textStore
}

// textStore has the comments of a pull request, or the open issues of a repository.
type textStore struct {
	// all and one name what it has in messages: "comments of pull request 7", "comment".
	all, one     string
	list, query  string            // the address of the list, and what selects the open notes
	item, method string            // the address of a note, without its number, and the method that edits it
	bodyField    string            // the host's name for the text of a note
	closing      map[string]string // the edit that closes an issue; comments are deleted
}

func newGitHub(base *url.URL, repository string) (hostAPI, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || !isName(owner) || !isName(name) {
		return hostAPI{}, fmt.Errorf("the repository is %q: write OWNER/NAME", repository)
	}
	at := base.String() + "/repos/" + repository
	return hostAPI{
		viewer: gitHubViewer(*base),
		pull:   at + "/pulls/", pullName: "pull request ",
		comments: func(pull int) textStore {
			return textStore{
				all: fmt.Sprintf("comments of pull request %d", pull), one: "comment",
				list: fmt.Sprintf("%s/issues/%d/comments", at, pull), item: at + "/issues/comments/",
				method: http.MethodPatch, bodyField: "body",
			}
		},
		issues: textStore{
			all: "issues", one: "issue", list: at + "/issues", query: "state=open&", item: at + "/issues/",
			method: http.MethodPatch, bodyField: "body", closing: map[string]string{"state": "closed"},
		},
	}, nil
}

// gitHubViewer returns the request for the user of a token. GitHub's REST does not name it to the token of a
// workflow; Gitea and Forgejo, whose API is at /api/v1, have REST only. A company's own GitHub has REST at /api/v3
// and GraphQL at /api/graphql.
func gitHubViewer(base url.URL) hostRequest {
	if strings.HasSuffix(base.Path, "/api/v1") {
		return hostRequest{method: http.MethodGet, address: base.String() + "/user"}
	}
	base.Path = strings.TrimSuffix(base.Path, "/v3") + "/graphql"
	return hostRequest{http.MethodPost, base.String(), map[string]string{"query": "{viewer{login}}"}}
}

func newGitLab(base *url.URL, project string) (hostAPI, error) {
	for part := range strings.SplitSeq(project, "/") {
		if !isName(part) || !strings.Contains(project, "/") {
			return hostAPI{}, fmt.Errorf("the project is %q: write GROUP/NAME", project)
		}
	}
	at := base.String() + "/projects/" + url.PathEscape(project)
	return hostAPI{
		viewer: hostRequest{method: http.MethodGet, address: base.String() + "/user"},
		pull:   at + "/merge_requests/", pullName: "merge request ",
		comments: func(pull int) textStore {
			list := fmt.Sprintf("%s/merge_requests/%d/notes", at, pull)
			return textStore{
				all: fmt.Sprintf("comments of merge request %d", pull), one: "comment",
				list: list, item: list + "/", method: http.MethodPut, bodyField: "body",
			}
		},
		issues: textStore{
			all: "issues", one: "issue", list: at + "/issues", query: "state=opened&", item: at + "/issues/",
			method: http.MethodPut, bodyField: "description", closing: map[string]string{"state_event": "close"},
		},
	}, nil
}

var namePattern = diag.Pattern(`^[\w.-]+$`)

// isName reports whether s is a name that needs no escaping in a path.
func isName(s string) bool { return s != "." && s != ".." && namePattern().MatchString(s) }

func (c *RepositoryClient) newestCommit(ctx context.Context, pull int) (string, error) {
	var answer struct {
		SHA  string // of GitLab
		Head struct{ SHA string }
	}
	if _, err := c.sendRequest(ctx, hostRequest{method: http.MethodGet, address: fmt.Sprint(c.host.pull, pull)}, &answer); err != nil {
		return "", fmt.Errorf("read %s%d: %w", c.host.pullName, pull, err)
	}
	return cmp.Or(answer.Head.SHA, answer.SHA), nil
}

type note struct {
	id                       int64
	author, title, body, url string
	isOther                  bool // true for what GitLab wrote itself, and for pull requests, which GitHub lists as issues
}

// UnmarshalJSON reads the form of either host.
func (n *note) UnmarshalJSON(text []byte) error {
	var v struct {
		ID           int64
		Number       int64 // of an issue at GitHub
		IID          int64 // of an issue at GitLab
		Title, Body  string
		Description  string // body of an issue at GitLab
		HTMLURL      string `json:"html_url"`
		WebURL       string `json:"web_url"`
		User, Author struct{ Login, Username string }
		System       bool
		PullRequest  *struct{} `json:"pull_request"` // null at Gitea for issues
	}
	err := json.Unmarshal(text, &v)
	*n = note{
		id: cmp.Or(v.Number, v.IID, v.ID), author: cmp.Or(v.User.Login, v.Author.Username), title: v.Title,
		body: cmp.Or(v.Body, v.Description), url: cmp.Or(v.HTMLURL, v.WebURL), isOther: v.System || v.PullRequest != nil,
	}
	return err
}

// perPage is the most that either host returns at once, and maxPages bounds how many pages are read.
const (
	perPage  = 100
	maxPages = 100
)

// listNotes returns all open notes of a store, of any author.
func (c *RepositoryClient) listNotes(ctx context.Context, s textStore) ([]note, error) {
	var all []note
	for page := range maxPages {
		var found []note
		address := fmt.Sprintf("%s?%sper_page=%d&page=%d", s.list, s.query, perPage, page+1)
		more, err := c.sendRequest(ctx, hostRequest{method: http.MethodGet, address: address}, &found)
		if err != nil {
			return nil, fmt.Errorf("list the %s: %w", s.all, err)
		}
		for _, n := range found {
			if !n.isOther {
				all = append(all, n)
			}
		}
		if !more {
			return all, nil
		}
	}
	return nil, fmt.Errorf("list the %s: there are more than %d, so trueup can't tell whether one is its own", s.all, perPage*maxPages)
}

func (c *RepositoryClient) changeNote(ctx context.Context, s textStore, doing, method string, id int64, fields map[string]string) error {
	if _, err := c.sendRequest(ctx, hostRequest{method, fmt.Sprint(s.item, id), fields}, nil); err != nil {
		return fmt.Errorf("%s %s %d: %w", doing, s.one, id, err)
	}
	return nil
}

func (c *RepositoryClient) removeNote(ctx context.Context, s textStore, id int64) error {
	if s.closing != nil {
		return c.changeNote(ctx, s, "close", s.method, id, s.closing)
	}
	return c.changeNote(ctx, s, "delete", http.MethodDelete, id, nil)
}

// maxAnswer bounds, in bytes, how much of an answer is read: a page of 100 comments of the greatest length fits.
const maxAnswer = 128 << 20

type hostRequest struct {
	method, address string
	fields          map[string]string
}

// sendRequest sends a request and decodes the answer, unless answer is nil. An answer that is no success is a *hostError. It
// reports whether the host has a further page of the list. It follows no redirect, so the token goes nowhere else.
func (c *RepositoryClient) sendRequest(ctx context.Context, q hostRequest, answer any) (more bool, err error) {
	var content bytes.Buffer
	if q.fields != nil {
		if err := json.NewEncoder(&content).Encode(q.fields); err != nil {
			return false, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, q.method, q.address, &content)
	if err != nil {
		return false, err
	}
	req.Header = c.header.Clone()
	if q.fields != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	op := q.method + " " + req.URL.Path
	if c.Trace != nil {
		c.Trace(op, resp.StatusCode)
	}
	if resp.StatusCode/100 != 2 {
		return false, c.readRefusal(op, resp)
	}
	if answer != nil {
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
			return false, fmt.Errorf("read the answer of %s: %w", op, err)
		}
	}
	// GitHub has the one header, GitLab either.
	return resp.Header.Get("X-Next-Page") != "" || strings.Contains(resp.Header.Get("Link"), `rel="next"`), nil
}

// parseAPIURL reads the address of an API. It accepts only those that a token may go to.
func parseAPIURL(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		// It may hold a password.
		return nil, errors.New("CI gives no valid address of the code host's API: it must be https://HOST/PATH")
	case u.Scheme == "https" || u.Scheme == "http" && api.IsLoopback(u):
		return u, nil
	}
	return nil, fmt.Errorf("the address of the code host's API is %s: trueup sends a token only over https, or to this machine", u.Redacted())
}

type hostError struct {
	op      string
	text    diag.Quotation
	status  int
	limited bool          // the host limits the rate of requests
	wait    time.Duration // how long it asks to wait
}

func (r *hostError) Error() string {
	text := fmt.Sprintf("%s: status %d", r.op, r.status)
	if r.text != (diag.Quotation{}) {
		text += ": " + r.text.String()
	}
	return text
}

func (c *RepositoryClient) readRefusal(op string, resp *http.Response) *hostError {
	out := &hostError{op: op, status: resp.StatusCode}
	if resp.StatusCode/100 == 3 {
		out.text = diag.QuoteAnswer("it redirects, and trueup does not send a token there: was the repository renamed or moved?", maxComplaint)
		return out
	}
	if body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)); err == nil {
		out.text = diag.QuoteAnswer(refusalMessage(body), maxComplaint)
	}
	h := resp.Header
	out.limited = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusForbidden &&
		(h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0" || strings.Contains(out.text.String(), "rate limit"))
	if out.limited || resp.StatusCode == http.StatusServiceUnavailable {
		out.wait = requestedWait(h, c.Now())
	}
	return out
}

// requestedWait returns how long a host asks to wait: in seconds, as a date, or until the rate limit resets.
func requestedWait(h http.Header, now time.Time) time.Duration {
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return at.Sub(now)
	}
	reset := cmp.Or(h.Get("X-RateLimit-Reset"), h.Get("RateLimit-Reset"))
	if n, err := strconv.ParseInt(reset, 10, 64); err == nil {
		return time.Unix(n, 0).Sub(now)
	}
	return 0
}

// maxComplaint is how many bytes to quote of a message.
const maxComplaint = 500

// refusalMessage returns the message of an answer, and what is wrong with each field.
func refusalMessage(body []byte) string {
	var said struct {
		Message json.RawMessage
		Error   string
		Errors  []struct{ Message, Field, Code string }
	}
	// It is fine if the answer has another form: the status says enough.
	_ = json.Unmarshal(body, &said)
	text := said.Error
	if len(said.Message) > 0 {
		text = strings.Trim(string(said.Message), `"`)
	}
	for _, e := range said.Errors {
		text += "; " + cmp.Or(e.Message, strings.TrimSpace(e.Field+" "+e.Code))
	}
	return text
}

// refusalOf returns the refusal that err is, or an empty one.
func refusalOf(err error) *hostError {
	if r, ok := errors.AsType[*hostError](err); ok {
		return r
	}
	return new(hostError)
}
