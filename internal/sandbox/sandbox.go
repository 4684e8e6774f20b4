// Package sandbox simulates the documented platform: an http.Handler with a store,
// a clock that tests can advance, and a request log. It shares no code or data with
// the rest of trueup, so that it can't share a mistake.
package sandbox

import (
	"bytes"
	"context"
	_ "embed" // for the examples
	"errors"
	"net/http"
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
		return nil, errors.New("Options.Now is missing")
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

// Now returns the platform's time: Options.Now plus what Advance added.
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
