package sandbox

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// forever is the count of a fault that never ends.
const forever = -1

// fault is a parsed rule: which requests it meets, and what it does to them.
type fault struct {
	text string
	// method is "*" for any. path is a part of the path, or with asterisks the
	// whole of it.
	method, path string
	action       action
	// after says that the platform acts on the request.
	after bool
	// times is how often it happens, from is the first request that it can
	// happen to, counted from 1, and percent how probable it then is.
	times, from int
	percent     float64
	seed        uint64
}

// matches reports whether a request is one of those that the fault is meant for.
func (f *fault) matches(method, path string) bool {
	return (f.method == "*" || f.method == method) && matchPath(f.path, path)
}

// matchPath matches a part of a path; an asterisk is any text, and a pattern
// that has one must match the whole.
func matchPath(pattern, path string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return strings.Contains(path, pattern)
	}
	rest, ok := strings.CutPrefix(path, parts[0])
	for _, part := range parts[1:last] {
		if !ok {
			return false
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// pending is a fault that waits for its requests.
type pending struct {
	*fault
	seen, done int
	random     *rand.Rand
}

func newPending(f *fault) *pending {
	// Faults that differ are not to strike at the same requests.
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.text)) // never fails
	return &pending{fault: f, random: rand.New(rand.NewPCG(f.seed, h.Sum64()))}
}

// meet counts a request, and tells whether the fault is due.
func (p *pending) meet() bool {
	p.seen++
	lucky := p.percent >= 100 || p.random.Float64()*100 < p.percent
	return lucky && p.seen >= p.from && !p.spent()
}

func (p *pending) spent() bool { return p.times != forever && p.done >= p.times }

// PendingFault is a fault that has not happened as often as it is to.
type PendingFault struct {
	Rule string `json:"rule"`
	// Seen is how many requests it was meant for, Done how many it met.
	Seen int `json:"seen"`
	Done int `json:"done"`
}

// Fault adds the rules to those that wait, all or, if one can't be read, none.
// Each rule counts all requests that it is meant for; of several that are due,
// the one that came first happens. They live as long as the server.
func (s *Server) Fault(rules ...string) error {
	var added []*pending
	for _, rule := range rules {
		f, err := parseFault(rule)
		if err != nil {
			return err
		}
		added = append(added, newPending(f))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, added...)
	return nil
}

// Faults returns the faults that wait, the oldest first.
func (s *Server) Faults() []PendingFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []PendingFault{}
	for _, p := range s.faults {
		out = append(out, PendingFault{Rule: p.text, Seen: p.seen, Done: p.done})
	}
	return out
}

// ClearFaults forgets the faults that wait, and puts the Date header right
// again.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.dateOff = nil, 0
}

// takeFault returns the fault that meets a request, or one that does nothing.
func (s *Server) takeFault(method, path string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken *fault
	left := s.faults[:0]
	for _, p := range s.faults {
		if p.matches(method, path) && p.meet() && taken == nil {
			p.done++
			taken = p.fault
		}
		if !p.spent() {
			left = append(left, p)
		}
	}
	clear(s.faults[len(left):])
	s.faults = left
	if taken == nil {
		return &fault{after: true}
	}
	s.dateOff += taken.action.clock
	return taken
}

// wait waits for d, without end where it is negative; false says that there is
// nobody to wait for any more.
func (s *Server) wait(over <-chan struct{}, d time.Duration) bool {
	var rings <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		rings = timer.C
	}
	select {
	case <-rings:
		return true
	case <-over:
	case <-s.closed:
	}
	return false
}
