package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Mode is what a scripted fault does to a request.
type Mode string

// The modes. Before: the platform never acted on the request. After commit:
// it did, and its answer is lost.
const (
	Unavailable      Mode = "503-before"
	UnavailableAfter Mode = "503-after-commit"
	Drop             Mode = "drop-before"
	DropAfter        Mode = "drop-after-commit"
	Stall            Mode = "stall-before"
	StallAfter       Mode = "stall-after-commit"
)

// Modes returns all modes.
func Modes() []Mode {
	return []Mode{Unavailable, UnavailableAfter, Drop, DropAfter, Stall, StallAfter}
}

func (m Mode) before() bool { return m == Unavailable || m == Drop || m == Stall }

// fault waits for the requests that it is meant for.
type fault struct {
	method, pathPart string
	mode             Mode
	left             int
}

// Fault makes the next times requests fail whose method is method ("" is any)
// and whose path holds pathPart. Faults are used up in the order they came.
func (s *Server) Fault(method, pathPart string, mode Mode, times int) error {
	if !slices.Contains(Modes(), mode) {
		return fmt.Errorf("fault mode %q does not exist", mode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method: method, pathPart: pathPart, mode: mode, left: times})
	return nil
}

// ClearFaults forgets the faults that have not happened.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// takeFault returns the mode of the fault that meets a request, or "".
func (s *Server) takeFault(method, path string) Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.left > 0 && (f.method == "" || f.method == method) && strings.Contains(path, f.pathPart) {
			f.left--
			return f.mode
		}
	}
	return ""
}

// inject does what a fault says with a request that the platform has, or has
// not, acted on. The request is logged first, with status 0 if no answer is
// sent.
func (s *Server) inject(w http.ResponseWriter, r *http.Request, c *call, mode Mode, entry Request) {
	switch mode {
	case Unavailable, UnavailableAfter:
		entry.Status = http.StatusServiceUnavailable
		s.record(entry)
		failed(c, &failure{
			code: http.StatusServiceUnavailable, reason: "ServiceUnavailable",
			message: "the server is currently unable to handle the request",
		}).write(w)
	case Stall, StallAfter:
		s.record(entry)
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		panic(http.ErrAbortHandler)
	case Drop, DropAfter:
		s.record(entry)
		panic(http.ErrAbortHandler)
	}
}
