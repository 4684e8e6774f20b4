package forge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// codeHost is what differs between the APIs of GitHub and GitLab.
type codeHost struct {
	*rest
	// viewer asks for the user of the token.
	viewer request
	// pull and pullName are the address and the name of a pull request.
	pull, pullName func(number int) string
	comments       func(pull int) commentStore
	issues         commentStore
}

func newGitHub(r *rest, repository string) (codeHost, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || !isName(owner) || !isName(name) {
		return codeHost{}, fmt.Errorf("the repository is %q: write OWNER/NAME", repository)
	}
	r.header.Set("Accept", "application/vnd.github+json")
	r.header.Set("X-Github-Api-Version", "2022-11-28")
	r.header.Set("Authorization", "Bearer "+r.token.secret)
	// A company's own server has REST at /api/v3 and GraphQL at /api/graphql.
	graphql := *r.base
	graphql.Path = strings.TrimSuffix(r.base.Path, "/v3") + "/graphql"
	at := r.base.String() + "/repos/" + repository
	pullName := func(number int) string { return fmt.Sprintf("pull request %d", number) }
	return codeHost{
		rest: r, pullName: pullName,
		// REST does not answer this to the token of a workflow.
		viewer: request{http.MethodPost, graphql.String(), map[string]string{"query": "{viewer{login}}"}},
		pull:   func(number int) string { return fmt.Sprintf("%s/pulls/%d", at, number) },
		comments: func(pull int) commentStore {
			return commentStore{
				rest: r, notes: "comments of " + pullName(pull), note: "comment",
				address: fmt.Sprintf("%s/issues/%d/comments", at, pull), item: at + "/issues/comments",
				method: http.MethodPatch, bodyField: "body",
			}
		},
		issues: commentStore{
			rest: r, notes: "issues", note: "issue", address: at + "/issues", query: "state=open&", item: at + "/issues",
			method: http.MethodPatch, bodyField: "body", closing: map[string]string{"state": "closed"},
		},
	}, nil
}

func newGitLab(r *rest, project string) (codeHost, error) {
	for part := range strings.SplitSeq(project, "/") {
		if !isName(part) || !strings.Contains(project, "/") {
			return codeHost{}, fmt.Errorf("the project is %q: write GROUP/NAME", project)
		}
	}
	r.header.Set("Accept", "application/json")
	r.header.Set("Private-Token", r.token.secret)
	at := r.base.String() + "/projects/" + url.PathEscape(project)
	pullName := func(number int) string { return fmt.Sprintf("merge request %d", number) }
	pull := func(number int) string { return fmt.Sprintf("%s/merge_requests/%d", at, number) }
	return codeHost{
		rest: r, pullName: pullName, pull: pull, viewer: request{method: http.MethodGet, address: r.base.String() + "/user"},
		comments: func(number int) commentStore {
			notes := pull(number) + "/notes"
			return commentStore{
				rest: r, notes: "comments of " + pullName(number), note: "comment", address: notes, item: notes,
				method: http.MethodPut, bodyField: "body",
			}
		},
		issues: commentStore{
			rest: r, notes: "issues", note: "issue", address: at + "/issues", query: "state=opened&", item: at + "/issues",
			method: http.MethodPut, bodyField: "description", closing: map[string]string{"state_event": "close"},
		},
	}, nil
}

// isName reports whether s is a name that needs no escaping in a path.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && strings.Trim(s, nameCharacters) == ""
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// user returns the name of the token's user.
func (h codeHost) user(ctx context.Context) (string, error) {
	var answer struct {
		Username string `json:"username"` // of GitLab
		Data     struct {
			Viewer struct {
				Login string `json:"login"`
			} `json:"viewer"`
		} `json:"data"`
	}
	_, err := h.call(ctx, h.viewer, &answer)
	return cmp.Or(answer.Data.Viewer.Login, answer.Username), err
}

