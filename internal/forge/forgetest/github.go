package forgetest

import (
	"fmt"
	"net/http"
	"strings"
)

// likeGitHub answers as docs.github.com says of comments, issues, pull requests
// and GraphQL's viewer.
func (h *Host) likeGitHub(at string) {
	graphql := strings.TrimSuffix(at, "/v3") + "/graphql"
	h.handle("POST "+graphql, false, func(c call) answer {
		if c.who.silent || !strings.Contains(c.body["query"], "viewer") {
			return refused(http.StatusForbidden, "Resource not accessible by integration")
		}
		return ok(map[string]any{"data": map[string]any{"viewer": map[string]any{"login": c.who.login}}})
	})
	repository := at + "/repos/{owner}/{name}"
	h.handle("GET "+repository+"/pulls/{pull}", false, func(c call) answer {
		head, found := h.heads[c.PathValue("pull")]
		if !found {
			return notFound()
		}
		return ok(map[string]any{"head": map[string]any{"sha": head}})
	})
	h.gitHubComments(repository)
	h.gitHubIssues(repository)
}

func (h *Host) gitHubComments(repository string) {
	h.handle("GET "+repository+"/issues/{pull}/comments", false, func(c call) answer {
		part, next := page(c.URL.Query(), h.comments[c.PathValue("pull")])
		list := []any{}
		for _, n := range part {
			list = append(list, gitHubComment(n))
		}
		return answer{http.StatusOK, list, link(c.Request, next)}
	})
	h.handle("POST "+repository+"/issues/{pull}/comments", true, func(c call) answer {
		pull := c.PathValue("pull")
		if _, found := h.heads[pull]; !found {
			return notFound()
		}
		return created(gitHubComment(h.addComment(pull, c.who.login, c.body["body"])))
	})
	h.handle("PATCH "+repository+"/issues/comments/{id}", true, func(c call) answer {
		_, n := h.commentOf(c.PathValue("id"))
		if n == nil {
			return notFound()
		}
		n.change(c, "", "body")
		return ok(gitHubComment(n))
	})
	h.handle("DELETE "+repository+"/issues/comments/{id}", true, func(c call) answer {
		return h.deleteComment(c.PathValue("id"))
	})
}

func (h *Host) gitHubIssues(repository string) {
	h.handle("GET "+repository+"/issues", false, func(c call) answer {
		part, next := page(c.URL.Query(), open(h.issues))
		list := []any{}
		for _, n := range part {
			list = append(list, gitHubIssue(n))
		}
		return answer{http.StatusOK, list, link(c.Request, next)}
	})
	h.handle("POST "+repository+"/issues", true, func(c call) answer {
		return created(gitHubIssue(h.addIssue(c.who.login, c.body["title"], c.body["body"])))
	})
	h.handle("PATCH "+repository+"/issues/{number}", true, func(c call) answer {
		n := find(h.issues, c.PathValue("number"))
		if n == nil {
			return notFound()
		}
		n.change(c, "title", "body")
		if state, said := c.body["state"]; said {
			n.Closed = state == "closed"
		}
		return ok(gitHubIssue(n))
	})
}

func gitHubComment(n *Note) map[string]any {
	return map[string]any{
		"id": n.ID, "body": n.Body, "user": map[string]any{"login": n.Author},
		"html_url": fmt.Sprintf("https://github.example/pull#issuecomment-%d", n.ID),
	}
}

func gitHubIssue(n *Note) map[string]any {
	state := "open"
	if n.Closed {
		state = "closed"
	}
	return map[string]any{
		"number": n.ID, "title": n.Title, "body": n.Body, "state": state, "user": map[string]any{"login": n.Author},
		"html_url": fmt.Sprintf("https://github.example/issues/%d", n.ID),
	}
}
