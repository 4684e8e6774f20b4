package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// rest sends requests to the JSON API of a code host, whose transport returns answers
// only if they are a success.
type rest struct {
	client *http.Client
	header http.Header
}

// call sends body, unless it is nil, as JSON to the address, and decodes the answer into
// answer, unless that is nil. It reports whether the host has a further page of the list.
func (r *rest) call(ctx context.Context, method, address string, body, answer any) (more bool, err error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return false, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, &content)
	if err != nil {
		return false, err
	}
	req.Header = r.header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return false, refused
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if answer != nil {
		if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
			return false, fmt.Errorf("read the answer of %s %s: %w", method, req.URL.Path, err)
		}
	}
	// GitHub says it in the one header, GitLab in either.
	more = resp.Header.Get("X-Next-Page") != "" || strings.Contains(resp.Header.Get("Link"), `rel="next"`)
	return more, nil
}

// commentStore holds the notes of one use: the comments of a pull request, or the open
// issues of a repository.
type commentStore struct {
	*rest
	// notes and note name them in messages: "comments of pull request 7", "comment".
	notes, note string
	// address is that of the list, and query selects the notes that are open.
	address, query string
	// item returns the address of one note, and method is how it is edited.
	item   func(id int64) string
	method string
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
		more, err := s.call(ctx, http.MethodGet, address, nil, &found)
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
	if _, err := s.call(ctx, http.MethodPost, s.address, s.fields(title, body), &made); err != nil {
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
	var body any
	if fields != nil {
		body = fields
	}
	if _, err := s.call(ctx, method, s.item(id), body, nil); err != nil {
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