// head returns the newest commit of a pull request.
func (h codeHost) head(ctx context.Context, pull int) (string, error) {
	var answer struct {
		SHA  string `json:"sha"` // of GitLab
		Head struct {
			SHA string `json:"sha"`
		} `json:"head"`
	}
	if _, err := h.call(ctx, request{method: http.MethodGet, address: h.pull(pull)}, &answer); err != nil {
		return "", fmt.Errorf("read %s: %w", h.pullName(pull), err)
	}
	return cmp.Or(answer.Head.SHA, answer.SHA), nil
}

// commentStore holds the notes of one use: the comments of a pull request, or the open
// issues of a repository.
type commentStore struct {
	*rest
	// notes and note name them in messages: "comments of pull request 7", "comment".
	notes, note string
	// address is that of the list, and query selects the notes that are open.
	address, query string
	// item is the address of a note, without its number, and method edits it.
	item, method string
	// bodyField is the host's name for the text of a note.
	bodyField string
	// closing is the edit that closes an issue; comments are deleted.
	closing map[string]string
}

// hostNote is a comment or an issue in the JSON of either host.
type hostNote struct {
	ID          int64  `json:"id"`
	Number      int64  `json:"number"` // of an issue at GitHub
	IID         int64  `json:"iid"`    // of an issue at GitLab
	Title       string `json:"title"`
	Body        string `json:"body"`
	Description string `json:"description"` // body of an issue at GitLab
	HTMLURL     string `json:"html_url"`
	WebURL      string `json:"web_url"`
	User        struct {
		Login string `json:"login"`
	} `json:"user"`
	Author struct {
		Username string `json:"username"`
	} `json:"author"`
	// System marks what GitLab wrote itself, PullRequest what is no issue at GitHub.
	System      bool            `json:"system"`
	PullRequest json.RawMessage `json:"pull_request"`
}

func (n hostNote) decoded() note {
	return note{
		id: cmp.Or(n.Number, n.IID, n.ID), author: cmp.Or(n.User.Login, n.Author.Username),
		title: n.Title, body: cmp.Or(n.Body, n.Description), url: cmp.Or(n.HTMLURL, n.WebURL),
	}
}

// list returns all open notes, whoever wrote them.
func (s commentStore) list(ctx context.Context) ([]note, error) {
	var all []note
	for page := range maxPages {
		var found []hostNote
		address := fmt.Sprintf("%s?%sper_page=%d&page=%d", s.address, s.query, perPage, page+1)
		more, err := s.call(ctx, request{method: http.MethodGet, address: address}, &found)
		if err != nil {
			return nil, fmt.Errorf("list the %s: %w", s.notes, err)
		}
		for _, n := range found {
			if !n.System && n.PullRequest == nil {
				all = append(all, n.decoded())
			}
		}
		if !more {
			return all, nil
		}
	}
	return nil, fmt.Errorf("list the %s: there are more than %d, so trueup can't tell whether one is its own", s.notes, perPage*maxPages)
}

// create adds a note; a comment has no title.
func (s commentStore) create(ctx context.Context, title, body string) (note, error) {
	var made hostNote
	if _, err := s.call(ctx, request{http.MethodPost, s.address, s.fields(title, body)}, &made); err != nil {
		return note{}, fmt.Errorf("add to the %s: %w", s.notes, err)
	}
	return made.decoded(), nil
}

func (s commentStore) update(ctx context.Context, id int64, title, body string) error {
	return s.edit(ctx, "update", s.method, id, s.fields(title, body))
}

// remove deletes a comment, and closes an issue.
func (s commentStore) remove(ctx context.Context, id int64) error {
	if s.closing != nil {
		return s.edit(ctx, "close", s.method, id, s.closing)
	}
	return s.edit(ctx, "delete", http.MethodDelete, id, nil)
}

func (s commentStore) edit(ctx context.Context, doing, method string, id int64, fields map[string]string) error {
	if _, err := s.call(ctx, request{method, fmt.Sprintf("%s/%d", s.item, id), fields}, nil); err != nil {
		return fmt.Errorf("%s %s %d: %w", doing, s.note, id, err)
	}
	return nil
}

func (s commentStore) fields(title, body string) map[string]string {
	fields := map[string]string{s.bodyField: body}
	if title != "" {
		fields["title"] = title
	}
	return fields
}
