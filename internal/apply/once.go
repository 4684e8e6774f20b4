package apply

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// postAll sends the requests that are sent once, in the plan's order. Those that a run claims
// together it sends together: each claim is durable before the first byte of its request, and a run
// that dies leaves no more questions than it has requests in flight (docs/design.md A3).
func (r *run) postAll(ctx context.Context) {
	var recording sync.WaitGroup
	defer recording.Wait()
	var batch []int
	for i := range r.items {
		if k, _ := kind.Named(r.items[i].Kind); !k.RequestOnly() {
			continue
		}
		if r.items[i].Op != plan.Post {
			r.outcomes[i] = r.work(i).all(ctx)
			r.countDone()
			continue
		}
		if batch = append(batch, i); len(batch) >= r.Options.claims() {
			r.volley(ctx, batch, &recording)
			batch = nil
		}
	}
	r.volley(ctx, batch, &recording)
}

// claims is how many requests are claimed and sent together.
func (o Options) claims() int { return max(1, min(o.Batch, o.Parallelism)) }

// volley claims some requests, sends them, and begins to record how they ended.
// Where several are claimed at once the store is far away: the next claims may then
// go together with these outcomes, but the next sends come after them.
func (r *run) volley(ctx context.Context, batch []int, recording *sync.WaitGroup) {
	shots := r.claimAll(ctx, batch)
	recording.Wait()
	var sending sync.WaitGroup
	for n, i := range batch {
		s := shots[n]
		if s == nil {
			r.countDone()
			continue
		}
		sending.Go(func() {
			record := s.fire(ctx)
			recording.Go(func() {
				r.outcomes[i] = s.finish(record)
				r.countDone()
			})
		})
	}
	sending.Wait()
	if r.Options.claims() == 1 {
		recording.Wait()
	}
}

// fire sends a claimed request, or gives the claim back if nothing may be sent any
// more; what it returns records that.
func (s *shot) fire(ctx context.Context) (record func() *Outcome) {
	if end := s.halted(ctx); end != nil {
		return func() *Outcome { return s.rescue(s.giveBack(end.Message), end) }
	}
	a := s.deliver(ctx)
	return func() *Outcome {
		end := s.close(ctx, a)
		if end.Status == Done {
			end.Message = cmp.Or(end.Message, "accepted; the platform executes it later")
		}
		return s.over(end)
	}
}

// claimAll makes the intents to send durable, all at once, so that they go
// together to the store; nil stands for what may not be sent. One look at the
// clock before them does: each send has its own.
func (r *run) claimAll(ctx context.Context, batch []int) []*shot {
	shots := make([]*shot, len(batch))
	looks := map[kind.Area]reckoning{}
	var wg sync.WaitGroup
	for n, i := range batch {
		s := &shot{work: r.work(i)}
		held := cmp.Or(s.held(ctx), s.noRoom())
		if held == nil {
			s.report("start", "")
			if _, looked := looks[s.kind.Area]; !looked {
				looks[s.kind.Area] = r.reckon(ctx, s.kind)
			}
		}
		at := looks[s.kind.Area]
		wg.Go(func() {
			r.outcomes[i] = s.finish(func() *Outcome {
				if held != nil {
					return held
				}
				if end := s.claim(ctx, at); end != nil {
					return end
				}
				shots[n] = s
				return done("")
			})
		})
	}
	wg.Wait()
	return shots
}

