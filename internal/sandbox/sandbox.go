// Package sandbox simulates the documented platform: an http.Handler with a store,
// a clock that tests can advance, and a request log. It shares no code or data with
// the rest of trueup, so that it can't share a mistake.
package sandbox

import (
	"bytes"
	"context"
	_ "embed" // for the examples
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The paths of the two areas below the server's address (docs/platform.md 1).
const (
	DeliveryBase = "/delivery/v2.1"
	ComputeBase  = "/compute/v1/region-1"
)

// The roles of a token: those of docs/platform.md 5, and one that may only read.
const (
	RoleComputeAdmin = "compute-admin"
	RoleCDNAdmin     = "cdn-admin"
	RolePurger       = "cdn-purger"
	RoleReader       = "reader"
)

// The default tokens and workspace.
const (
	ComputeToken  = "sandbox-compute"
	DeliveryToken = "sandbox-delivery"
	ReaderToken   = "sandbox-reader"

	WorkspaceName = "acme"
	WorkspaceUUID = "5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c10"
)

// WorkspaceKey contains objects: Name is the {namespace} and UUID the {workspace_uuid} of docs/platform.md 1.
type WorkspaceKey struct {
	Name string `json:"name"`
	UUID string `json:"uuid"`
}

// ServerOptions configure a server. Only Now is required.
type ServerOptions struct {
	Dir    string           // for the store, sandbox.db; "" is a temporary directory
	Now    func() time.Time // the real clock
	Quirks []string         // names from Quirks
	Faults []FaultKind      // ways to fail besides those of FaultKinds
	// Around, if set, answers requests to the platform instead of answer, which it may call with another request.
	Around func(r *http.Request, body []byte, answer func(r *http.Request, body []byte) *Response) *Response
	// Tokens maps each Bearer token to its roles. By default there are the three
	// tokens above, and DeliveryToken may manage CDNs and purge.
	Tokens     map[string][]string
	Workspaces []WorkspaceKey // by default, only WorkspaceName
	// Log is called after each request, possibly by several goroutines at once.
	Log func(LoggedRequest)
}

// Server is the simulated platform. It is safe for concurrent use.
type Server struct {
	opts   ServerOptions
	store  *stateStore
	closed context.Context
	close  context.CancelFunc

	mu      sync.Mutex // for what follows, and store.offset
	on      quirkSet
	faults  []*fault
	dateOff time.Duration // what faults add to the Date header
}

// Open returns a server on the store in opts.Dir, and creates the store if there is none.
func Open(opts ServerOptions) (_ *Server, err error) {
	defer func() { err = wrapError(err, "open sandbox") }()
	if opts.Now == nil {
		return nil, errors.New("ServerOptions.Now is missing")
	}
	if len(opts.Tokens) == 0 {
		opts.Tokens = map[string][]string{
			ComputeToken:  {RoleComputeAdmin},
			DeliveryToken: {RoleCDNAdmin, RolePurger},
			ReaderToken:   {RoleReader},
		}
	}
	if len(opts.Workspaces) == 0 {
		opts.Workspaces = []WorkspaceKey{{Name: WorkspaceName, UUID: WorkspaceUUID}}
	}
	s := &Server{opts: opts}
	s.closed, s.close = context.WithCancel(context.Background())
	if err := s.SetQuirks(opts.Quirks...); err != nil {
		return nil, err
	}
	s.store, err = openStore(opts.Dir)
	return s, err
}

// Close ends the requests that a fault delays, and closes the store.
func (s *Server) Close() error {
	s.close()
	return s.store.close()
}

// Now returns the platform's time: ServerOptions.Now plus what Advance added.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Now().Add(s.store.offset).UTC()
}

// Advance moves the platform's clock on by d. The store keeps the new offset.
func (s *Server) Advance(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	offset := s.store.offset + d
	err := s.store.writeTransaction(func(o objectTx) error {
		return o.openBucket(bucketMeta).Put([]byte(keyOffset), []byte(offset.String()))
	})
	if err == nil {
		s.store.offset = offset
	}
	return wrapError(err, "advance clock")
}

//go:embed examples/live.yaml
var liveExamples []byte

//go:embed examples/applied.yaml
var appliedExamples []byte

// LiveExamples returns the objects of a new sandbox, as YAML documents.
func LiveExamples() []byte { return bytes.Clone(liveExamples) }

// AppliedExamples returns what a new sandbox's ledger has as last applied, as YAML documents.
func AppliedExamples() []byte { return bytes.Clone(appliedExamples) }

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
