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

// Writer reads and writes single objects of the platform. Its errors may say
// what they mean by methods: NotFound, Exists, Conflict, Limited, Auth, Uncertain,
// NotSent and Hopeless, each returning bool, HTTPStatus, returning int, Field, the path
// of the field that is wrong, and Wait, returning the time.Duration that the server
// asked for.
type Writer interface {
	// Turn waits until the rate limit, and the pause that the platform may have
	// asked for in the area of the kind, let the next write go; the writes
	// themselves do not wait.
	Turn(ctx context.Context, k *kind.Kind) error
	Get(ctx context.Context, k *kind.Kind, name string) (kind.Object, error)
	List(ctx context.Context, k *kind.Kind, each func(kind.Object) error) (kind.ListInfo, error)
	Create(ctx context.Context, k *kind.Kind, body []byte) (kind.Object, error)
	Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.Object, error)
	Delete(ctx context.Context, k *kind.Kind, name string) error
}

// Intents keeps the requests that are sent once: each method is durable when
// it returns (docs/design.md A3).
type Intents interface {
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
	// Look reads the records of what other runs have claimed.
	Look(ctx context.Context, keys []kind.Key) (map[kind.Key]ledger.Record, error)
}

// Specs keeps the last-applied spec of each object (docs/design.md B1 and 0.2).
type Specs interface {
	Pending(ctx context.Context, key kind.Key, spec []byte) error
	Applied(ctx context.Context, key kind.Key, a ledger.AppliedSpec) error
	// AppliedAll is Applied for objects that were live in sync; the errors are
	// in their order.
	AppliedAll(ctx context.Context, all []ledger.Confirmed) []error
	DropPending(ctx context.Context, key kind.Key) error
}

// Journal is what apply needs of a ledger.
type Journal interface {
	Intents
	Specs
	Deletions
}

// Deps are what Run works with.
type Deps struct {
	Writer Writer
	// Journal is nil where the ledger can't be used; the plan then holds no
	// once-only request.
	Journal Journal
	// Clock asks the platform's area of the kind for the time, right now
	// (docs/design.md 0.8).
	Clock func(ctx context.Context, k *kind.Kind) (ledger.Instant, error)
	// Replan plans one object again against what is live now (nil: nothing).
	Replan func(key kind.Key, obj *kind.Object) (plan.Item, error)
	// Spec returns the part of a manifest's spec that is git's, as canonical
	// JSON (plan.Planner.Managed): it is recorded, and read back.
	Spec func(key kind.Key) []byte
	// Rules returns how specs of a kind are compared.
	Rules func(k *kind.Kind) *merge.Rules
	// Report is told what happens; calls come from several goroutines.
	Report func(Event)
	// Progress, where it is set, is told of every item that came to its end; calls
	// come from several goroutines.
	Progress func(done, of int)
	// Hurry is closed when what is in flight is to be given up at once; it may
	// be nil.
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
	// Batch is how many objects may wait for the ledger together; less than 2 means
	// that it is near. Of requests that are sent once no more than Parallelism are
	// claimed together.
	Batch int
	// WaitOthers is how long to wait for what other runs have claimed.
	WaitOthers time.Duration
	// Retry says how writes are repeated.
	Retry Retry
	// Breaker is how many operations in a row the platform may fail, with a 5xx or
	// without an answer, before nothing new is begun; default 5 (docs/design.md C3).
	Breaker int
	// Grace is how long requests in flight may take when the run is stopped, and
	// Recording how much longer the ledger; default 5 s and 2 s (docs/design.md C5).
	Grace, Recording time.Duration
}

func (o Options) withDefaults() Options {
	o.Retry = o.Retry.withDefaults()
	o.Breaker = cmp.Or(o.Breaker, 5)
	o.Grace, o.Recording = cmp.Or(o.Grace, 5*time.Second), cmp.Or(o.Recording, 2*time.Second)
	return o
}

// Run does what the plan says: first what converges, then what is made once,
// then the once-only requests, each after the objects that it waits for, and
// deletions only where all of that ended well. A failure stops what depends on it
// and nothing else; a refused token, or a platform that fails again and again,
// stops everything that was not begun. So does the end of ctx: what is in flight
// then has Options.Grace, or until Hurry is closed, and is recorded in any case.
func Run(ctx context.Context, p *plan.Plan, d Deps) Result {
	d.Options, d.Report = d.Options.withDefaults(), unharmed(d.Report)
	r := &run{Deps: d, outcomes: make([]Outcome, len(p.Items)), index: map[kind.Key]int{}, full: map[string]string{}, looks: map[kind.Area]reckoning{}}
	for i, it := range p.Items {
		r.index[it.Key] = i
	}
	_, r.bounded = ctx.Deadline()
	ctx, end := r.lasting(ctx)
	defer end()
	for _, policy := range []kind.Policy{kind.Converge, kind.CreateOnly} {
		r.phase(ctx, p, policy)
	}
	r.postAll(ctx, p)
	r.awaitOthers(ctx, p)
	r.deleteAll(ctx, p)
	r.conceal(p.Target.Workspace)
	return Result{Outcomes: r.outcomes}
}

// conceal hides what may not be shown of what the server did not keep.
func (r *run) conceal(ws kind.Workspace) {
	for _, o := range r.outcomes {
		for i := range o.Mismatches {
			m := &o.Mismatches[i]
			m.Sent, m.Returned = plan.Conceal(ws, o.Key, m.Path, m.Sent), plan.Conceal(ws, o.Key, m.Path, m.Returned)
		}
	}
}

