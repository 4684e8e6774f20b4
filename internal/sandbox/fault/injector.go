package fault

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Platform answers a request as documented, except for the quirks that are on.
type Platform func(r *http.Request, on Set) *Answer

// Injector changes the answers of a platform. It is safe for concurrent use.
type Injector struct {
	now    func() time.Time
	closed context.Context
	close  context.CancelFunc

	mu      sync.Mutex
	on      Set
	rules   []*rule
	dateOff time.Duration // what faults add to the Date header
	// limited has the method and path of each request that a rate limit refused;
	// lagging has, by path, the outdated answer to the next read.
	limited map[string]bool
	lagging map[string]*Answer
}

// New returns an Injector with some quirks on; now is the platform's clock.
func New(now func() time.Time, quirks ...string) (*Injector, error) {
	in := &Injector{now: now}
	in.closed, in.close = context.WithCancel(context.Background())
	return in, in.SetQuirks(quirks...)
}

// Close ends the requests that faults delay.
func (in *Injector) Close() { in.close() }

// SetQuirks turns on exactly these quirks. It changes nothing if a name is unknown.
func (in *Injector) SetQuirks(names ...string) error {
	all, on := Quirks(), Set{}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(q Quirk) bool { return q.Name == name }) {
			return fmt.Errorf("quirk %q does not exist", name)
		}
		on[name] = true
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

// Pending is a rule that may still apply: it matched Seen requests and changed Done.
type Pending struct {
	Rule string `json:"rule"`
	Seen int    `json:"seen"`
	Done int    `json:"done"`
}

// Fault adds rules, or none if one is invalid. Every rule counts the requests that
// it matches; if several apply to a request, the oldest one wins.
func (in *Injector) Fault(rules ...string) error {
	var added []*rule
	for _, text := range rules {
		r, err := parseRule(text)
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

// Faults returns the rules that may still apply, the oldest first.
func (in *Injector) Faults() []Pending {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := []Pending{}
	for _, r := range in.rules {
		out = append(out, Pending{Rule: r.text, Seen: r.seen, Done: r.done})
	}
	return out
}

// ClearFaults removes all rules, and corrects the Date header.
func (in *Injector) ClearFaults() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.rules, in.dateOff = nil, 0
}

// take returns the rule that applies to a request, or one that does nothing.
func (in *Injector) take(r *http.Request) *rule {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := &rule{after: true}
	for _, rule := range in.rules {
		if rule.matches(r.Method, r.URL.Path) && rule.due() && taken.text == "" {
			rule.done++
			taken = rule
		}
	}
	in.rules = slices.DeleteFunc(in.rules, (*rule).spent)
	in.dateOff += taken.effect.clock
	return taken
}

// Serve answers a request as the platform, the quirks and the rule for it say. It
// calls log with the status before it sends the answer, or with 0 if it sends none.
func (in *Injector) Serve(w http.ResponseWriter, r *http.Request, platform Platform, log func(status int)) {
	rule, on := in.take(r), in.On()
	e := rule.effect
	// The platform carries a late request out even if the client is gone.
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
	log(a.Status)
	a.write(w, func(d time.Duration) bool { return in.wait(r.Context(), d) })
}

// limited adds a limit to the request, if a fault or a quirk asks for one.
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

// ask returns the platform's answer, changed by the quirks.
func (in *Injector) ask(r *http.Request, platform Platform, on Set) *Answer {
	if a := in.instead(r, on); a != nil {
		return a
	}
	a := in.lag(r, platform, on)
	shape(r, a, in.now(), on)
	return a
}

// lag answers with what was before a write: lists, if the quirk lags is on, or the first read by name after a patch, if
// lagging-reads is.
func (in *Injector) lag(r *http.Request, platform Platform, on Set) *Answer {
	lists := on["lags"]
	switch {
	case !lists && !on["lagging-reads"]:
	case r.Method == http.MethodGet:
		in.mu.Lock()
		kept := in.lagging[r.URL.Path]
		if !lists {
			delete(in.lagging, r.URL.Path)
		}
		in.mu.Unlock()
		if kept != nil {
			return NewAnswer(kept.Status, TypeJSON, kept.Body)
		}
	case lists || r.Method == http.MethodPatch:
		in.keepBefore(r, platform, on)
	}
	return platform(r, on)
}

// keepBefore keeps what the write is about: the list before the first write, or the object before each.
func (in *Injector) keepBefore(r *http.Request, platform Platform, on Set) {
	read, lists := r.Clone(r.Context()), on["lags"]
	if read.Method = http.MethodGet; lists && r.Method != http.MethodPost {
		read.URL.Path = path.Dir(r.URL.Path)
	}
	before := platform(read, on)
	in.mu.Lock()
	defer in.mu.Unlock()
	if !lists || in.lagging[read.URL.Path] == nil {
		in.lagging[read.URL.Path] = before
	}
}

// wait waits for d, or forever if d is negative. It returns false if the context or the Injector ends first.
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
