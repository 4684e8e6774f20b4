package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// postAll sends the requests that are sent once, in the plan's order. Those that a
// run claims together it sends together: each claim is durable before the first byte
// of its request, and a run that dies leaves no more questions than it has requests
// in flight (docs/design.md A3).
func (r *run) postAll(ctx context.Context, p *plan.Plan) {
	var recording sync.WaitGroup
	defer recording.Wait()
	var batch []int
	for i, it := range p.Items {
		if k, ok := kind.Named(it.Kind); !ok || !k.RequestOnly() {
			continue
		}
		if it.Op != plan.Post {
			r.outcomes[i] = r.item(ctx, p.Items[i])
			r.tell()
			continue
		}
		if batch = append(batch, i); len(batch) >= r.Options.claims() {
			r.volley(ctx, p, batch, &recording)
			batch = nil
		}
	}
	r.volley(ctx, p, batch, &recording)
}

// claims is how many requests are claimed and sent together.
func (o Options) claims() int { return max(1, min(o.Batch, o.Parallelism)) }

// volley claims some requests, sends them, and begins to record how they ended.
// Where several are claimed at once the store is far away: the next claims may then
// go together with these outcomes, but the next sends come after them.
func (r *run) volley(ctx context.Context, p *plan.Plan, batch []int, recording *sync.WaitGroup) {
	shots := r.claimAll(ctx, p, batch)
	recording.Wait()
	var sending sync.WaitGroup
	for n, i := range batch {
		if shots[n] == nil {
			r.tell()
			continue
		}
		sending.Go(func() { r.fire(ctx, shots[n], &r.outcomes[i], recording) })
	}
	sending.Wait()
	if r.Options.claims() == 1 {
		recording.Wait()
	}
}

// fire sends a claimed request, or gives the claim back where nothing may be sent
// any more; what is left to do of either is added to the group.
func (r *run) fire(ctx context.Context, s *shot, end *Outcome, recording *sync.WaitGroup) {
	if why, verdict := r.halted(ctx); why != "" {
		end.Status, end.Verdict, end.Message = Skipped, verdict, why
		recording.Go(func() {
			defer r.survive(end)
			r.unrecorded(r.giveBack(s, why), end)
			r.tell()
		})
		return
	}
	a := r.deliver(ctx, s, end)
	recording.Go(func() {
		defer r.survive(end)
		if r.close(ctx, s, a, end) && end.Message == "" {
			end.Message = "accepted; the platform executes it later"
		}
		r.over(end)
		r.tell()
	})
}

// giveBack ends a claim under which nothing was sent. Where an earlier run may
// have sent it, the next one may go on at once.
func (r *run) giveBack(s *shot, why string) error {
	if s.certain {
		return r.Journal.Release(r.books, s.item.Key, why)
	}
	return r.Journal.Leave(r.books, s.item.Key, why)
}

// claimAll makes the intents to send durable, all at once, so that they go
// together to the store; nil stands for what may not be sent. One look at the
// clock before them does: each send has its own.
func (r *run) claimAll(ctx context.Context, p *plan.Plan, batch []int) []*shot {
	shots := make([]*shot, len(batch))
	looks := map[kind.Area]reckoning{}
	var wg sync.WaitGroup
	for n, i := range batch {
		it := p.Items[i]
		end := &r.outcomes[i]
		*end = Outcome{Key: it.Key, Status: Done, Verdict: OK}
		if reason, verdict := r.held(ctx, it); reason != "" {
			end.Status, end.Verdict, end.Message = Skipped, verdict, reason
			continue
		}
		if r.noRoom(it, end) {
			continue
		}
		r.Report(Event{Key: it.Key, Phase: "start"})
		k, _ := kind.Named(it.Kind)
		at, looked := looks[k.Area]
		if !looked {
			at = r.reckon(ctx, k)
			looks[k.Area] = at
		}
		wg.Go(func() {
			defer r.survive(end)
			s := &shot{kind: k, item: it}
			if r.claim(ctx, s, at, end) {
				shots[n] = s
			}
		})
	}
	wg.Wait()
	return shots
}

// make creates an object that is a moment in time, under the same intent
// record (docs/design.md 0.5).
func (r *run) make(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	for _, name := range []string{it.RemoteName, it.Name} {
		if name == "" {
			continue
		}
		if _, ok := r.absent(ctx, k, name, end); !ok {
			r.noteResult(end.cause)
			r.yieldIfClaimed(ctx, it, end)
			return
		}
	}
	s := &shot{kind: k, item: it}
	// A GET right before has shown the name to be free.
	s.look = func() (kind.Object, bool) {
		got := r.readBack(ctx, k, it.Name, r.Spec(it.Key))
		if !got.kept {
			return kind.Object{}, false
		}
		return *got.obj, true
	}
	at := r.reckon(ctx, k)
	s.before = r.alike(ctx, s, at)
	if !r.claim(ctx, s, at, end) {
		return
	}
	a := r.deliver(ctx, s, end)
	// Recorded before it is verified: a run that dies meanwhile leaves no doubt.
	if !r.close(ctx, s, a, end) {
		return
	}
	end.Message = ""
	r.verify(ctx, s, cmp.Or(a.obj.Name, it.Name), end)
}

