package forgetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
)

// ServeHTTP answers one request at a time.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who is gone needs no answer
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	request := Request{Method: r.Method, Path: r.URL.Path, Body: string(body), Header: r.Header.Clone()}
	if h.Met != nil {
		h.Met(request)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.fault(r)
	recorder := httptest.NewRecorder()
	if f == nil || f.After {
		h.mux.ServeHTTP(recorder, r)
	}
	defer func() { h.requests = append(h.requests, request) }()
	if f != nil {
		request.Status = f.Status
		if f.Status == 0 {
			panic(http.ErrAbortHandler)
		}
		for name, value := range f.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body) // who is gone needs no answer
		return
	}
	request.Status = recorder.Code
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes()) // as above
}

// page is the part of a list that was asked for, and the number of the next one or 0.
func page[T any](q url.Values, all []T) (part []T, next int) {
	number, size := 1, 30
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		number = n
	}
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		next = number + 1
	}
	return all[from:to], next
}

// find is the note of a number in the path.
func find(notes []*Note, number string) *Note {
	id, err := strconv.ParseInt(number, 10, 64)
	i := slices.IndexFunc(notes, func(n *Note) bool { return n.ID == id })
	if err != nil || i < 0 {
		return nil
	}
	return notes[i]
}

// change writes to a note what a request says, and nothing else.
func (n *Note) change(c call, titleField, bodyField string) {
	n.Edits++
	if title, said := c.body[titleField]; said {
		n.Title = title
	}
	if body, said := c.body[bodyField]; said {
		n.Body = body
	}
}

// open are the issues that are open.
func open(issues []*Note) []*Note {
	return slices.DeleteFunc(slices.Clone(issues), func(n *Note) bool { return n.Closed })
}

func notFound() answer { return refused(http.StatusNotFound, "Not Found") }

// commentOf finds a comment and the pull request that it is of.
func (h *Host) commentOf(id string) (string, *Note) {
	for pull, notes := range h.comments {
		if n := find(notes, id); n != nil {
			return pull, n
		}
	}
	return "", nil
}

func (h *Host) deleteComment(id string) answer {
	pull, n := h.commentOf(id)
	if n == nil {
		return notFound()
	}
	h.comments[pull] = slices.DeleteFunc(h.comments[pull], func(o *Note) bool { return o == n })
	return answer{status: http.StatusNoContent}
}

func link(r *http.Request, next int) map[string]string {
	if next == 0 {
		return nil
	}
	q := r.URL.Query()
	q.Set("page", strconv.Itoa(next))
	return map[string]string{"Link": fmt.Sprintf("<http://%s%s?%s>; rel=\"next\"", r.Host, r.URL.Path, q.Encode())}
}
