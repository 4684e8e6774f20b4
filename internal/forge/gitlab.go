package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// gitLab is GitLab's REST API.
type gitLab struct {
	*rest
	api, project string
}

func newGitLab(client *http.Client, base *url.URL, project string, o Options) (host, error) {
	for part := range strings.SplitSeq(project, "/") {
		if !isName(part) || !strings.Contains(project, "/") {
			return nil, fmt.Errorf("the project is %q: write GROUP/NAME", project)
		}
	}
	return &gitLab{
		rest: &rest{client: client, header: http.Header{
			"Accept": {"application/json"}, "Private-Token": {o.Token.secret}, "User-Agent": {o.UserAgent},
		}},
		api: base.String(), project: base.String() + "/projects/" + url.PathEscape(project),
	}, nil
}

func (g *gitLab) viewer(ctx context.Context) (string, error) {
	var answer struct {
		Username string `json:"username"`
	}
	if _, err := g.call(ctx, http.MethodGet, g.api+"/user", nil, &answer); err != nil {
		return "", fmt.Errorf("read the user: %w", err)
	}
	return answer.Username, nil
}

func (g *gitLab) head(ctx context.Context, pull int) (string, error) {
	var answer struct {
		SHA string `json:"sha"`
	}
	if _, err := g.call(ctx, http.MethodGet, g.mergeRequest(pull), nil, &answer); err != nil {
		return "", fmt.Errorf("read merge request %d: %w", pull, err)
	}
	return answer.SHA, nil
}

func (g *gitLab) mergeRequest(pull int) string {
	return fmt.Sprintf("%s/merge_requests/%d", g.project, pull)
}

func (g *gitLab) comments(pull int) commentStore {
	address := g.mergeRequest(pull) + "/notes"
	return commentStore{
		rest: g.rest, notes: fmt.Sprintf("comments of merge request %d", pull), note: "comment", address: address,
		item:   func(id int64) string { return fmt.Sprintf("%s/%d", address, id) },
		method: http.MethodPut, bodyField: "body",
	}
}

func (g *gitLab) issues() commentStore {
	address := g.project + "/issues"
	return commentStore{
		rest: g.rest, notes: "issues", note: "issue", address: address, query: "state=opened&",
		item:   func(iid int64) string { return fmt.Sprintf("%s/%d", address, iid) },
		method: http.MethodPut, bodyField: "description", closing: map[string]string{"state_event": "close"},
	}
}