// alike lists what is live and looks like what a request is to make; nil where the
// platform does not show all of it.
func (r *run) alike(ctx context.Context, s *shot, at reckoning) *ledger.Listing {
	if at.err != nil {
		return nil
	}
	found, spec := ledger.Listing{At: at.now.Now}, canon.MustDecode(r.Spec(s.item.Key))
	info, err := r.Writer.List(ctx, s.kind, func(o kind.Object) error {
		if o.Spec == nil || merge.Covers(r.Rules(s.kind), spec, canon.MustDecode(o.Spec)) {
			found.Objects = append(found.Objects, ledger.Identity{Name: o.Name, UID: o.UID})
		}
		return nil
	})
	if err != nil || !info.Complete {
		return nil
	}
	return &found
}

// verify reads back what was made, and waits for it where the user asked.
func (r *run) verify(ctx context.Context, s *shot, name string, end *Outcome) {
	r.Report(Event{Key: end.Key, Phase: "verify"})
	k, spec := s.kind, r.Spec(end.Key)
	got := r.readBack(ctx, k, name, spec)
	switch {
	case got.cut && !got.kept:
		end.unverified(ctx, "it was made")
	case got.obj == nil:
		end.unread(got.err)
	case got.obj.Terminating:
		end.fail(Partial, "it was created, and is being deleted")
	case !got.kept:
		end.Mismatches, _ = r.mismatches(write{kind: k, spec: spec, sent: spec}, *got.obj)
		end.fail(NotConverged, "the server did not keep what was sent")
	default:
		r.ready(ctx, k, name, *got.obj, end)
	}
}

// reckoning is what a look at the clock gave, and when that was by this machine's.
type reckoning struct {
	now  ledger.Instant
	err  error
	when time.Time
}

// recentLook is how old a look at the clock may be that a claim goes by. Each send has
// one of its own right before it.
const recentLook = 2 * time.Second

// lately is the last look at the clock of an area as of now, if it is recent by the
// wall clock and by the monotonic one: either may stand still while a machine sleeps.
func (r *run) lately(area kind.Area) (reckoning, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.looks[area]
	if r.Now == nil {
		return reckoning{}, false
	}
	now := r.Now()
	passed := now.Sub(at.when)
	if wall := now.Round(0).Sub(at.when.Round(0)); !ok || max(wall, passed) > recentLook || min(wall, passed) < 0 {
		return reckoning{}, false
	}
	at.now = at.now.Add(passed)
	return at, true
}

// looked keeps a look at the clock.
func (r *run) looked(area kind.Area, now ledger.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Now != nil {
		r.looks[area] = reckoning{now: now, when: r.Now()}
	}
}

// reckon looks at the clock for a claim. Without a ledger there is none.
func (r *run) reckon(ctx context.Context, k *kind.Kind) (at reckoning) {
	if r.Journal == nil {
		return at
	}
	if at, ok := r.lately(k.Area); ok {
		return at
	}
	at.err = r.safely(kind.Key{Kind: k.Name}, func() (err error) {
		at.now, err = r.Clock(ctx, k)
		return err
	})
	if at.err != nil {
		r.noteResult(at.err)
	}
	return at
}

// claim makes the intent to send durable; false means that nothing may be sent.
func (r *run) claim(ctx context.Context, s *shot, at reckoning, end *Outcome) bool {
	if r.Journal == nil {
		end.fail(NeedsPerson, "nothing was sent, because requests that are sent once need the ledger")
		return false
	}
	if at.err != nil {
		end.broke(ctx, at.err, "nothing was sent: the platform's time: "+at.err.Error())
		return false
	}
	claim := r.Journal.Claim
	switch {
	case s.item.Resend:
		claim = r.Journal.TakeOver
	case s.item.Recreate:
		claim = r.Journal.ClaimAgain
	}
	spec := r.Spec(s.item.Key)
	s.digest = plan.SpecDigest(s.kind, spec)
	var err error
	s.hold, err = claim(r.books, s.item.Key, ledger.Intent{Spec: spec, Digest: s.digest, At: at.now, Before: s.before})
	if err == nil {
		s.certain = !s.hold.Uncertain
		return true
	}
	if errors.Is(err, ledger.ErrTaken) || errors.Is(err, ledger.ErrConflict) {
		r.yield(end)
		return false
	}
	end.unclaimed(err)
	return false
}

// unclaimed ends an item of which nothing was sent because the ledger could not be
// written. Only a ledger that has to be repaired is a question.
func (o *Outcome) unclaimed(err error) {
	o.fail(Partial, "nothing was sent, because the ledger could not be written: "+err.Error())
	o.Fix = "run apply again when the ledger can be written"
	if p := ledger.Problem(err); p != nil {
		o.Verdict, o.Fix = NeedsPerson, p.Fix
	}
}

