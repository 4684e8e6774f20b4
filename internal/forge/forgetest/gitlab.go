package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// likeGitLab answers as docs.gitlab.com says of notes, issues, merge requests and
// the current user; its lists begin with the newest.
func (h *Host) likeGitLab(at string) {
	h.handle("GET "+at+"/user", false, func(c call) answer {
		if c.who.silent {
			return refused(http.StatusForbidden, "403 Forbidden")
		}
		return ok(map[string]any{"username": c.who.login})
	})
	project := at + "/projects/{project}"
	h.handle("GET "+project+"/merge_requests/{pull}", false, func(c call) answer {
		head, found := h.heads[c.PathValue("pull")]
		if !found {
			return notFound()
		}
		return ok(map[string]any{"sha": head})
	})
	h.gitLabNotes(project + "/merge_requests/{pull}/notes")
	h.gitLabIssues(project + "/issues")
}

func (h *Host) gitLabNotes(notes string) {
	h.handle("GET "+notes, false, func(c call) answer {
		return newestFirst(c, h.comments[c.PathValue("pull")], gitLabNote)
	})
	h.handle("POST "+notes, true, func(c call) answer {
		pull := c.PathValue("pull")
		if _, found := h.heads[pull]; !found {
			return notFound()
		}
		return created(gitLabNote(h.addComment(pull, c.who.login, c.body["body"])))
	})
	h.handle("PUT "+notes+"/{id}", true, func(c call) answer {
		n := find(h.comments[c.PathValue("pull")], c.PathValue("id"))
		if n == nil {
			return notFound()
		}
		n.change(c, "", "body")
		return ok(gitLabNote(n))
	})
	h.handle("DELETE "+notes+"/{id}", true, func(c call) answer { return h.deleteComment(c.PathValue("id")) })
}

func (h *Host) gitLabIssues(issues string) {
	h.handle("GET "+issues, false, func(c call) answer { return newestFirst(c, open(h.issues), gitLabIssue) })
	h.handle("POST "+issues, true, func(c call) answer {
		return created(gitLabIssue(h.addIssue(c.who.login, c.body["title"], c.body["description"])))
	})
	h.handle("PUT "+issues+"/{number}", true, func(c call) answer {
		n := find(h.issues, c.PathValue("number"))
		if n == nil {
			return notFound()
		}
		n.change(c, "title", "description")
		n.Closed = n.Closed || c.body["state_event"] == "close"
		return ok(gitLabIssue(n))
	})
}

func newestFirst(c call, notes []*Note, show func(*Note) map[string]any) answer {
	notes = slices.Clone(notes)
	slices.Reverse(notes)
	part, next := page(c.URL.Query(), notes)
	list := []any{}
	for _, n := range part {
		list = append(list, show(n))
	}
	header := map[string]string{"X-Next-Page": ""}
	if next > 0 {
		header["X-Next-Page"] = strconv.Itoa(next)
	}
	return answer{http.StatusOK, list, header}
}

func gitLabNote(n *Note) map[string]any {
	return map[string]any{"id": n.ID, "body": n.Body, "author": map[string]any{"username": n.Author}}
}

func gitLabIssue(n *Note) map[string]any {
	return map[string]any{
		"iid": n.ID, "title": n.Title, "description": n.Body, "author": map[string]any{"username": n.Author},
		"web_url": fmt.Sprintf("https://gitlab.example/-/issues/%d", n.ID),
	}
}
