package sandbox

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PendingFault is a fault that may still apply: it matched Seen requests and changed Done.
type PendingFault struct {
	Rule string `json:"rule"`
	Seen int    `json:"seen"`
	Done int    `json:"done"`
}

// AddFaults adds faults in the form of Grammar, or none if one is invalid. Each counts the
// requests that it matches; if several apply to a request, the oldest one wins.
func (s *Server) AddFaults(texts ...string) error {
	var added []*fault
	for _, text := range texts {
		f, err := parseFault(text, append(FaultKinds(), s.opts.Faults...))
		if err != nil {
			return err
		}
		added = append(added, f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, added...)
	return nil
}

// PendingFaults returns the faults that may still apply, the oldest first.
func (s *Server) PendingFaults() []PendingFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []PendingFault{}
	for _, f := range s.faults {
		out = append(out, PendingFault{Rule: f.text, Seen: f.seen, Done: f.done})
	}
	return out
}

// ClearFaults removes all faults, and corrects the Date header.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.dateOff = nil, 0
}

// takeFault returns the fault that applies to a request, or one that does nothing.
func (s *Server) takeFault(r *http.Request) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := &fault{after: true}
	for _, f := range s.faults {
		if f.matchesRequest(r.Method, r.URL.Path) && f.countRequest() && taken.text == "" {
			f.done++
			taken = f
		}
	}
	s.faults = slices.DeleteFunc(s.faults, (*fault).isSpent)
	if taken.Name == "clock" {
		s.dateOff += taken.Time
	}
	return taken
}

const maxBody = 16 << 20 // bytes of a request

// ServeHTTP answers requests to the platform, and those below ControlBase. It
// panics with http.ErrAbortHandler to break a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ControlBase) {
		if why := WhyFromBrowser(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		s.controlHandler().ServeHTTP(w, r)
		return
	}
	body, unread := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	f := s.takeFault(r)
	// The platform carries a late request out even if the client is gone.
	if f.Name == "delay" && !f.after && !s.wait(context.Background(), max(f.Time, 0)) {
		panic(http.ErrAbortHandler)
	}
	var a *Response
	answer := func(r *http.Request, body []byte) *Response { return s.answerWithFault(f, r, body, unread) }
	if s.opts.Around != nil {
		a = s.opts.Around(r, body, answer)
	} else {
		a = answer(r, body)
	}
	s.setDate(a)
	s.recordRequest(LoggedRequest{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		ContentType: r.Header.Get("Content-Type"), Body: string(body), Time: s.Now(), Status: a.Status,
	})
	a.write(w, func(d time.Duration) bool { return s.wait(r.Context(), d) })
}

// answerWithFault answers a request as the platform, the quirks and a fault say.
func (s *Server) answerWithFault(f *fault, r *http.Request, body []byte, unread error) *Response {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	a := &Response{Header: http.Header{}}
	switch f.Name {
	case "duplicate-executes":
		on = quirkSet{executesDuplicates: true}
	case partialList, partialCounted, partialPaged:
		query := r.URL.Query()
		query.Set("limit", strconv.Itoa(f.N))
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	if f.after || f.Edit == nil {
		a = s.answerRequest(r, body, unread, on)
	}
	if f.Name == "delay" && f.after {
		a.delay = f.Time
	}
	if f.Edit != nil {
		f.Edit(f.FaultValue, a, s.Now())
	}
	return a
}

// setDate sets the Date header, unless something else did.
func (s *Server) setDate(a *Response) {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, has := a.Header["Date"]; !has {
		a.Header.Set("Date", now.Add(s.dateOff).Format(http.TimeFormat))
	}
}

// wait waits for d, or forever if d is negative. It returns false if the context or the server ends first.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	var rings <-chan time.Time
	if d >= 0 {
		rings = time.After(d)
	}
	select {
	case <-rings:
		return true
	case <-ctx.Done():
	case <-s.closed.Done():
	}
	return false
}
