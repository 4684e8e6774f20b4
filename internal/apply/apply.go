package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// PlatformClient reads and writes single objects of the platform. An error that is no *api.Error leaves
// the outcome of a write unknown.
type PlatformClient interface {
	// WaitForRateLimit waits for the rate limit, and for a pause that the platform asked for in the
	// kind's area. The writes themselves do not wait.
	WaitForRateLimit(ctx context.Context, k *kind.Kind) error
	Get(ctx context.Context, k *kind.Kind, name string) (kind.LiveObject, error)
	List(ctx context.Context, k *kind.Kind, each func(kind.LiveObject) error) (kind.ListInfo, error)
	Create(ctx context.Context, k *kind.Kind, body []byte) (kind.LiveObject, error)
	Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.LiveObject, error)
	Delete(ctx context.Context, k *kind.Kind, name string) error
}

// Journal is the part of a ledger that apply needs. What a method wrote is durable when it
// returns (docs/design.md A3).
type Journal interface {
	// For requests that are sent once. ReadRecords says which run claimed one.
	Claim(ctx context.Context, key kind.Key, i ledger.Intent) (ledger.OwnClaim, error)
	RecordPosted(ctx context.Context, key kind.Key, m ledger.AcceptedAnswer) error
	RecordExecuted(ctx context.Context, key kind.Key, m ledger.AcceptedAnswer) error
	RecordOutcome(ctx context.Context, key kind.Key, o ledger.Outcome) error
	MarkResumable(ctx context.Context, key kind.Key, message string) error
	MarkUnknown(ctx context.Context, key kind.Key, now ledger.Instant) error
	ReadRecords(ctx context.Context, keys []kind.Key) (map[kind.Key]ledger.Record, error)
	// CheckNotSuperseded returns an error if another apply was recorded since this one, as RecordPending, Claim and RecordDeleting do.
	CheckNotSuperseded(ctx context.Context, key kind.Key) error

	// For the last-applied spec of each object (docs/design.md B1 and 0.2). RecordAllApplied is
	// RecordApplied for objects that are in sync; its errors are in their order.
	RecordPending(ctx context.Context, key kind.Key, spec []byte, before *ledger.LiveBefore) error
	RecordApplied(ctx context.Context, key kind.Key, a ledger.AppliedSpec) error
	RecordAllApplied(ctx context.Context, all []ledger.AppliedObject) []error
	DropPending(ctx context.Context, key kind.Key) error

	// For deletions. RecordDeleting must succeed before trueup sends one: it rejects an object
	// that trueup did not create, and a record that changed since the plan.
	RecordDeleting(ctx context.Context, key kind.Key, uid, created string) error
	RecordNotDeleted(ctx context.Context, key kind.Key, message string) error
}

// Deps are what Run works with.
type Deps struct {
	Writer  PlatformClient
	Journal Journal // nil without a usable ledger; the plan then has no send-once request
	// Clock asks the kind's area of the platform for the time now (docs/design.md 0.8).
	Clock func(ctx context.Context, k *kind.Kind) (ledger.Instant, error)
	// Replan plans one object again, against the live one; nil if there is none.
	Replan func(key kind.Key, obj *kind.LiveObject) (plan.Item, error)
	// Spec returns the part of a manifest's spec that git manages, as canonical JSON
	// (plan.Planner.ManagedSpec). Run records it, and compares live with it.
	Spec  func(key kind.Key) []byte
	Rules func(k *kind.Kind) *merge.Rules // Rules returns how to compare specs of a kind
	// Report gets every event. Progress, if set, is called after every item. Both are called
	// from several goroutines.
	Report   func(Event)
	Progress func(done, of int)
	// Hurry, if set, is closed to cancel requests in flight at once.
	Hurry   <-chan struct{}
	Now     func() time.Time                                 // this machine's clock; if nil, every claim asks Clock
	Sleep   func(ctx context.Context, d time.Duration) error // Sleep waits, or returns the context's error
	Options SendOptions
}

// SendOptions are the settings that the user chose.
type SendOptions struct {
	Parallelism int // Parallelism limits how many objects Run works on at once
	// AcceptNormalised sends a purge even if the server changed the values that were sent for the object that it
	// waits for.
	AcceptNormalised bool
	Wait             time.Duration // Wait is how long to wait until a created object is ready, or a deleted one gone; 0 is not at all
	// Batch limits how many objects may wait for a slow ledger at once. Less than 2 means that the
	// ledger is fast. Run claims at most Parallelism send-once requests at once.
	Batch int
}

