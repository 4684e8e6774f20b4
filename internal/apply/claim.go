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

// postAll sends the send-once requests in the plan's order, in batches. It claims a batch, then sends it:
// each claim is durable before its request starts, and a run that dies leaves no more unknown requests
// than it had in flight (docs/design.md A3).
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
		if batch = append(batch, i); len(batch) >= r.Options.batchSize() {
			r.sendBatch(ctx, batch, &recording)
			batch = nil
		}
	}
	r.sendBatch(ctx, batch, &recording)
}

func (o Options) batchSize() int { return max(1, min(o.Batch, o.Parallelism)) }

// sendBatch claims requests, sends them, and starts to record their outcomes. With a slow
// store the next batch's claims may run while these are recorded, but not its sends.
func (r *run) sendBatch(ctx context.Context, batch []int, recording *sync.WaitGroup) {
	sends := r.claimAll(ctx, batch)
	recording.Wait()
	var sending sync.WaitGroup
	for n, i := range batch {
		s := sends[n]
		if s == nil {
			r.countDone()
			continue
		}
		sending.Go(func() {
			record := s.sendClaimed(ctx)
			recording.Go(func() {
				r.outcomes[i] = s.finish(record)
				r.countDone()
			})
		})
	}
	sending.Wait()
	if r.Options.batchSize() == 1 {
		recording.Wait()
	}
}

// sendClaimed sends a claimed request, or gives the claim back if the run has ended. The function
// that it returns records the outcome.
func (s *onceSend) sendClaimed(ctx context.Context) (record func() *Outcome) {
	if end := s.halted(ctx); end != nil {
		return func() *Outcome { return s.rescue(s.giveBack(end.Message), end) }
	}
	a := s.sendUntilKnown(ctx)
	return func() *Outcome {
		end := s.recordEnd(ctx, a)
		if end.Status == Done {
			end.Message = cmp.Or(end.Message, "the platform executes it later")
		}
		return s.reportEnd(end)
	}
}

// claimAll claims a batch in parallel, so that one write to the store can have several claims. The result
// has nil for a request that must not be sent. It reads the clock of each area once: each send reads it again.
func (r *run) claimAll(ctx context.Context, batch []int) []*onceSend {
	sends := make([]*onceSend, len(batch))
	clocks := map[kind.Area]clockReading{}
	var wg sync.WaitGroup
	for n, i := range batch {
		s := &onceSend{work: r.work(i)}
		blocked := cmp.Or(s.blockedBy(ctx), s.noRoom())
		if blocked == nil {
			s.report("start", "")
			if _, ok := clocks[s.kind.Area]; !ok {
				clocks[s.kind.Area] = r.readClock(ctx, s.kind)
			}
		}
		at := clocks[s.kind.Area]
		wg.Go(func() {
			r.outcomes[i] = s.finish(func() *Outcome {
				if blocked != nil {
					return blocked
				}
				if end := s.claim(ctx, at); end != nil {
					return end
				}
				sends[n] = s
				return done("")
			})
		})
	}
	wg.Wait()
	return sends
}

// createOnce creates an object that must not be created twice, under a claim
// like that of a request (docs/design.md 0.5).
func (w *work) createOnce(ctx context.Context) *Outcome {
	for _, name := range []string{w.item.RemoteName, w.item.Name} {
		if name == "" {
			continue
		}
		if _, end := w.absent(ctx, name); end != nil {
			w.noteResult(end.cause)
			return w.leaveIfClaimed(ctx, end)
		}
	}
	s, at := &onceSend{work: w}, w.readClock(ctx, w.kind)
	s.before = w.listSimilar(ctx, at)
	if end := s.claim(ctx, at); end != nil {
		return end
	}
	a := s.sendUntilKnown(ctx)
	// Record, then verify: if the run dies in between, the outcome is known.
	if end := s.recordEnd(ctx, a); end.Status != Done {
		return end
	}
	name := cmp.Or(a.obj.Name, w.item.Name)
	w.report("verify", "")
	got := w.readBack(ctx, name, w.created())
	switch {
	case got.interrupted && !got.kept:
		return unverified(ctx, "it was created")
	case got.obj == nil:
		return unreadable(got.err)
	case got.obj.Terminating:
		return failed(Partial, "it was created, and is being deleted", "")
	case !got.kept:
		return w.outcomeOf(w.created(), *got.obj, got.checked)
	}
	return w.ready(ctx, name, *got.obj)
}

// ready returns an outcome that says whether a new object is ready. It waits for that if the user asked.
func (w *work) ready(ctx context.Context, name string, obj kind.Object) *Outcome {
	first := true
	return w.poll(ctx, "created", "ready", func(ctx context.Context) *Outcome {
		if !first {
			if next, err := w.Writer.Get(ctx, w.kind, name); err == nil {
				obj = next
			}
		}
		first = false
		ready, failure := w.kind.Ready(obj.Status)
		switch {
		case failure != "":
			return failed(Partial, "the server created it and says: "+failure, "")
		case ready:
			return done("ready")
		case !w.Options.Wait:
			return done("not ready yet (--wait waits)")
		}
		return nil
	})
}

