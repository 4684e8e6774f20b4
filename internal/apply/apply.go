package apply

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// Writer reads and writes single objects of the platform. Its errors may say
// what they mean by methods: NotFound, Conflict, Auth, Uncertain and NotSent,
// each returning bool, and HTTPStatus, returning int.
type Writer interface {
	// Turn waits until the rate limit, and the pause that the platform may have
	// asked for in the area of the kind, let the next write go; Create and Patch
	// do not wait.
	Turn(ctx context.Context, k *kind.Kind) error
	Get(ctx context.Context, k *kind.Kind, name string) (kind.Object, error)
	Create(ctx context.Context, k *kind.Kind, body []byte) (kind.Object, error)
	Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.Object, error)
}

// Intents keeps the requests that are sent once: each method is durable when
// it returns (design A3).
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

// Specs keeps the last-applied spec of each object (design B1 and 0.2).
type Specs interface {
	Pending(ctx context.Context, key kind.Key, spec []byte) error
	Applied(ctx context.Context, key kind.Key, a ledger.AppliedSpec) error
	DropPending(ctx context.Context, key kind.Key) error
}

// Journal is what apply needs of a ledger.
type Journal interface {
	Intents
	Specs
}

// Deps are what Run works with.
type Deps struct {
	Writer Writer
	// Journal is nil where the ledger can't be used; the plan then holds no
	// once-only request.
	Journal Journal
	// Clock asks the platform's area of the kind for the time, right now
	// (design 0.8).
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
	// Hurry is closed when what is in flight is to be given up at once; it may
	// be nil.
	Hurry <-chan struct{}
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
	// Batch is how many requests are claimed together; less than 2 means one.
	Batch int
	// WaitOthers is how long to wait for what other runs have claimed.
	WaitOthers time.Duration
}

// Run does what the plan says: first what converges, then what is made once,
// then the once-only requests, each after the objects that it waits for. A
// failure stops what depends on it and nothing else; an authentication failure
// stops everything that was not begun.
func Run(ctx context.Context, p *plan.Plan, d Deps) Result {
	r := &run{Deps: d, outcomes: make([]Outcome, len(p.Items)), index: map[kind.Key]int{}}
	for i, it := range p.Items {
		r.index[it.Key] = i
	}
	for _, policy := range []kind.Policy{kind.Converge, kind.CreateOnly} {
		r.phase(ctx, p, policy)
	}
	r.postAll(ctx, p)
	r.awaitOthers(ctx, p)
	return Result{Outcomes: r.outcomes}
}

// run is the state of one Run.
type run struct {
	Deps
	outcomes []Outcome
	index    map[kind.Key]int

	mu sync.Mutex
	// stopped says why nothing new is begun, or is empty.
	stopped string
	// elsewhere are the items that other runs have claimed.
	elsewhere []kind.Key
}

// phase works on all items of a policy, side by side.
func (r *run) phase(ctx context.Context, p *plan.Plan, policy kind.Policy) {
	slots := make(chan struct{}, max(1, r.Options.Parallelism))
	var wg sync.WaitGroup
	for i, it := range p.Items {
		k, ok := kind.Named(it.Kind)
		if !ok || k.Policy != policy {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r.outcomes[i] = r.item(ctx, it)
		})
	}
	wg.Wait()
}

// item brings one item to its end.
func (r *run) item(ctx context.Context, it plan.Item) Outcome {
	end := Outcome{Key: it.Key, Status: Done, Verdict: OK}
	k, ok := kind.Named(it.Kind)
	if !ok || it.Request == nil {
		return r.still(ctx, k, it, end)
	}
	if reason, verdict := r.held(ctx, it); reason != "" {
		end.Status, end.Verdict, end.Message = Skipped, verdict, reason
		return end
	}
	r.Report(Event{Key: it.Key, Phase: "start"})
	// A write that has begun is brought to its end and recorded, also when the
	// run is interrupted: the client's own time limit bounds it.
	bound := context.WithoutCancel(ctx)
	switch {
	case k.Policy == kind.CreateOnly:
		r.make(ctx, k, it, &end)
	case it.Op == plan.Create:
		r.create(bound, k, it, &end)
	default:
		r.patch(bound, k, it, &end)
	}
	r.over(&end)
	return end
}

