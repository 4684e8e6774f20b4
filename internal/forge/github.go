package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// gitHub is GitHub's REST API, and one question of its GraphQL API.
type gitHub struct {
	*rest
	repository, graphql string
}

func newGitHub(client *http.Client, base *url.URL, repository string, o Options) (host, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || !isName(owner) || !isName(name) {
		return nil, fmt.Errorf("the repository is %q: write OWNER/NAME", repository)
	}
	// On a company's own server REST is at /api/v3 and GraphQL at /api/graphql.
	graphql := *base
	graphql.Path = strings.TrimSuffix(base.Path, "/v3") + "/graphql"
	return &gitHub{
		rest: &rest{client: client, header: http.Header{
			"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"},
			"Authorization": {"Bearer " + o.Token.secret}, "User-Agent": {o.UserAgent},
		}},
		repository: base.String() + "/repos/" + repository, graphql: graphql.String(),
	}, nil
}

// isName reports whether s is a name that needs no escaping in a path.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && strings.Trim(s, nameCharacters) == ""
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// viewer asks the GraphQL API: REST does not say it to the token of a workflow.
func (g *gitHub) viewer(ctx context.Context) (string, error) {
	var answer struct {
		Data struct {
			Viewer struct {
				Login string `json:"login"`
			} `json:"viewer"`
		} `json:"data"`
	}
	_, err := g.call(ctx, http.MethodPost, g.graphql, map[string]string{"query": "{viewer{login}}"}, &answer)
	return answer.Data.Viewer.Login, err
}

func (g *gitHub) head(ctx context.Context, pull int) (string, error) {
	var answer struct {
		Head struct {
			SHA string `json:"sha"`
		} `json:"head"`
	}
	if _, err := g.call(ctx, http.MethodGet, fmt.Sprintf("%s/pulls/%d", g.repository, pull), nil, &answer); err != nil {
		return "", fmt.Errorf("read pull request %d: %w", pull, err)
	}
	return answer.Head.SHA, nil
}

func (g *gitHub) comments(pull int) commentStore {
	return commentStore{
		rest: g.rest, notes: fmt.Sprintf("comments of pull request %d", pull), note: "comment",
		address: fmt.Sprintf("%s/issues/%d/comments", g.repository, pull),
		item:    func(id int64) string { return fmt.Sprintf("%s/issues/comments/%d", g.repository, id) },
		method:  http.MethodPatch, bodyField: "body",
	}
}

func (g *gitHub) issues() commentStore {
	return commentStore{
		rest: g.rest, notes: "issues", note: "issue",
		address: g.repository + "/issues", query: "state=open&",
		item:   func(number int64) string { return fmt.Sprintf("%s/issues/%d", g.repository, number) },
		method: http.MethodPatch, bodyField: "body", closing: map[string]string{"state": "closed"},
	}
}
