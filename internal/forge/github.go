package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v89/github"
)

// gitHub is GitHub's REST API, and one question of its GraphQL API.
type gitHub struct {
	client      *github.Client
	graphql     string
	owner, name string
}

func newGitHub(web *http.Client, base *url.URL, repository string, o Options) (host, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || !isName(owner) || !isName(name) {
		return nil, fmt.Errorf("the repository is %q: write OWNER/NAME", repository)
	}
	address := base.String() + "/"
	client, err := github.NewClient(
		github.WithHTTPClient(web), github.WithURLs(&address, nil), github.WithAuthToken(o.Token.secret),
		github.WithUserAgent(o.UserAgent), github.WithDisableRateLimitCheck(),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare the client of GitHub: %w", err)
	}
	// A server of one's own has it beside its REST API, which is at /api/v3.
	graphql := strings.TrimSuffix(base.Path, "/v3") + "/graphql"
	return &gitHub{client: client, graphql: graphql, owner: owner, name: name}, nil
}

// isName tells whether s is a name that needs no escaping in a path.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && strings.Trim(s, nameCharacters) == ""
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// viewer asks the GraphQL API: REST does not tell it to the token of a workflow.
func (g *gitHub) viewer(ctx context.Context) (string, error) {
	req, err := g.client.NewRequest(ctx, http.MethodPost, g.graphql, map[string]string{"query": "{viewer{login}}"})
	if err != nil {
		return "", fmt.Errorf("make the request: %w", err)
	}
	var answer struct {
		Data struct {
			Viewer struct {
				Login string `json:"login"`
			} `json:"viewer"`
		} `json:"data"`
	}
	_, err = g.client.Do(req, &answer)
	return answer.Data.Viewer.Login, err
}

func (g *gitHub) head(ctx context.Context, pull int) (string, error) {
	p, _, err := g.client.PullRequests.Get(ctx, g.owner, g.name, pull)
	if err != nil {
		return "", fmt.Errorf("read pull request %d: %w", pull, err)
	}
	return p.GetHead().GetSHA(), nil
}

func (g *gitHub) comments(pull int) wall { return gitHubComments{g, pull} }
func (g *gitHub) issues() wall           { return gitHubIssues{g} }

// gitHubComments are the comments of a pull request.
type gitHubComments struct {
	*gitHub
	pull int
}

func (g gitHubComments) list(ctx context.Context) ([]note, error) {
	return pages(fmt.Sprintf("list the comments of pull request %d", g.pull), func(page int) ([]note, int, error) {
		opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: perPage, Page: page}}
		found, resp, err := g.client.Issues.ListComments(ctx, g.owner, g.name, g.pull, opts)
		if err != nil {
			return nil, 0, err
		}
		notes := make([]note, len(found))
		for i, c := range found {
			notes[i] = gitHubComment(c)
		}
		return notes, resp.NextPage, nil
	})
}

func gitHubComment(c *github.IssueComment) note {
	return note{id: c.GetID(), author: c.GetUser().GetLogin(), body: c.GetBody(), url: c.GetHTMLURL()}
}

func (g gitHubComments) create(ctx context.Context, _, body string) (note, error) {
	c, _, err := g.client.Issues.CreateComment(ctx, g.owner, g.name, g.pull, &github.IssueComment{Body: &body})
	if err != nil {
		return note{}, fmt.Errorf("comment on pull request %d: %w", g.pull, err)
	}
	return gitHubComment(c), nil
}

func (g gitHubComments) update(ctx context.Context, id int64, _, body string) error {
	if _, _, err := g.client.Issues.EditComment(ctx, g.owner, g.name, id, &github.IssueComment{Body: &body}); err != nil {
		return fmt.Errorf("update comment %d: %w", id, err)
	}
	return nil
}

func (g gitHubComments) remove(ctx context.Context, id int64) error {
	if _, err := g.client.Issues.DeleteComment(ctx, g.owner, g.name, id); err != nil {
		return fmt.Errorf("delete comment %d: %w", id, err)
	}
	return nil
}

// gitHubIssues are the open issues of a repository.
type gitHubIssues struct{ *gitHub }

func (g gitHubIssues) list(ctx context.Context) ([]note, error) {
	return pages("list the issues", func(page int) ([]note, int, error) {
		opts := &github.IssueListByRepoOptions{
			State: "open", ListOptions: github.ListOptions{PerPage: perPage, Page: page},
		}
		found, resp, err := g.client.Issues.ListByRepo(ctx, g.owner, g.name, opts)
		if err != nil {
			return nil, 0, err
		}
		var notes []note
		for _, i := range found {
			if !i.IsPullRequest() {
				notes = append(notes, gitHubIssue(i))
			}
		}
		return notes, resp.NextPage, nil
	})
}

func gitHubIssue(i *github.Issue) note {
	return note{
		id: int64(i.GetNumber()), author: i.GetUser().GetLogin(), url: i.GetHTMLURL(),
		title: i.GetTitle(), body: i.GetBody(),
	}
}

func (g gitHubIssues) create(ctx context.Context, title, body string) (note, error) {
	i, _, err := g.client.Issues.Create(ctx, g.owner, g.name, &github.IssueRequest{Title: &title, Body: &body})
	if err != nil {
		return note{}, fmt.Errorf("open an issue: %w", err)
	}
	return gitHubIssue(i), nil
}

func (g gitHubIssues) update(ctx context.Context, id int64, title, body string) error {
	return g.edit(ctx, id, &github.IssueRequest{Title: &title, Body: &body})
}

func (g gitHubIssues) remove(ctx context.Context, id int64) error {
	closed := "closed"
	return g.edit(ctx, id, &github.IssueRequest{State: &closed})
}

func (g gitHubIssues) edit(ctx context.Context, id int64, r *github.IssueRequest) error {
	if _, _, err := g.client.Issues.Edit(ctx, g.owner, g.name, int(id), r); err != nil {
		return fmt.Errorf("update issue %d: %w", id, err)
	}
	return nil
}
