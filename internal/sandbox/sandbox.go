// Package sandbox is the documented platform as an http.Handler with a store,
// a clock that can be moved, faults and a request log; it refuses to share any
// code or data with the program that is tested on it.
package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
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
	Dir string
	// Now is the clock that Advance moves on from.
	Now func() time.Time
	// Quirks are names of the table that Quirks returns.
	Quirks []string
	// Tokens maps the value of a Bearer token to its roles. Default: the three
	// tokens above, of which DeliveryToken manages CDNs and may purge.
	Tokens map[string][]string
	// Workspaces default to WorkspaceName alone.
	Workspaces []Workspace
	// PurgeLife is how long a purge is kept, and its name taken; default
	// PurgeLife. The document says "about 24 hours" (docs/platform.md 3).
	PurgeLife time.Duration
	// Disks are the disks that exist. Empty: all but those whose name starts
	// with "missing-".
	Disks []string
	// Log is called with each request after its answer is known, also by
	// several requests at once.
	Log func(Request)
}

// Server is the platform. It is safe for concurrent use.
type Server struct {
	opts      Options
	resources []*resource
	store     *store
	closed    chan struct{}
	closing   sync.Once

	mu     sync.Mutex
	offset time.Duration
	on     quirkSet
	faults []*pending
	// dateOff is by how much a fault put the Date header off.
	dateOff time.Duration
	hook    func(method, path string)
	// limited holds what a rate-limiting quirk has already turned away, and
	// lagging what a read by path still shows once.
	limited map[string]bool
	lagging map[string]object
}

// Open opens or makes the store of opts.Dir and returns a server on it.
func Open(opts Options) (*Server, error) {
	if opts.Now == nil {
		return nil, errors.New("open sandbox: no clock was given")
	}
	on, err := newQuirkSet(opts.Quirks)
	if err != nil {
		return nil, fmt.Errorf("open sandbox: %w", err)
	}
	fields, err := parseFields(cdnFields)
	if err != nil {
		return nil, fmt.Errorf("open sandbox: fields: %w", err)
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
	if opts.PurgeLife <= 0 {
		opts.PurgeLife = PurgeLife
	}
	st, err := openStore(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("open sandbox: %w", err)
	}
	s := &Server{
		opts: opts, resources: newResources(fields, opts.PurgeLife), store: st, on: on,
		closed: make(chan struct{}), limited: map[string]bool{}, lagging: map[string]object{},
	}
	if s.offset, err = st.offset(); err != nil {
		return nil, errors.Join(fmt.Errorf("open sandbox: %w", err), st.close())
	}
	return s, nil
}

// Close lets go of requests that a fault holds, and closes the store.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		err = s.store.close()
	})
	return err
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

// SetQuirks replaces the quirks that are switched on; an unknown name changes
// nothing and is an error.
func (s *Server) SetQuirks(names ...string) error {
	on, err := newQuirkSet(names)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
	clear(s.limited)
	clear(s.lagging)
	return nil
}

// ActiveQuirks returns the names of the quirks that are switched on, sorted.
func (s *Server) ActiveQuirks() []string {
	return slices.Sorted(maps.Keys(s.quirks()))
}

func (s *Server) quirks() quirkSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on
}

// OnRequest has f called at the start of each request to the platform, before
// anything is read; f may call every method of the server. Nil takes it away.
func (s *Server) OnRequest(f func(method, path string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// ServeHTTP answers requests to the platform, and those below ControlBase. A
// connection that a fault or a quirk drops is dropped by panicking with
// http.ErrAbortHandler, as net/http asks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ControlBase) {
		s.control(w, r)
		return
	}
	s.serve(w, r)
}
