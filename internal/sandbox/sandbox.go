// Package sandbox is the documented platform as an http.Handler with a store, a
// clock that can be moved and a request log. It shares no code or data with the
// program that is tested on it.
package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"trueup/internal/sandbox/control"
	"trueup/internal/sandbox/fault"
)

// The base addresses of the two areas, as paths below the server's address
// (docs/platform.md 1: {delivery_base_url} and {compute_base_url}).
const (
	DeliveryBase = "/delivery/v2.1"
	ComputeBase  = "/compute/v1/region-1"
)

// The roles that a token can hold (docs/platform.md 5), and one more that may read
// everything and change nothing.
const (
	RoleComputeAdmin = "compute-admin"
	RoleCDNAdmin     = "cdn-admin"
	RolePurger       = "cdn-purger"
	RoleReader       = "reader"
)

// The tokens and the workspace of a server whose options name none.
const (
	ComputeToken  = "sandbox-compute"
	DeliveryToken = "sandbox-delivery"
	ReaderToken   = "sandbox-reader"

	WorkspaceName = "acme"
	WorkspaceUUID = "5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c10"
)

// Workspace is a place that objects live in: Name is {namespace} and UUID is
// {workspace_uuid} of docs/platform.md 1.
type Workspace struct {
	Name string `json:"name"`
	UUID string `json:"uuid"`
}

// Options describe a server. Now is required; everything else has a default.
type Options struct {
	// Dir holds the store, a file named sandbox.db; empty keeps nothing after
	// Close.
	Dir    string
	Now    func() time.Time // the clock that Advance moves on from
	Quirks []string         // Quirks are names of the table that fault.Quirks returns
	// Tokens maps the value of a Bearer token to its roles. Default: the three
	// tokens above; DeliveryToken manages CDNs and may purge.
	Tokens     map[string][]string
	Workspaces []Workspace // Workspaces default to WorkspaceName alone
	// Log is called with each request after its answer is known, also by
	// several requests at once.
	Log func(Request)
}

// Server is the platform, behind an injector of faults and quirks. It is safe for
// concurrent use.
type Server struct {
	*fault.Injector
	opts      Options
	resources []*resource
	store     *store

	mu     sync.Mutex
	offset time.Duration
	hook   func(method, path string)
}

// Open opens or makes the store of opts.Dir and returns a server on it.
func Open(opts Options) (*Server, error) {
	s, err := open(opts)
	if err != nil {
		return nil, fmt.Errorf("open sandbox: %w", err)
	}
	return s, nil
}

func open(opts Options) (*Server, error) {
	if opts.Now == nil {
		return nil, errors.New("no clock was given")
	}
	if len(opts.Tokens) == 0 {
		opts.Tokens = map[string][]string{
			ComputeToken:  {RoleComputeAdmin},
			DeliveryToken: {RoleCDNAdmin, RolePurger},
			ReaderToken:   {RoleReader},
		}
	}
	if len(opts.Workspaces) == 0 {
		opts.Workspaces = []Workspace{{Name: WorkspaceName, UUID: WorkspaceUUID}}
	}
	s := &Server{opts: opts, resources: newResources()}
	var err error
	if s.Injector, err = fault.New(s.Now, opts.Quirks...); err != nil {
		return nil, err
	}
	if s.store, err = openStore(opts.Dir); err != nil {
		return nil, err
	}
	if s.offset, err = s.store.offset(); err != nil {
		return nil, errors.Join(err, s.store.close())
	}
	return s, nil
}

// Close ends the requests that a fault holds, and closes the store.
func (s *Server) Close() error {
	s.Injector.Close()
	return s.store.close()
}

// Now returns the platform's time: the clock of Options and all that Advance
// added.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Now().Add(s.offset).UTC()
}

// Advance moves the platform's clock on by d, for good: the store keeps it.
func (s *Server) Advance(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.store.setOffset(s.offset + d); err != nil {
		return fmt.Errorf("advance clock: %w", err)
	}
	s.offset += d
	return nil
}

// OnRequest has f called at the start of each request to the platform, before
// anything is read; f may call every method of the server. Nil takes it away.
func (s *Server) OnRequest(f func(method, path string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// maxBody bounds a request, in bytes.
const maxBody = 16 << 20

// ServeHTTP answers requests to the platform, and those below control.Base. It
// breaks a connection by a panic with http.ErrAbortHandler, as net/http asks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, control.Base) {
		control.Serve(w, r, s.actions())
		return
	}
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(r.Method, r.URL.Path)
	}
	body, unread := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	s.Serve(w, r, func(r *http.Request, on fault.Set) *fault.Answer {
		c := &call{
			method: r.Method, path: r.URL.EscapedPath(), query: r.URL.Query(), header: r.Header,
			body: body, now: s.Now(), on: on,
		}
		a, err := s.answer(c, unread)
		if err != nil {
			return c.failed(err)
		}
		return a
	}, func(status int) {
		s.record(Request{
			Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
			ContentType: r.Header.Get("Content-Type"), Body: string(body), Time: s.Now(), Status: status,
		})
	})
}
