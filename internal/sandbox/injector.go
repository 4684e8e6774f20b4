package sandbox

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

// platform answers a request as documented, except for the quirks that are on.
type platform func(r *http.Request, on quirkSet) *response

// injector changes the answers of a platform: a fault those to some requests, a
// quirk all of them. It is safe for concurrent use.
type injector struct {
	now    func() time.Time
	closed context.Context
	close  context.CancelFunc

	mu      sync.Mutex
	on      quirkSet
	faults  []*fault
	dateOff time.Duration // what faults add to the Date header
	// limited has the method and path of each request that a rate limit refused;
	// lagging has, by path, the outdated answer to the next read.
	limited map[string]bool
	lagging map[string]*response
}

func newInjector(now func() time.Time, quirks ...string) (*injector, error) {
	in := &injector{now: now}
	in.closed, in.close = context.WithCancel(context.Background())
	return in, in.SetQuirks(quirks...)
}

// SetQuirks turns on exactly these quirks. It changes nothing if a name is unknown.
func (in *injector) SetQuirks(names ...string) error {
	all, on := Quirks(), quirkSet{}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(q Quirk) bool { return q.Name == name }) {
			return fmt.Errorf("quirk %q does not exist", name)
		}
		on[name] = true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.on, in.limited, in.lagging = on, map[string]bool{}, map[string]*response{}
	return nil
}

func (in *injector) activeQuirks() quirkSet {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.on
}

// ActiveQuirks returns the names of the quirks that are on, sorted.
func (in *injector) ActiveQuirks() []string { return slices.Sorted(maps.Keys(in.activeQuirks())) }

// Pending is a fault that may still apply: it matched Seen requests and changed Done.
type Pending struct {
	Rule string `json:"rule"`
	Seen int    `json:"seen"`
	Done int    `json:"done"`
}

// Fault adds faults in the form of Grammar, or none if one is invalid. Each counts the
// requests that it matches; if several apply to a request, the oldest one wins.
func (in *injector) Fault(texts ...string) error {
	var added []*fault
	for _, text := range texts {
		f, err := parseFault(text)
		if err != nil {
			return err
		}
		added = append(added, f)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults = append(in.faults, added...)
	return nil
}

// Faults returns the faults that may still apply, the oldest first.
func (in *injector) Faults() []Pending {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := []Pending{}
	for _, f := range in.faults {
		out = append(out, Pending{Rule: f.text, Seen: f.seen, Done: f.done})
	}
	return out
}

// ClearFaults removes all faults, and corrects the Date header.
func (in *injector) ClearFaults() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults, in.dateOff = nil, 0
}

// takeFault returns the fault that applies to a request, or one that does nothing.
func (in *injector) takeFault(r *http.Request) *fault {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := &fault{after: true}
	for _, f := range in.faults {
		if f.matchesRequest(r.Method, r.URL.Path) && f.isDue() && taken.text == "" {
			f.done++
			taken = f
		}
	}
	in.faults = slices.DeleteFunc(in.faults, (*fault).isSpent)
	if taken.Name == "clock" {
		in.dateOff += taken.time
	}
	return taken
}

// serveRequest answers a request as the platform, the quirks and the fault for it say. It
// calls log with the status before it sends the answer, or with 0 if it sends none.
func (in *injector) serveRequest(w http.ResponseWriter, r *http.Request, platform platform, log func(status int)) {
	f, on, a := in.takeFault(r), in.activeQuirks(), &response{Header: http.Header{}}
	switch f.Name {
	case "delay":
		// The platform carries a late request out even if the client is gone.
		if !f.after && !in.wait(context.Background(), max(f.time, 0)) {
			panic(http.ErrAbortHandler)
		}
	case "duplicate-executes":
		on = maps.Clone(on)
		on["executes-duplicates"] = true
	case partialList, partialCounted, partialPaged:
		r = withLimit(r, f.n)
	}
	if f.after || f.edit == nil {
		a = in.askPlatform(r, platform, on)
	}
	if f.Name == "delay" && f.after {
		a.delay = f.time
	}
	if f.edit != nil {
		f.edit(f, a, in.now())
	}
	shapeError(a, r.URL.Path, on)
	in.mu.Lock()
	at := in.now().Add(in.dateOff)
	in.mu.Unlock()
	setDate(r.Method, a, at, on)
	log(a.Status)
	a.write(w, func(d time.Duration) bool { return in.wait(r.Context(), d) })
}

// withLimit adds a limit to the request.
func withLimit(r *http.Request, limit int) *http.Request {
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("limit", strconv.Itoa(limit))
	r.URL.RawQuery = query.Encode()
	return r
}

// askPlatform returns the platform's answer, changed by the quirks.
func (in *injector) askPlatform(r *http.Request, platform platform, on quirkSet) *response {
	if a := in.answerInstead(r, on); a != nil {
		return a
	}
	if on["list-paged"] || on["list-expired"] {
		r = withLimit(r, 1)
	}
	a := in.answerStale(r, platform, on)
	shapeAnswer(r, a, in.now(), on)
	return a
}

// answerStale answers with what was before a write: lists, if the quirk lags is on, or the first read by name after a patch, if
// lagging-reads is.
func (in *injector) answerStale(r *http.Request, platform platform, on quirkSet) *response {
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
			return newResponse(kept.Status, typeJSON, kept.Body)
		}
	case lists || r.Method == http.MethodPatch:
		in.keepBefore(r, platform, on)
	}
	return platform(r, on)
}

// keepBefore keeps what the write is about: the list before the first write, or the object before each.
func (in *injector) keepBefore(r *http.Request, platform platform, on quirkSet) {
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
func (in *injector) wait(ctx context.Context, d time.Duration) bool {
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
