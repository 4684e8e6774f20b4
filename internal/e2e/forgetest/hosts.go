package forgetest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// dialect is how one host answers about pull requests, comments and issues.
type dialect struct {
	// pull, comments, comment and issues are paths, and edit is the method of changes.
	pull, comments, comment, issues, edit string
	// issueBody is the field for the text of an issue.
	issueBody string
	head      func(commit string) map[string]any
	// showComment and showIssue return a note without its title, text and number.
	showComment, showIssue func(n *Note) map[string]any
	issueNumber            string
	// list returns a page of notes.
	list func(c call, notes []*Note, show func(*Note) map[string]any) answer
	// closed reports whether an edit closes an issue, or reopens it.
	closed func(c call, was bool) bool
}

// likeGitHub answers as docs.github.com documents comments, issues, pull requests and
// GraphQL's viewer.
func (h *Host) likeGitHub(at string) {
	h.handle("POST "+strings.TrimSuffix(at, "/v3")+"/graphql", false, func(c call) answer {
		if c.who.silent || !strings.Contains(c.body["query"], "viewer") {
			return refused(http.StatusForbidden, "Resource not accessible by integration")
		}
		return ok(map[string]any{"data": map[string]any{"viewer": map[string]any{"login": c.who.login}}})
	})
	h.serveGitHub(at)
}

// likeGitea answers as docs.gitea.com documents its API, which is GitHub's but for the user of a token.
func (h *Host) likeGitea(at string) {
	h.handle("GET "+at+"/user", false, func(c call) answer {
		if c.who.silent {
			return refused(http.StatusForbidden, "token does not have at least one of required scope(s)")
		}
		return ok(map[string]any{"login": c.who.login})
	})
	h.serveGitHub(at)
}

// serveGitHub answers about comments, issues and pull requests.
func (h *Host) serveGitHub(at string) {
	repository := at + "/repos/{owner}/{name}"
	show := func(n *Note, address string) map[string]any {
		return map[string]any{"user": map[string]any{"login": n.Author}, "html_url": fmt.Sprintf("https://github.example/"+address, n.ID)}
	}
	h.serve(dialect{
		pull: repository + "/pulls/{pull}", comments: repository + "/issues/{pull}/comments",
		comment: repository + "/issues/comments/{id}", issues: repository + "/issues", edit: "PATCH ", issueBody: "body",
		head:        func(commit string) map[string]any { return map[string]any{"head": map[string]any{"sha": commit}} },
		showComment: func(n *Note) map[string]any { return show(n, "pull#issuecomment-%d") },
		showIssue: func(n *Note) map[string]any {
			state := map[bool]string{true: "closed", false: "open"}[n.Closed]
			out := show(n, "issues/%d")
			out["state"] = state
			// Gitea, whose API is like GitHub's, sends these too.
			out["pull_request"], out["repository"] = nil, map[string]any{"owner": "acme"}
			return out
		},
		issueNumber: "number",
		list: func(c call, notes []*Note, show func(*Note) map[string]any) answer {
			part, next := page(c.URL.Query(), notes)
			return answer{http.StatusOK, shown(part, show), link(c.Request, next)}
		},
		closed: func(c call, was bool) bool {
			if state, said := c.body["state"]; said {
				return state == "closed"
			}
			return was
		},
	})
}

// likeGitLab answers as docs.gitlab.com documents notes, issues, merge requests and the
// current user. Its lists begin with the newest.
func (h *Host) likeGitLab(at string) {
	h.handle("GET "+at+"/user", false, func(c call) answer {
		if c.who.silent {
			return refused(http.StatusForbidden, "403 Forbidden")
		}
		return ok(map[string]any{"username": c.who.login})
	})
	project := at + "/projects/{project}"
	merge := project + "/merge_requests/{pull}"
	author := func(n *Note) map[string]any { return map[string]any{"author": map[string]any{"username": n.Author}} }
	h.serve(dialect{
		pull: merge, comments: merge + "/notes", comment: merge + "/notes/{id}", issues: project + "/issues",
		edit: "PUT ", issueBody: "description",
		head:        func(commit string) map[string]any { return map[string]any{"sha": commit} },
		showComment: author,
		showIssue: func(n *Note) map[string]any {
			out := author(n)
			out["web_url"] = fmt.Sprintf("https://gitlab.example/-/issues/%d", n.ID)
			return out
		},
		issueNumber: "iid",
		list: func(c call, notes []*Note, show func(*Note) map[string]any) answer {
			notes = slices.Clone(notes)
			slices.Reverse(notes)
			part, next := page(c.URL.Query(), notes)
			header := map[string]string{"X-Next-Page": ""}
			if next > 0 {
				header["X-Next-Page"] = strconv.Itoa(next)
			}
			return answer{http.StatusOK, shown(part, show), header}
		},
		closed: func(c call, was bool) bool { return was || c.body["state_event"] == "close" },
	})
}

func shown(notes []*Note, show func(*Note) map[string]any) []any {
	list := []any{}
	for _, n := range notes {
		list = append(list, show(n))
	}
	return list
}

func (h *Host) serve(d dialect) {
	showComment := func(n *Note) map[string]any {
		out := map[string]any{"id": n.ID, "body": n.Body}
		maps.Copy(out, d.showComment(n))
		return out
	}
	h.handle("GET "+d.pull, false, func(c call) answer {
		commit, found := h.heads[c.PathValue("pull")]
		if !found {
			return notFound()
		}
		return ok(d.head(commit))
	})
	h.handle("GET "+d.comments, false, func(c call) answer { return d.list(c, h.comments[c.PathValue("pull")], showComment) })
	h.handle("POST "+d.comments, true, func(c call) answer {
		pull := c.PathValue("pull")
		if _, found := h.heads[pull]; !found {
			return notFound()
		}
		return created(showComment(h.addComment(pull, c.who.login, c.body["body"])))
	})
	h.handle(d.edit+d.comment, true, func(c call) answer {
		_, n := h.commentOf(c.PathValue("id"))
		if n == nil {
			return notFound()
		}
		n.change(c, "", "body")
		return ok(showComment(n))
	})
	h.handle("DELETE "+d.comment, true, func(c call) answer { return h.deleteComment(c.PathValue("id")) })
	h.serveIssues(d)
}

func (h *Host) serveIssues(d dialect) {
	show := func(n *Note) map[string]any {
		out := map[string]any{d.issueNumber: n.ID, "title": n.Title, d.issueBody: n.Body}
		maps.Copy(out, d.showIssue(n))
		return out
	}
	h.handle("GET "+d.issues, false, func(c call) answer { return d.list(c, open(h.issues), show) })
	h.handle("POST "+d.issues, true, func(c call) answer {
		return created(show(h.addIssue(c.who.login, c.body["title"], c.body[d.issueBody])))
	})
	h.handle(d.edit+d.issues+"/{number}", true, func(c call) answer {
		n := find(h.issues, c.PathValue("number"))
		if n == nil {
			return notFound()
		}
		n.change(c, "title", d.issueBody)
		n.Closed = d.closed(c, n.Closed)
		return ok(show(n))
	})
}