// listSimilar lists the live objects that look like the one to create; nil if the
// platform's list is incomplete.
func (w *work) listSimilar(ctx context.Context, at clockReading) *ledger.Listing {
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

// clockReading is the platform's time, or why it is unknown.
type clockReading struct {
	now  ledger.Instant
	err  error
	when time.Time // the time by this machine's clock
}

// maxClockAge is how old a clock reading may be that a claim uses. Each send reads the clock itself.
const maxClockAge = 2 * time.Second

// readClock returns the platform's time for a claim. It reuses the last reading if that is recent by the wall
// clock and by the monotonic one: either may stop while a machine sleeps. It does nothing without a ledger.
func (r *run) readClock(ctx context.Context, k *kind.Kind) (at clockReading) {
	if r.Journal == nil {
		return at
	}
	if r.Now != nil {
		now := r.Now()
		r.mu.Lock()
		at, known := r.clocks[k.Area]
		r.mu.Unlock()
		passed, wall := now.Sub(at.when), now.Round(0).Sub(at.when.Round(0))
		if known && max(wall, passed) <= maxClockAge && min(wall, passed) >= 0 {
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

func (s *onceSend) claim(ctx context.Context, at clockReading) *Outcome {
	if s.Journal == nil {
		return failed(NeedsPerson, "nothing was sent, because requests that are sent once need the ledger", "run trueup doctor to check the ledger")
	}
	if at.err != nil {
		return failedUnsent(ctx, at.err, "nothing was sent: the platform's time: ")
	}
	s.spec = s.Spec(s.item.Key)
	s.digest = plan.SpecDigest(s.kind, s.spec)
	var err error
	s.hold, err = s.Journal.Claim(s.ledgerCtx, s.item.Key, ledger.Intent{
		Spec: s.spec, Digest: s.digest, At: at.now, Before: s.before,
		TakeOver: s.item.Resend, Again: s.item.Recreate && !s.item.Resend,
	})
	switch {
	case errors.Is(err, ledger.ErrTaken), errors.Is(err, ledger.ErrConflict):
		return s.leaveToOther(s.item.Key)
	case err != nil:
		return unclaimed(err)
	}
	s.certain = !s.hold.EarlierUnknown
	return nil
}

func (r *run) leaveToOther(key kind.Key) *Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere = append(r.elsewhere, key)
	return &Outcome{Status: InFlight, Verdict: Partial, Message: "in flight elsewhere"}
}

// leaveIfClaimed leaves an object that appeared since the plan to the run that claimed it, if any.
func (w *work) leaveIfClaimed(ctx context.Context, end *Outcome) *Outcome {
	if end.Verdict != Stale || w.Journal == nil {
		return end
	}
	records, err := w.Journal.Look(ctx, []kind.Key{w.item.Key})
	if state := records[w.item.Key].State; err == nil && (state == ledger.Claimed || state == ledger.Posted) {
		return w.leaveToOther(w.item.Key)
	}
	return end
}

// pollSeldom is the longest pause between two reads of the ledger: many runs that wait must not
// slow the store for the one that works.
const pollSeldom = 8 * time.Second

// awaitOthers waits up to Options.WaitOthers for requests that other runs claimed, and sends those
// that they gave back.
func (r *run) awaitOthers(ctx context.Context) {
	pause := pollEvery
	for waited := time.Duration(0); len(r.elsewhere) > 0 && ctx.Err() == nil; waited += pause {
		waiting := r.elsewhere
		r.elsewhere = nil
		slices.SortFunc(waiting, func(a, b kind.Key) int { return cmp.Compare(a.String(), b.String()) })
		r.lookAt(ctx, waiting)
		if len(r.elsewhere) == 0 || waited >= r.Options.WaitOthers {
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

func (r *run) lookAt(ctx context.Context, waiting []kind.Key) {
	var records map[kind.Key]ledger.Record
	err := r.safely(waiting[0], func() (err error) {
		records, err = r.Journal.Look(ctx, waiting)
		return err
	})
	for _, key := range waiting {
		i := r.index[key]
		w := r.work(i)
		r.outcomes[i] = w.finish(func() *Outcome {
			if err != nil {
				end := w.leaveToOther(key)
				end.Message += ", and the ledger could not be read again: " + err.Error()
				return end
			}
			return w.endByRecord(ctx, i, records[key])
		})
	}
}

func (w *work) endByRecord(ctx context.Context, i int, rec ledger.Record) *Outcome {
	end := skipped(Partial, "")
	end.Message, end.Fix = ledger.Explain(rec)
	if w.hasOtherSpec(rec) {
		end.Status, end.Verdict, end.Fix = Blocked, NeedsPerson, "give this one another name"
		end.Message += "; its record has another spec, so this one was not sent"
		return end
	}
	switch rec.State {
	case ledger.Posted, ledger.Adopted, ledger.Abandoned:
		end.Status, end.Verdict = Done, OK
	case ledger.Unknown:
		end.Status, end.Verdict = Blocked, NeedsPerson
	case ledger.Claimed:
		if !rec.Left {
			end = w.leaveToOther(w.item.Key)
			end.Message, end.Fix = ledger.ExplainFlight(rec)
			return end
		}
		end.Fix = "run apply again"
	case "", ledger.Rejected:
		if w.item.Request != nil && !w.item.Resend {
			return w.sendNow(ctx, i)
		}
		end.Fix = "run apply again"
	}
	return end
}

// hasOtherSpec reports whether the record is of another spec than the manifest's: two commits may use one name.
func (w *work) hasOtherSpec(rec ledger.Record) bool {
	free := rec.State == "" || rec.State == ledger.Rejected
	if free || rec.SpecDigest == nil || w.item.DesiredDigest == nil {
		return false // the name is free, or the manifest has no spec
	}
	return *rec.SpecDigest != plan.SpecDigest(w.kind, w.Spec(w.item.Key))
}

// sendNow sends a request that another run had claimed and given back.
func (w *work) sendNow(ctx context.Context, i int) *Outcome {
	if !w.kind.RequestOnly() {
		end := w.run.work(i).all(ctx)
		return &end
	}
	w.done.Add(-1) // it counted when it was left to the other run
	var recording sync.WaitGroup
	w.sendBatch(ctx, []int{i}, &recording)
	recording.Wait()
	end := w.outcomes[i]
	return &end
}