// over tells that an item has come to its end.
func (r *run) over(end *Outcome) {
	if end.Verdict == Auth {
		r.stop(stoppedByAuth)
	}
	r.Report(Event{Key: end.Key, Phase: "end", Message: end.Message})
}

// still ends an item for which nothing is sent.
func (r *run) still(ctx context.Context, k *kind.Kind, it plan.Item, end Outcome) Outcome {
	switch it.Op {
	case plan.Deferred:
		end.Status, end.Message, end.Fix, end.Verdict = Deferred, it.Reason, it.Fix, Partial
	case plan.Blocked:
		end.Status, end.Message, end.Fix, end.Verdict = Blocked, it.Reason, it.Fix, Partial
		if it.NeedsPerson {
			end.Verdict = NeedsPerson
		}
		r.giveUp(ctx, k, it, &end)
	case plan.InFlight:
		r.yield(&end)
	case plan.None, plan.Create, plan.Patch, plan.Post, plan.Kept:
		r.settled(ctx, k, it, &end)
	}
	return end
}

// settled ends an item that is as git says, and tells the ledger so.
func (r *run) settled(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	bound := context.WithoutCancel(ctx)
	switch {
	case it.Found:
		r.found(bound, it, end)
	case it.Record && r.Journal != nil:
		a := ledger.AppliedSpec{Spec: r.Spec(it.Key), Converged: true, UID: it.Live.UID}
		err := r.Journal.Applied(bound, it.Key, a)
		if errors.Is(err, ledger.ErrConflict) {
			err = nil // another run is at it; what it leaves is compared by the next one
		}
		end.untold("live is as git says", err)
	}
	if r.Options.Wait && it.Op == plan.None && k.Policy == kind.CreateOnly && end.Verdict == OK {
		r.await(ctx, k, it, end)
	}
}

// found records that the object of a request without an answer is live. Another
// run may do so at the same time.
func (r *run) found(ctx context.Context, it plan.Item, end *Outcome) {
	made := ledger.Made{RemoteName: cmp.Or(it.RemoteName, it.Name), UID: it.Live.UID}
	err := r.Journal.Found(ctx, it.Key, made)
	if errors.Is(err, ledger.ErrConflict) {
		r.yield(end)
		return
	}
	end.untold("it is live", err)
}

// untold ends an item of which the ledger was to learn what live shows. The next
// run sees it as well.
func (o *Outcome) untold(what string, err error) {
	if err != nil {
		o.fail(Partial, what+", but the ledger could not be told: "+err.Error())
		o.Fix = "run apply again"
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
		err = r.Journal.GiveUp(context.WithoutCancel(ctx), it.Key, now)
	}
	if err != nil {
		end.butUntold(err)
	}
}

// stoppedByAuth is why nothing new is begun after the platform refused the token.
const stoppedByAuth = "stopped after an authentication failure"

// halted says why nothing new is begun: the run was stopped or interrupted.
func (r *run) halted(ctx context.Context) (string, Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return "interrupted before it was begun", Interrupted
	case r.stopped != "":
		return r.stopped, Partial
	}
	return "", OK
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
			return "waits for " + key.String() + ": the server did not keep what was sent (--accept-normalised goes on)", Partial
		}
		return "waits for " + key.String() + ", which did not end well", Partial
	}
	return "", OK
}

func (r *run) stop(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == "" {
		r.stopped = why
	}
}

// stopIfLost stops the run where a creation found no such workspace: a list of a
// workspace that does not exist is empty, and every creation would fail alike.
func (r *run) stopIfLost(err error) {
	if httpStatus(err) == statusNotFound {
		r.stop("stopped: the platform does not know this workspace")
	}
}

// statusNotFound is HTTP's 404.
const statusNotFound = 404

func (o *Outcome) fail(v Verdict, message string) {
	o.Status, o.Verdict, o.Message = Failed, v, message
}