// Run applies a plan: first objects that it creates and patches, then objects that it creates once
// and never changes, then purges. Each waits for the objects that it depends on. Run deletes last,
// and only if everything else succeeded.
//
// A failure stops only what depends on it. A rejected token, a platform that fails again and again,
// or the end of ctx stops everything that has not started. Requests in flight then get a few
// seconds, or until Hurry is closed. Run records their outcomes in any case.
func Run(ctx context.Context, p *plan.Plan, d Deps) Result {
	report := d.Report
	d.Report = func(e Event) {
		defer func() { _ = recover() }() // a bug in a report must not change the run
		report(e)
	}
	r := &run{
		Deps: d, target: p.Target, items: p.Items, outcomes: make([]ItemOutcome, len(p.Items)), index: map[kind.Key]int{},
		full: map[string]string{}, clocks: map[kind.Area]clockReading{},
	}
	for i, it := range p.Items {
		r.index[it.Key] = i
	}
	ctx, end := r.makeContexts(ctx)
	defer end()
	r.applyItemsWithPolicy(ctx, kind.Converge)
	r.applyItemsWithPolicy(ctx, kind.CreateOnly)
	r.sendOnceItems(ctx)
	r.waitForOtherRuns(ctx)
	r.deleteAll(ctx)
	return NewResult(r.outcomes)
}

// run is the state of one Run. The ctx of its functions ends when nothing new may start.
type run struct {
	Deps
	target   plan.Destination
	items    []plan.Item
	outcomes []ItemOutcome
	index    map[kind.Key]int
	// sendCtx is for requests in flight and for reading back, ledgerCtx for the ledger.
	// Both outlive an interruption for a few seconds.
	sendCtx, ledgerCtx context.Context
	// slots limits the items that are worked on at once; nil between phases.
	slots chan struct{}
	done  atomic.Int64 // done counts the items that ended

	mu       sync.Mutex
	stopped  string // why nothing new may start, or empty
	failures int    // failures counts consecutive operations that failed because of the platform
	// full has, by hostname, the reason why the platform accepts no more purges for now.
	full   map[string]string
	clocks map[kind.Area]clockReading // the last clock reading of each area
}

// applyItemsWithPolicy applies all items of a policy in parallel. Items that wait for a slow ledger leave their
// slot to others, at most Options.Batch at a time.
func (r *run) applyItemsWithPolicy(ctx context.Context, policy kind.Policy) {
	r.slots = make(chan struct{}, max(1, r.Options.Parallelism))
	started := make(chan struct{}, cap(r.slots)+max(1, r.Options.Batch)-1)
	var wg sync.WaitGroup
	for i := range r.items {
		if k, _ := kind.FindKind(r.items[i].Kind); k.Policy != policy || r.items[i].Op == plan.Delete {
			continue
		}
		started <- struct{}{}
		r.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-r.slots; <-started }()
			r.outcomes[i] = r.newItemRun(i).applyItem(ctx)
			if !r.outcomes[i].toRecord {
				r.countDone()
			}
		})
	}
	wg.Wait()
	r.slots = nil
	r.recordInSync(ctx)
}

// releaseSlotWhile gives the item's slot to another item while do waits for the ledger.
func (r *run) releaseSlotWhile(do func()) {
	if r.slots != nil {
		<-r.slots
		defer func() { r.slots <- struct{}{} }()
	}
	do()
}

func (r *run) countDone() {
	if done := r.done.Add(1); r.Progress != nil {
		r.Progress(int(done), len(r.outcomes))
	}
}

const (
	// maxFailures is how many operations in a row the platform may fail, with a 5xx or
	// without an answer, before the run stops (docs/design.md C3).
	maxFailures = 5
	// A run that is stopped gives requests in flight sendGrace to end, and the
	// ledger ledgerGrace more (docs/design.md C5).
	sendGrace   = 5 * time.Second
	ledgerGrace = 2 * time.Second
)

var (
	errGrace     = errors.New("it was cancelled, because the run was stopped")
	errRecording = errors.New("the run was stopped, and the ledger took too long")
)

