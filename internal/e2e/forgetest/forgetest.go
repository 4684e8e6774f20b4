// Package forgetest is a stand-in for a code host in tests: comments, issues and
// users of GitHub's, Gitea's and GitLab's public APIs as their documents show them, with
// pages, tokens and faults; it imports none of ours, and no client of theirs.
package forgetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Note is a comment or an issue.
type Note struct {
	ID     int64
	Author string
	Title  string
	Body   string
	Closed bool
	// Edits counts how often it was written to after it was made.
	Edits int
}

// Request is one that arrived.
type Request struct {
	Method, Path, Body string
	Header             http.Header
	Status             int
}

// Fault makes coming requests fail: those with this method, or with any, whose
// path ends so.
type Fault struct {
	Method, Suffix string
	// Status is answered; 0 breaks the connection.
	Status int
	Header map[string]string
	Body   string
	// After lets the request do its work first, so that only the answer is lost.
	After bool
	// Skip is how many such requests it lets pass first, and Times how often it
	// strikes then; 0 is for ever.
	Skip, Times int
}

// account is what a token stands for.
type account struct {
	login string
	// writes says that it may write, and silent that the host does not tell whose it is.
	writes, silent bool
}

// Host is one code host with one repository. Its methods may be called while it serves.
type Host struct {
	mu       sync.Mutex
	mux      *http.ServeMux
	accounts map[string]account
	heads    map[string]string
	comments map[string][]*Note
	issues   []*Note
	faults   []*Fault
	requests []Request
	last     int64
	// Met is called at each request before it is answered; it may be nil, and is
	// set before the host serves.
	Met func(Request)
}

// New returns a host without tokens and pull requests.
func New() *Host {
	h := &Host{
		mux: http.NewServeMux(), accounts: map[string]account{}, heads: map[string]string{}, comments: map[string][]*Note{},
	}
	h.likeGitHub("")
	h.likeGitHub("/api/v3")
	h.likeGitea("/api/v1")
	h.likeGitLab("/api/v4")
	return h
}

// Token makes a token valid. One that does not write is refused what it tries,
// and of a silent one the host does not say whose it is.
func (h *Host) Token(token, login string, writes, silent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accounts[token] = account{login, writes, silent}
}

// Pull opens a pull request, or sets its newest commit.
func (h *Host) Pull(number, head string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heads[number] = head
}

// Comment adds a comment as somebody would by hand.
func (h *Host) Comment(pull, author, body string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addComment(pull, author, body).ID
}

// Issue adds an open issue.
func (h *Host) Issue(author, title, body string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addIssue(author, title, body).ID
}

// Delete takes a comment away as somebody would by hand.
func (h *Host) Delete(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deleteComment(strconv.FormatInt(id, 10))
}

// Comments are those of a pull request, the oldest first.
func (h *Host) Comments(pull string) []Note {
	h.mu.Lock()
	defer h.mu.Unlock()
	return copied(h.comments[pull])
}

// Issues are all issues, open and closed.
func (h *Host) Issues() []Note {
	h.mu.Lock()
	defer h.mu.Unlock()
	return copied(h.issues)
}

// Fault makes coming requests fail; the first that fits strikes.
func (h *Host) Fault(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, &f)
}

// Heal lets no coming request fail any more.
func (h *Host) Heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = nil
}

// Requests are all that arrived since the last call.
func (h *Host) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.requests
	h.requests = nil
	return all
}

func copied(notes []*Note) []Note {
	var out []Note
	for _, n := range notes {
		out = append(out, *n)
	}
	return out
}

func (h *Host) addComment(pull, author, body string) *Note {
	h.last++
	n := &Note{ID: h.last, Author: author, Body: body}
	h.comments[pull] = append(h.comments[pull], n)
	return n
}

func (h *Host) addIssue(author, title, body string) *Note {
	n := &Note{ID: int64(len(h.issues) + 1), Author: author, Title: title, Body: body}
	h.issues = append(h.issues, n)
	return n
}

// call is a request that is being answered; the host is locked meanwhile.
type call struct {
	*http.Request
	who  account
	body map[string]string
}

// answer is what is sent back.
type answer struct {
	status int
	value  any
	header map[string]string
}

func ok(value any) answer      { return answer{status: http.StatusOK, value: value} }
func created(value any) answer { return answer{status: http.StatusCreated, value: value} }
func refused(status int, message string) answer {
	return answer{status: status, value: map[string]any{"message": message}}
}

// handle registers a way to answer; writes says that it needs a token that may write.
func (h *Host) handle(pattern string, writes bool, do func(call) answer) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if t := r.Header.Get("Private-Token"); t != "" {
			token = t
		}
		who, known := h.accounts[token]
		c := call{Request: r, who: who}
		var a answer
		switch {
		case !known:
			a = refused(http.StatusUnauthorized, "Bad credentials")
		case writes && !who.writes:
			a = refused(http.StatusForbidden, "Resource not accessible by integration")
		case r.ContentLength != 0 && json.NewDecoder(r.Body).Decode(&c.body) != nil:
			a = refused(http.StatusBadRequest, "Problems parsing JSON")
		case utf8.RuneCountInString(c.body["body"]) > 65536 && !strings.HasPrefix(r.URL.Path, "/api/v4"):
			a = refused(http.StatusUnprocessableEntity, "Body is too long (maximum is 65536 characters)")
		default:
			a = do(c)
		}
		write(w, a)
	})
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	if a.value != nil {
		_ = json.NewEncoder(w).Encode(a.value) // who is gone needs no answer
	}
}

// fault is the one that strikes a request, or nil.
func (h *Host) fault(r *http.Request) *Fault {
	i := slices.IndexFunc(h.faults, func(f *Fault) bool {
		return (f.Method == "" || f.Method == r.Method) && strings.HasSuffix(r.URL.Path, f.Suffix)
	})
	if i < 0 {
		return nil
	}
	f := h.faults[i]
	if f.Skip--; f.Skip >= 0 {
		return nil
	}
	if f.Times--; f.Times == 0 {
		h.faults = slices.Delete(h.faults, i, i+1)
	}
	return f
}