// yield leaves an item to the run that claimed it.
func (r *run) yield(end *Outcome) {
	end.Status, end.Verdict, end.Message = Skipped, Partial, "in flight elsewhere"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere = append(r.elsewhere, end.Key)
}

// yieldIfClaimed leaves what appeared since the plan was made to the run that made it, if
// the ledger has it of one.
func (r *run) yieldIfClaimed(ctx context.Context, it plan.Item, end *Outcome) {
	if end.Verdict != Stale || r.Journal == nil {
		return
	}
	records, err := r.Journal.Look(ctx, []kind.Key{it.Key})
	if rec := records[it.Key]; err == nil && (rec.State == ledger.Claimed || rec.State == ledger.Posted) {
		r.yield(end)
	}
}

func madeOf(obj kind.Object) ledger.Made {
	return ledger.Made{RemoteName: obj.Name, UID: obj.UID, CreationTimestamp: obj.CreationTimestamp}
}

// pollSeldom is how often a run that has waited for others for a while looks what
// they have done: many that wait must not keep the store from the one that works.
const pollSeldom = 8 * time.Second

// awaitOthers waits for the requests that other runs have claimed, as long as
// the user wants and the run goes on, and sends those that they gave back.
func (r *run) awaitOthers(ctx context.Context, p *plan.Plan) {
	pause := pollEvery
	for waited := time.Duration(0); ; waited += pause {
		r.mu.Lock()
		waiting := r.elsewhere
		r.elsewhere = nil
		r.mu.Unlock()
		if len(waiting) == 0 || ctx.Err() != nil {
			return
		}
		slices.SortFunc(waiting, func(a, b kind.Key) int { return cmp.Compare(a.String(), b.String()) })
		r.lookAt(ctx, p, waiting)
		r.mu.Lock()
		more := len(r.elsewhere) > 0
		r.mu.Unlock()
		if !more || waited >= r.Options.WaitOthers {
			return
		}
		r.Report(Event{Key: waiting[0], Phase: "wait", Message: fmt.Sprintf("%d in flight elsewhere, waited %s of %s",
			len(waiting), waited, r.Options.WaitOthers)})
		if waited > 0 {
			pause = min(2*pause, pollSeldom)
		}
		pause = min(pause, r.Options.WaitOthers-waited)
		if r.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// lookAt reads the records of what other runs have claimed.
func (r *run) lookAt(ctx context.Context, p *plan.Plan, waiting []kind.Key) {
	var records map[kind.Key]ledger.Record
	err := r.safely(waiting[0], func() (err error) {
		records, err = r.Journal.Look(ctx, waiting)
		return err
	})
	for _, key := range waiting {
		i := r.index[key]
		func() {
			defer r.survive(&r.outcomes[i])
			r.other(ctx, p, i, records[key], err)
		}()
	}
}

// other looks what became of a request that another run has claimed.
func (r *run) other(ctx context.Context, p *plan.Plan, i int, rec ledger.Record, err error) {
	it, end := p.Items[i], &r.outcomes[i]
	if err != nil {
		r.yield(end)
		end.Message += ", and the ledger could not be read again: " + err.Error()
		return
	}
	message, fix := ledger.Explain(rec)
	if r.another(it, rec) {
		end.Status, end.Verdict, end.Message = Blocked, NeedsPerson, message+"; that was another spec, and this one was not sent"
		end.Fix = "give this one another name"
		return
	}
	switch rec.State {
	case ledger.Posted, ledger.Adopted, ledger.Abandoned:
		end.Status, end.Verdict = Done, OK
	case ledger.Unknown:
		end.Status, end.Verdict = Blocked, NeedsPerson
	case ledger.Claimed:
		if !rec.Left {
			r.yield(end)
			message, fix = ledger.ExplainFlight(rec)
		} else {
			fix = "run apply again"
		}
	case "", ledger.Rejected:
		if it.Request != nil && !it.Resend {
			r.again(ctx, p, i)
			return
		}
		fix = "run apply again"
	}
	end.Message, end.Fix = message, fix
}

// another reports whether a record speaks of a request with another spec than git's:
// two commits may use one name.
func (r *run) another(it plan.Item, rec ledger.Record) bool {
	k, ok := kind.Named(it.Kind)
	free := rec.State == "" || rec.State == ledger.Rejected
	if !ok || free || rec.SpecDigest == nil || it.DesiredDigest == nil {
		return false // nobody speaks for a name, or git has no spec of it
	}
	return *rec.SpecDigest != plan.SpecDigest(k, r.Spec(it.Key))
}

// again sends what the plan showed and another run had claimed and given back.
func (r *run) again(ctx context.Context, p *plan.Plan, i int) {
	k, _ := kind.Named(p.Items[i].Kind)
	if k.RequestOnly() {
		r.done.Add(-1) // it counted when it was left to the other run
		var recording sync.WaitGroup
		r.volley(ctx, p, []int{i}, &recording)
		recording.Wait()
		return
	}
	r.outcomes[i] = r.item(ctx, p.Items[i])
}
