package fault

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Platform answers a request as it is documented, but for the quirks that are on.
type Platform func(r *http.Request, on Set) *Answer

// Injector changes how a platform answers. It is safe for concurrent use.
type Injector struct {
	now    func() time.Time
	closed context.Context
	close  context.CancelFunc

	mu      sync.Mutex
	on      Set
	rules   []*rule
	dateOff time.Duration // by how much faults put the Date header off
	// limited are the requests that a quirk has already turned away, and lagging
	// what it still shows once, by path.
	limited map[string]bool
	lagging map[string]*Answer
}

// New returns an Injector with quirks; now is the platform's clock.
func New(now func() time.Time, quirks ...string) (*Injector, error) {
	in := &Injector{now: now}
	in.closed, in.close = context.WithCancel(context.Background())
	return in, in.SetQuirks(quirks...)
}

// Close ends the requests that a fault holds.
func (in *Injector) Close() { in.close() }

// SetQuirks replaces the quirks that are on. An unknown name is an error and
// changes nothing.
func (in *Injector) SetQuirks(names ...string) error {
	on, err := newSet(names)
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.on, in.limited, in.lagging = on, map[string]bool{}, map[string]*Answer{}
	return nil
}

// On returns the quirks that are on.
func (in *Injector) On() Set {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.on
}

// ActiveQuirks returns the names of the quirks that are on, sorted.
func (in *Injector) ActiveQuirks() []string { return slices.Sorted(maps.Keys(in.On())) }

// Pending is a fault that will happen again. It matched Seen requests, and happened to
// Done.
type Pending struct {
	Rule string `json:"rule"`
	Seen int    `json:"seen"`
	Done int    `json:"done"`
}

// Fault adds rules, all or, if one can't be read, none. Each rule counts all
// requests that it is meant for; of several that are due, the first happens.
func (in *Injector) Fault(rules ...string) error {
	var added []*rule
	for _, text := range rules {
		r, err := parse(text)
		if err != nil {
			return err
		}
		added = append(added, r)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.rules = append(in.rules, added...)
	return nil
}

// Faults returns the faults that wait, the oldest first.
func (in *Injector) Faults() []Pending {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := []Pending{}
	for _, r := range in.rules {
		out = append(out, Pending{Rule: r.text, Seen: r.seen, Done: r.done})
	}
	return out
}

// ClearFaults forgets the faults that wait, and puts the Date header right.
func (in *Injector) ClearFaults() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.rules, in.dateOff = nil, 0
}

// take returns the rule that meets a request, or one that does nothing.
func (in *Injector) take(r *http.Request) *rule {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := &rule{after: true}
	for _, rule := range in.rules {
		if rule.matches(r.Method, r.URL.Path) && rule.meet() && taken.text == "" {
			rule.done++
			taken = rule
		}
	}
	in.rules = slices.DeleteFunc(in.rules, (*rule).spent)
	in.dateOff += taken.effect.clock
	return taken
}

// Serve answers a request by the platform, by the quirks and by the rule that meets
// it. Before the answer is sent, log is called with its status, 0 for none.
func (in *Injector) Serve(w http.ResponseWriter, r *http.Request, platform Platform, log func(status int)) {
	rule, on := in.take(r), in.On()
	e := rule.effect
	// The platform acts on a late request although the client may have gone.
	if e.delay > 0 && !rule.after && !in.wait(context.Background(), e.delay) {
		panic(http.ErrAbortHandler)
	}
	if e.Name == "duplicate-executes" {
		on = maps.Clone(on)
		on["executes-duplicates"] = true
	}
	a := &Answer{Header: http.Header{}}
	if rule.after || !e.replaces() {
		a = in.ask(limited(r, e.limit, on), platform, on)
	}
	if rule.after {
		a.delay = e.delay
	}
	if e.answer != nil {
		e.answer(a, in.now())
	}
	shapeError(a, r.URL.Path, on)
	in.mu.Lock()
	at := in.now().Add(in.dateOff)
	in.mu.Unlock()
	date(r.Method, a, at, on)
	if a.silent {
		log(0)
	} else {
		log(a.Status)
	}
	a.write(w, func(d time.Duration) bool { return in.wait(r.Context(), d) })
}

// limited bounds how many objects a list shows.
func limited(r *http.Request, limit int, on Set) *http.Request {
	if limit == 0 && (on["list-paged"] || on["list-expired"]) {
		limit = 1
	}
	if limit == 0 {
		return r
	}
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("limit", strconv.Itoa(limit))
	r.URL.RawQuery = query.Encode()
	return r
}

// ask returns the answer of the platform with all quirks.
func (in *Injector) ask(r *http.Request, platform Platform, on Set) *Answer {
	if a := in.instead(r, on); a != nil {
		return a
	}
	a := in.lag(r, platform, on)
	shape(r, a, in.now(), on)
	return a
}

// lag has the first read after a patch show what was before, where a quirk says so.
func (in *Injector) lag(r *http.Request, platform Platform, on Set) *Answer {
	if !on["lagging-reads"] {
		return platform(r, on)
	}
	var before *Answer
	if r.Method == http.MethodPatch {
		read := r.Clone(r.Context())
		read.Method = http.MethodGet
		before = platform(read, on)
	}
	a := platform(r, on)
	in.mu.Lock()
	defer in.mu.Unlock()
	kept := in.lagging[r.URL.Path]
	switch {
	case before != nil && a.Status == http.StatusOK:
		in.lagging[r.URL.Path] = before
	case r.Method == http.MethodGet && kept != nil:
		delete(in.lagging, r.URL.Path)
		return kept
	}
	return a
}

// wait waits for d, without end where it is negative. It returns false when the
// context or the platform ends first.
func (in *Injector) wait(ctx context.Context, d time.Duration) bool {
	var rings <-chan time.Time
	if d >= 0 {
		rings = time.After(d)
	}
	select {
	case <-rings:
		return true
	case <-ctx.Done():
	case <-in.closed.Done():
	}
	return false
}
