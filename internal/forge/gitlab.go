package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
	"golang.org/x/time/rate"
)

// gitLab is GitLab's REST API.
type gitLab struct {
	client  *gitlab.Client
	project string
}

func newGitLab(web *http.Client, base *url.URL, project string, o Options) (host, error) {
	for part := range strings.SplitSeq(project, "/") {
		if !isName(part) || !strings.Contains(project, "/") {
			return nil, fmt.Errorf("the project is %q: write GROUP/NAME", project)
		}
	}
	client, err := gitlab.NewClient(o.Token.secret, gitlab.WithBaseURL(base.String()), gitlab.WithHTTPClient(web),
		gitlab.WithoutRetries(), gitlab.WithUserAgent(o.UserAgent),
		// Else it would ask the server for its limits first.
		gitlab.WithCustomLimiter(rate.NewLimiter(rate.Inf, 0)))
	if err != nil {
		return nil, fmt.Errorf("prepare the client of GitLab: %w", err)
	}
	return &gitLab{client, project}, nil
}

func (g *gitLab) viewer(ctx context.Context) (string, error) {
	u, _, err := g.client.Users.CurrentUser(gitlab.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("read the user: %w", err)
	}
	return u.Username, nil
}

func (g *gitLab) head(ctx context.Context, pull int) (string, error) {
	m, _, err := g.client.MergeRequests.GetMergeRequest(g.project, int64(pull), nil, gitlab.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("read merge request %d: %w", pull, err)
	}
	return m.SHA, nil
}

func (g *gitLab) comments(pull int) wall { return gitLabNotes{g, int64(pull)} }
func (g *gitLab) issues() wall           { return gitLabIssues{g} }

// gitLabNotes are the comments of a merge request.
type gitLabNotes struct {
	*gitLab
	pull int64
}

func (g gitLabNotes) list(ctx context.Context) ([]note, error) {
	return pages(fmt.Sprintf("list the comments of merge request %d", g.pull), func(page int) ([]note, int, error) {
		opts := &gitlab.ListMergeRequestNotesOptions{
			ListOptions: gitlab.ListOptions{PerPage: perPage, Page: int64(page)},
		}
		found, resp, err := g.client.Notes.ListMergeRequestNotes(g.project, g.pull, opts, gitlab.WithContext(ctx))
		if err != nil {
			return nil, 0, err
		}
		var notes []note
		for _, n := range found {
			if !n.System {
				notes = append(notes, gitLabNote(n))
			}
		}
		return notes, int(resp.NextPage), nil
	})
}

func gitLabNote(n *gitlab.Note) note {
	return note{id: n.ID, author: n.Author.Username, body: n.Body}
}

func (g gitLabNotes) create(ctx context.Context, _, body string) (note, error) {
	opts := &gitlab.CreateMergeRequestNoteOptions{Body: &body}
	n, _, err := g.client.Notes.CreateMergeRequestNote(g.project, g.pull, opts, gitlab.WithContext(ctx))
	if err != nil {
		return note{}, fmt.Errorf("comment on merge request %d: %w", g.pull, err)
	}
	return gitLabNote(n), nil
}

func (g gitLabNotes) update(ctx context.Context, id int64, _, body string) error {
	opts := &gitlab.UpdateMergeRequestNoteOptions{Body: &body}
	if _, _, err := g.client.Notes.UpdateMergeRequestNote(g.project, g.pull, id, opts, gitlab.WithContext(ctx)); err != nil {
		return fmt.Errorf("update comment %d: %w", id, err)
	}
	return nil
}

func (g gitLabNotes) remove(ctx context.Context, id int64) error {
	if _, err := g.client.Notes.DeleteMergeRequestNote(g.project, g.pull, id, gitlab.WithContext(ctx)); err != nil {
		return fmt.Errorf("delete comment %d: %w", id, err)
	}
	return nil
}

// gitLabIssues are the open issues of a project.
type gitLabIssues struct{ *gitLab }

func (g gitLabIssues) list(ctx context.Context) ([]note, error) {
	return pages("list the issues", func(page int) ([]note, int, error) {
		opened := "opened"
		opts := &gitlab.ListProjectIssuesOptions{
			State: &opened, ListOptions: gitlab.ListOptions{PerPage: perPage, Page: int64(page)},
		}
		found, resp, err := g.client.Issues.ListProjectIssues(g.project, opts, gitlab.WithContext(ctx))
		if err != nil {
			return nil, 0, err
		}
		notes := make([]note, len(found))
		for i, issue := range found {
			notes[i] = gitLabIssue(issue)
		}
		return notes, int(resp.NextPage), nil
	})
}

func gitLabIssue(i *gitlab.Issue) note {
	n := note{id: i.IID, title: i.Title, body: i.Description, url: i.WebURL}
	if i.Author != nil {
		n.author = i.Author.Username
	}
	return n
}

func (g gitLabIssues) create(ctx context.Context, title, body string) (note, error) {
	opts := &gitlab.CreateIssueOptions{Title: &title, Description: &body}
	i, _, err := g.client.Issues.CreateIssue(g.project, opts, gitlab.WithContext(ctx))
	if err != nil {
		return note{}, fmt.Errorf("open an issue: %w", err)
	}
	return gitLabIssue(i), nil
}

func (g gitLabIssues) update(ctx context.Context, id int64, title, body string) error {
	return g.edit(ctx, id, &gitlab.UpdateIssueOptions{Title: &title, Description: &body})
}

func (g gitLabIssues) remove(ctx context.Context, id int64) error {
	closing := "close"
	return g.edit(ctx, id, &gitlab.UpdateIssueOptions{StateEvent: &closing})
}

func (g gitLabIssues) edit(ctx context.Context, id int64, opts *gitlab.UpdateIssueOptions) error {
	if _, _, err := g.client.Issues.UpdateIssue(g.project, id, opts, gitlab.WithContext(ctx)); err != nil {
		return fmt.Errorf("update issue %d: %w", id, err)
	}
	return nil
}