// run is the state of one Run. Its functions are given the context that ends
// when nothing new may begin.
type run struct {
	Deps
	outcomes []Outcome
	index    map[kind.Key]int
	// net is for requests that are in flight, and for reading back what they did;
	// books for what the ledger is told. Both outlive an interruption, for a while.
	net, books context.Context

	mu sync.Mutex
	// stopped says why nothing new is begun, or is empty.
	stopped string
	// bounded says that the time of the run is limited: what a server asks for is then
	// waited for if it fits.
	bounded bool
	// full says of hostnames why the platform takes no more purges of them for now.
	full map[string]string
	// looks are the last looks at the clock of each area.
	looks map[kind.Area]reckoning
	// failures counts the operations that the platform failed in a row.
	failures int
	// elsewhere are the items that other runs have claimed.
	elsewhere []kind.Key
	// slots are held by the items that are worked on, nil between phases.
	slots chan struct{}
	// done counts the items that came to their end.
	done atomic.Int64
}

// phase works on all items of a policy, side by side. Those that wait for a ledger
// which is far away leave their slot to others, as many as it takes up together.
func (r *run) phase(ctx context.Context, p *plan.Plan, policy kind.Policy) {
	r.slots = make(chan struct{}, max(1, r.Options.Parallelism))
	begun := make(chan struct{}, cap(r.slots)+max(1, r.Options.Batch)-1)
	var wg sync.WaitGroup
	for i, it := range p.Items {
		k, ok := kind.Named(it.Kind)
		if !ok || k.Policy != policy || it.Op == plan.Delete {
			continue
		}
		begun <- struct{}{}
		r.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-r.slots; <-begun }()
			r.outcomes[i] = r.item(ctx, it)
			if !r.outcomes[i].toRecord {
				r.tell()
			}
		})
	}
	wg.Wait()
	r.slots = nil
	r.recordSettled(ctx, p)
}

// aside does what waits for the ledger, while another item has the slot.
func (r *run) aside(do func()) {
	if r.slots != nil {
		<-r.slots
		defer func() { r.slots <- struct{}{} }()
	}
	do()
}

// item brings one item to its end.
func (r *run) item(ctx context.Context, it plan.Item) (end Outcome) {
	end = Outcome{Key: it.Key, Status: Done, Verdict: OK}
	defer r.survive(&end)
	k, ok := kind.Named(it.Kind)
	if !ok || it.Request == nil {
		r.still(ctx, k, it, &end)
		return end
	}
	if reason, verdict := r.held(ctx, it); reason != "" {
		end.Status, end.Verdict, end.Message = Skipped, verdict, reason
		return end
	}
	r.Report(Event{Key: it.Key, Phase: "start"})
	switch {
	case k.CreateOnly():
		r.make(ctx, k, it, &end)
	case it.Op == plan.Create:
		r.create(ctx, k, it, &end)
	default:
		r.patch(ctx, k, it, &end)
	}
	r.over(&end)
	return end
}

// tell tells that one item more came to its end.
func (r *run) tell() {
	if done := r.done.Add(1); r.Progress != nil {
		r.Progress(int(done), len(r.outcomes))
	}
}

// over tells that an item has come to its end.
func (r *run) over(end *Outcome) {
	if end.Verdict == Auth {
		r.stop(stoppedByAuth)
	}
	r.Report(Event{Key: end.Key, Phase: "end", Message: end.Message})
}

// still ends an item for which nothing is sent.
func (r *run) still(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	switch it.Op {
	case plan.Deferred:
		end.Status, end.Message, end.Fix, end.Verdict = Deferred, it.Reason, it.Fix, Partial
	case plan.Blocked:
		end.Status, end.Message, end.Fix, end.Verdict = Blocked, it.Reason, it.Fix, Partial
		if it.NeedsPerson {
			end.Verdict = NeedsPerson
		}
		r.giveUp(ctx, k, it, end)
		if it.Failed {
			r.settled(ctx, k, it, end) // it is there all the same
		}
	case plan.InFlight:
		r.yield(end)
	case plan.None, plan.Create, plan.Patch, plan.Post, plan.Delete, plan.Kept:
		if it.Leaves() {
			end.Message = it.Reason
		}
		r.settled(ctx, k, it, end)
	}
}

// giveUp records that a person must be asked about what a run that is gone had
// claimed.
func (r *run) giveUp(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	if !it.Lost || r.Journal == nil {
		return
	}
	now, err := r.Clock(ctx, k)
	if err == nil {
		err = r.Journal.GiveUp(r.books, it.Key, now)
	}
	if err != nil {
		end.butUntold(err)
	}
}

// held says why an item is not begun: the run was halted, or something that it
// waits for did not end well.
func (r *run) held(ctx context.Context, it plan.Item) (string, Verdict) {
	if why, verdict := r.halted(ctx); why != "" {
		return why, verdict
	}
	for _, key := range it.After {
		i, ok := r.index[key]
		if !ok {
			return "waits for " + key.String() + ", which is not part of this run", Partial
		}
		before := r.outcomes[i]
		normalised := before.Verdict == NotConverged && len(before.Mismatches) > 0
		if before.Verdict == OK || normalised && r.Options.AcceptNormalised {
			continue
		}
		if normalised {
			return "waits for " + key.String() + ": the server did not keep what was sent (to continue anyway: --accept-normalised)", Partial
		}
		return "waits for " + key.String() + ", which failed", Partial
	}
	return "", OK
}

func (o *Outcome) fail(v Verdict, message string) {
	o.Status, o.Verdict, o.Message = Failed, v, message
}

// fault ends an item with what an error means.
func (o *Outcome) fault(err error, message string) {
	o.cause, o.Field = err, fieldOf(err)
	o.fail(verdictOf(err), message)
}