// make creates an object that is a moment in time, under the same intent
// record (docs/design.md 0.5).
func (w *work) make(ctx context.Context) *Outcome {
	for _, name := range []string{w.item.RemoteName, w.item.Name} {
		if name == "" {
			continue
		}
		if _, end := w.absent(ctx, name); end != nil {
			w.noteResult(end.cause)
			return w.yieldIfClaimed(ctx, end)
		}
	}
	s, at := &shot{work: w}, w.reckon(ctx, w.kind)
	s.before = w.alike(ctx, at)
	if end := s.claim(ctx, at); end != nil {
		return end
	}
	a := s.deliver(ctx)
	// Recorded before it is verified: a run that dies meanwhile leaves no doubt.
	if end := s.close(ctx, a); end.Status != Done {
		return end
	}
	name := cmp.Or(a.obj.Name, w.item.Name)
	w.report("verify", "")
	got := w.readBack(ctx, name, w.spec)
	switch {
	case got.cut && !got.kept:
		return unverified(ctx, "it was made")
	case got.obj == nil:
		return unread(got.err)
	case got.obj.Terminating:
		return failed(Partial, "it was created, and is being deleted", "")
	case !got.kept:
		end := failed(NotConverged, "the server did not keep what was sent", "")
		end.Mismatches, _ = w.mismatches(w.created(), *got.obj)
		return end
	}
	return w.ready(ctx, name, *got.obj)
}

// ready says how far a new object is, and waits for it if the user asked.
func (w *work) ready(ctx context.Context, name string, obj kind.Object) *Outcome {
	looking, stop := context.WithTimeout(ctx, w.Options.WaitTimeout)
	defer stop()
	wait := waiting{work: w, did: "created", state: "ready", looking: looking}
	for {
		ready, failure := w.kind.Ready(obj.Status)
		switch {
		case failure != "":
			return failed(Partial, "the server created it and says: "+failure, "")
		case ready:
			return done("made and ready")
		case !w.Options.Wait:
			return done("created; not ready yet (--wait waits)")
		}
		if end := wait.pause(ctx); end != nil {
			return end
		}
		if next, err := w.Writer.Get(looking, w.kind, name); err == nil {
			obj = next
		}
	}
}

// alike lists what is live and looks like what a request is to make; nil if the
// platform does not show all of it.
func (w *work) alike(ctx context.Context, at reckoning) *ledger.Listing {
	if at.err != nil {
		return nil
	}
	found, spec := ledger.Listing{At: at.now.Now}, canon.MustDecode(w.spec)
	info, err := w.Writer.List(ctx, w.kind, func(o kind.Object) error {
		if o.Spec == nil || merge.Covers(w.Rules(w.kind), spec, canon.MustDecode(o.Spec)) {
			found.Objects = append(found.Objects, ledger.Identity{Name: o.Name, UID: o.UID})
		}
		return nil
	})
	if err != nil || !info.Complete {
		return nil
	}
	return &found
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

// reckon looks at the clock for a claim, or takes the last look if it is recent by the
// wall clock and by the monotonic one: either may stand still while a machine sleeps.
// Without a ledger there is none.
func (r *run) reckon(ctx context.Context, k *kind.Kind) (at reckoning) {
	if r.Journal == nil {
		return at
	}
	if r.Now != nil {
		now := r.Now()
		r.mu.Lock()
		at, looked := r.looks[k.Area]
		r.mu.Unlock()
		passed, wall := now.Sub(at.when), now.Round(0).Sub(at.when.Round(0))
		if looked && max(wall, passed) <= recentLook && min(wall, passed) >= 0 {
			at.now = at.now.Add(passed)
			return at
		}
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

// claim makes the intent to send durable.
func (s *shot) claim(ctx context.Context, at reckoning) *Outcome {
	if s.Journal == nil {
		return failed(NeedsPerson, "nothing was sent, because requests that are sent once need the ledger", "")
	}
	if at.err != nil {
		return broke(ctx, at.err, "nothing was sent: the platform's time: ")
	}
	claim := s.Journal.Claim
	switch {
	case s.item.Resend:
		claim = s.Journal.TakeOver
	case s.item.Recreate:
		claim = s.Journal.ClaimAgain
	}
	s.spec = s.Spec(s.item.Key)
	s.digest = plan.SpecDigest(s.kind, s.spec)
	var err error
	s.hold, err = claim(s.books, s.item.Key, ledger.Intent{Spec: s.spec, Digest: s.digest, At: at.now, Before: s.before})
	switch {
	case errors.Is(err, ledger.ErrTaken), errors.Is(err, ledger.ErrConflict):
		return s.yield(s.item.Key)
	case err != nil:
		return unclaimed(err)
	}
	s.certain = !s.hold.Uncertain
	return nil
}