// makeContexts sets sendCtx and ledgerCtx, which outlive the context that it returns: that one ends
// when ctx does, or with Hurry. The function that it returns ends them all.
func (r *run) makeContexts(ctx context.Context) (context.Context, func()) {
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, interrupt, sends, records := withGrace(ctx)
	var endSends, endLedger context.CancelCauseFunc
	r.sendCtx, endSends = context.WithCancelCause(over)
	r.ledgerCtx, endLedger = context.WithCancelCause(over)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-over.Done():
		case <-ctx.Done():
		case <-r.Hurry:
			interrupt()
		}
		select {
		case <-over.Done():
		case <-time.After(sends):
		case <-r.Hurry:
		}
		endSends(errGrace)
		select {
		case <-over.Done():
		case <-time.After(records):
		}
		endLedger(errRecording)
	})
	return ctx, func() {
		end()
		wg.Wait()
		interrupt()
	}
}

// withGrace returns a context that ends when nothing new may start, and the times for requests in flight and the ledger
// after that. If the run has a time limit, they are part of it.
func withGrace(ctx context.Context) (until context.Context, end context.CancelFunc, sends, records time.Duration) {
	limit, limited := ctx.Deadline()
	if !limited {
		until, end = context.WithCancel(ctx)
		return until, end, sendGrace, ledgerGrace
	}
	grace := min(sendGrace+ledgerGrace, time.Until(limit)/2)
	records = min(ledgerGrace, grace/2)
	until, end = context.WithDeadline(ctx, limit.Add(-grace))
	return until, end, grace - records, records
}

// whyEnded returns why a run ends that no failure stopped: a signal, or TRUEUP_TIMEOUT; empty while it continues.
func whyEnded(ctx context.Context) (string, Verdict) {
	switch err := ctx.Err(); {
	case err == nil:
		return "", OK
	case errors.Is(err, context.DeadlineExceeded):
		return "the run reached its time limit (TRUEUP_TIMEOUT)", Partial
	}
	return "interrupted", Interrupted
}

// runEndedOutcome returns an outcome if the run ended before a step, such as "it was sent".
func runEndedOutcome(ctx context.Context, step string) *ItemOutcome {
	if why, verdict := whyEnded(ctx); why != "" {
		return skippedOutcome(verdict, why+" before "+step)
	}
	return nil
}

func interruptedOutcome(ctx context.Context) *ItemOutcome { return runEndedOutcome(ctx, "it was sent") }

// haltedOutcome returns an outcome if nothing new may start: the run was stopped or interrupted.
func (r *run) haltedOutcome(ctx context.Context) *ItemOutcome {
	end := runEndedOutcome(ctx, "it started")
	if why := r.whyStopped(); end == nil && why != "" {
		end = skippedOutcome(Partial, why)
	}
	return end
}

func (r *run) whyStopped() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// stoppedByAuth is the reason to stop after the platform rejected the token.
const stoppedByAuth = "stopped after an authentication failure"

func (r *run) stopRun(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = cmp.Or(r.stopped, why)
}

// noteResult notes the result of an operation. It stops the run if the platform rejected the token, or failed
// maxFailures times in a row: each request that is sent once and gets no answer is a question to a person.
func (r *run) noteResult(err error) {
	said := api.AsError(err)
	r.mu.Lock()
	switch {
	case said.Status >= http.StatusInternalServerError || said.Status == 0 && said.Class != "":
		r.failures++
	case err == nil || said.Status != 0:
		r.failures = 0
	}
	failures := r.failures
	r.mu.Unlock()
	switch {
	case said.IsAuth():
		r.stopRun(stoppedByAuth)
	case failures >= maxFailures:
		r.stopRun(fmt.Sprintf("stopped: the platform failed %d times in a row: %s", maxFailures, err))
	}
}

// stopIfWorkspaceMissing stops the run if a creation got a 404: the list of a workspace that does not
// exist is empty, so every creation would fail alike.
func (r *run) stopIfWorkspaceMissing(err error) {
	if api.AsError(err).Status == http.StatusNotFound {
		r.stopRun("stopped: the platform does not know this workspace")
	}
}

// catchPanic returns a panic of do as an error, and reports the stack as an event.
func (r *run) catchPanic(key kind.Key, do func() error) (err error) {
	defer func() {
		panicked := recover()
		if panicked == nil {
			return
		}
		r.Report(Event{Key: key, Phase: PhaseStack, Message: string(debug.Stack())})
		what := fmt.Sprintf("%T", panicked)
		switch p := panicked.(type) {
		case error:
			what = p.Error()
		case string:
			what = p
		}
		err = fmt.Errorf("internal error: %.300s; the rest continued", what)
	}()
	return do()
}
