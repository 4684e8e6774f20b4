package apply

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// Writer reads and writes single objects of the platform. Its errors may be Answers.
type Writer interface {
	// Turn waits for the rate limit, and for the pause that the platform may have
	// asked for in the area of the kind; the writes themselves do not wait.
	Turn(ctx context.Context, k *kind.Kind) error
	Get(ctx context.Context, k *kind.Kind, name string) (kind.Object, error)
	List(ctx context.Context, k *kind.Kind, each func(kind.Object) error) (kind.ListInfo, error)
	Create(ctx context.Context, k *kind.Kind, body []byte) (kind.Object, error)
	Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.Object, error)
	Delete(ctx context.Context, k *kind.Kind, name string) error
}

// Journal is what apply needs of a ledger: each method is durable when it returns
// (docs/design.md A3).
type Journal interface {
	// These keep the requests that are sent once. Look reads what other runs claimed.
	Claim(ctx context.Context, key kind.Key, i ledger.Intent) (ledger.Hold, error)
	ClaimAgain(ctx context.Context, key kind.Key, i ledger.Intent) (ledger.Hold, error)
	TakeOver(ctx context.Context, key kind.Key, i ledger.Intent) (ledger.Hold, error)
	Posted(ctx context.Context, key kind.Key, m ledger.Made) error
	Found(ctx context.Context, key kind.Key, m ledger.Made) error
	Rejected(ctx context.Context, key kind.Key, status int, message string) error
	Release(ctx context.Context, key kind.Key, message string) error
	Leave(ctx context.Context, key kind.Key, message string) error
	MarkUnknown(ctx context.Context, key kind.Key, message string) error
	MarkTaken(ctx context.Context, key kind.Key, message string) error
	GiveUp(ctx context.Context, key kind.Key, now ledger.Instant) error
	Look(ctx context.Context, keys []kind.Key) (map[kind.Key]ledger.Record, error)

	// These keep the last-applied spec of each object (docs/design.md B1 and 0.2). AppliedAll is
	// Applied for objects that were live in sync; its errors are in their order.
	Pending(ctx context.Context, key kind.Key, spec []byte) error
	Applied(ctx context.Context, key kind.Key, a ledger.AppliedSpec) error
	AppliedAll(ctx context.Context, all []ledger.Confirmed) []error
	DropPending(ctx context.Context, key kind.Key) error

	// These keep deletions. Deleting must succeed before anything is sent: it refuses an object
	// that no request of the ledger made, and a record that changed since the plan.
	Deleting(ctx context.Context, key kind.Key, uid, created string) error
	Deleted(ctx context.Context, key kind.Key, message string) error
	NotDeleted(ctx context.Context, key kind.Key, message string) error
}

// Deps are what Run works with.
type Deps struct {
	Writer Writer
	// Journal is nil where the ledger can't be used; the plan then holds no once-only request.
	Journal Journal
	// Clock asks the platform's area of the kind for the time, right now (docs/design.md 0.8).
	Clock func(ctx context.Context, k *kind.Kind) (ledger.Instant, error)
	// Replan plans one object again against what is live now (nil: nothing).
	Replan func(key kind.Key, obj *kind.Object) (plan.Item, error)
	// Spec returns the part of a manifest's spec that is git's, as canonical
	// JSON (plan.Planner.Managed): it is recorded, and read back.
	Spec func(key kind.Key) []byte
	// Rules returns how specs of a kind are compared.
	Rules func(k *kind.Kind) *merge.Rules
	// Report gets every event. Progress, if it is set, is called for every item that ended.
	// Calls come from several goroutines.
	Report   func(Event)
	Progress func(done, of int)
	// Hurry, if it is set, is closed to give up what is in flight at once.
	Hurry <-chan struct{}
	// Now is this machine's clock; without it no look at the clock is used twice.
	Now func() time.Time
	// Sleep waits, or returns the context's error.
	Sleep   func(ctx context.Context, d time.Duration) error
	Options Options
}

// Options are the user's.
type Options struct {
	// Parallelism bounds the objects that are worked on at once.
	Parallelism int
	// AcceptNormalised lets purges go although the server did not keep what
	// was sent to the object that they wait for.
	AcceptNormalised bool
	// Wait waits until what was made is ready, at most WaitTimeout.
	Wait        bool
	WaitTimeout time.Duration
	// Batch is how many objects may wait for the ledger together; less than 2 means that it is
	// near. Of requests that are sent once no more than Parallelism are claimed together.
	Batch int
	// WaitOthers is how long to wait for what other runs have claimed.
	WaitOthers time.Duration
	// Breaker is how many operations in a row the platform may fail, with a 5xx or
	// without an answer, before nothing new is begun; default 5 (docs/design.md C3).
	Breaker int
	// Grace is how long requests in flight may take when the run is stopped, and
	// Recording how much longer the ledger; default 5 s and 2 s (docs/design.md C5).
	Grace, Recording time.Duration
}

func (o Options) withDefaults() Options {
	o.Breaker = cmp.Or(o.Breaker, 5)
	o.Grace, o.Recording = cmp.Or(o.Grace, 5*time.Second), cmp.Or(o.Recording, 2*time.Second)
	return o
}

// Run does what the plan says: first what converges, then what is made once, then the once-only
// requests, each after the objects that it waits for, and deletions only if all of that ended well.
// A failure stops what depends on it and nothing else; a refused token, or a platform that fails
// again and again, stops everything that was not begun. So does the end of ctx: what is in flight
// then has Options.Grace, or until Hurry is closed, and is recorded in any case.
func Run(ctx context.Context, p *plan.Plan, d Deps) Result {
	d.Options, d.Report = d.Options.withDefaults(), unharmed(d.Report)
	r := &run{
		Deps: d, items: p.Items, outcomes: make([]Outcome, len(p.Items)), index: map[kind.Key]int{},
		full: map[string]string{}, looks: map[kind.Area]reckoning{},
	}
	for i, it := range p.Items {
		r.index[it.Key] = i
	}
	_, r.bounded = ctx.Deadline()
	ctx, end := r.lasting(ctx)
	defer end()
	r.phase(ctx, kind.Converge)
	r.phase(ctx, kind.CreateOnly)
	r.postAll(ctx)
	r.awaitOthers(ctx)
	r.deleteAll(ctx)
	for _, o := range r.outcomes {
		for i := range o.Mismatches {
			m := &o.Mismatches[i]
			m.Sent = plan.Conceal(p.Target.Workspace, o.Key, m.Path, m.Sent)
			m.Returned = plan.Conceal(p.Target.Workspace, o.Key, m.Path, m.Returned)
		}
	}
	return Result{Outcomes: r.outcomes}
}

// run is the state of one Run. Its functions are given the context that ends
// when nothing new may begin.
type run struct {
	Deps
	items    []plan.Item
	outcomes []Outcome
	index    map[kind.Key]int
	// net is for requests that are in flight, and for reading back what they did;
	// books for the ledger. Both outlive an interruption, for a while.
	net, books context.Context
	// bounded says that the time of the run is limited: a pause that a server asks for
	// is then waited for if it fits.
	bounded bool
	// slots are held by the items that are worked on, nil between phases.
	slots chan struct{}
	// done counts the items that ended.
	done atomic.Int64

	mu sync.Mutex
	// stopped says why nothing new is begun, or is empty.
	stopped string
	// failures counts the operations that the platform failed in a row.
	failures int
	// full says of hostnames why the platform takes no more purges of them for now.
	full map[string]string
	// looks are the last looks at the clock of each area.
	looks map[kind.Area]reckoning
	// elsewhere are the items that other runs have claimed.
	elsewhere []kind.Key
}

// phase works on all items of a policy, side by side. Those that wait for a distant
// ledger leave their slot to others, as many as it takes up together.
func (r *run) phase(ctx context.Context, policy kind.Policy) {
	r.slots = make(chan struct{}, max(1, r.Options.Parallelism))
	begun := make(chan struct{}, cap(r.slots)+max(1, r.Options.Batch)-1)
	var wg sync.WaitGroup
	for i := range r.items {
		if k, _ := kind.Named(r.items[i].Kind); k.Policy != policy || r.items[i].Op == plan.Delete {
			continue
		}
		begun <- struct{}{}
		r.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-r.slots; <-begun }()
			r.outcomes[i] = r.work(i).all(ctx)
			if !r.outcomes[i].toRecord {
				r.countDone()
			}
		})
	}
	wg.Wait()
	r.slots = nil
	r.recordSettled(ctx)
}

// aside does what waits for the ledger, while another item has the slot.
func (r *run) aside(do func()) {
	if r.slots != nil {
		<-r.slots
		defer func() { r.slots <- struct{}{} }()
	}
	do()
}

// countDone reports progress: one more item ended.
func (r *run) countDone() {
	if done := r.done.Add(1); r.Progress != nil {
		r.Progress(int(done), len(r.outcomes))
	}
}
