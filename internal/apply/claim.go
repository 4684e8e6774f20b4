package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// sendOnceItems sends the send-once requests in the plan's order, in batches. It claims a batch, then sends it:
// each claim is durable before its request starts, and a run that dies leaves no more unknown requests
// than it had in flight (docs/design.md A3).
func (r *run) sendOnceItems(ctx context.Context) {
	var recording sync.WaitGroup
	defer recording.Wait()
	var batch []int
	for i := range r.items {
		if k, _ := kind.FindKind(r.items[i].Kind); !k.IsRequestOnly() {
			continue
		}
		if r.items[i].Op != plan.Post {
			r.outcomes[i] = r.newItemRun(i).applyItem(ctx)
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

func (o SendOptions) batchSize() int { return max(1, min(o.Batch, o.Parallelism)) }

// sendBatch claims requests, sends them, and starts to record their outcomes. With a slow
// store the next batch's claims may run while these are recorded, but not its sends.
func (r *run) sendBatch(ctx context.Context, batch []int, recording *sync.WaitGroup) {
	sends := r.claimBatch(ctx, batch)
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
				r.outcomes[i] = s.runItem(record)
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
func (s *sendOnceRequest) sendClaimed(ctx context.Context) (record func() *ItemOutcome) {
	if end := s.haltedOutcome(ctx); end != nil {
		return func() *ItemOutcome { return s.reportUnrecorded(s.releaseClaim(end.Message), end) }
	}
	a := s.sendUntilKnown(ctx)
	return func() *ItemOutcome {
		end := s.recordEnd(ctx, a)
		if end.Status == Done {
			end.Message = cmp.Or(end.Message, "the platform executes it later")
		}
		return s.reportEnd(end)
	}
}

// claimBatch claims a batch in parallel, so that one write to the store can have several claims. The result
// has nil for a request that must not be sent. It reads the clock of each area once: each send reads it again.
func (r *run) claimBatch(ctx context.Context, batch []int) []*sendOnceRequest {
	sends := make([]*sendOnceRequest, len(batch))
	clocks := map[kind.Area]clockReading{}
	var wg sync.WaitGroup
	for n, i := range batch {
		s := &sendOnceRequest{itemRun: r.newItemRun(i)}
		blocked := cmp.Or(s.blockedOutcome(ctx), s.deferForPurgeLimit())
		if blocked == nil {
			s.reportPhase("start", "")
			if _, ok := clocks[s.kind.Area]; !ok {
				clocks[s.kind.Area] = r.readClock(ctx, s.kind)
			}
		}
		at := clocks[s.kind.Area]
		wg.Go(func() {
			r.outcomes[i] = s.runItem(func() *ItemOutcome {
				if blocked != nil {
					return blocked
				}
				if end := s.claimRequest(ctx, at); end != nil {
					return end
				}
				sends[n] = s
				return doneOutcome("")
			})
		})
	}
	wg.Wait()
	return sends
}

// createOnce creates an object that must not be created twice, under a claim
// like that of a request (docs/design.md 0.5).
func (w *itemRun) createOnce(ctx context.Context) *ItemOutcome {
	for _, name := range []string{w.item.RemoteName, w.item.Name} {
		if name == "" {
			continue
		}
		if _, end := w.checkAbsent(ctx, name); end != nil {
			w.noteResult(end.cause)
			return w.deferIfClaimed(ctx, end)
		}
	}
	s, at := &sendOnceRequest{itemRun: w}, w.readClock(ctx, w.kind)
	s.before = w.listSimilar(ctx, at)
	if end := s.claimRequest(ctx, at); end != nil {
		return end
	}
	a := s.sendUntilKnown(ctx)
	// Record, then verify: if the run dies in between, the outcome is known.
	if end := s.recordEnd(ctx, a); end.Status != Done {
		return end
	}
	name := cmp.Or(a.obj.Name, w.item.Name)
	w.reportPhase("verify", "")
	got := w.readBack(ctx, name, w.createdWrite())
	switch {
	case got.interrupted && !got.kept:
		return unverifiedOutcome(ctx, "it was created")
	case got.obj == nil:
		return unreadableOutcome(got.err)
	case got.obj.Terminating:
		return failedOutcome(Partial, "it was created, and is being deleted", "")
	case !got.kept:
		return w.writeOutcome(w.createdWrite(), *got.obj, got.readbackCheck)
	}
	return w.waitUntilReady(ctx, name, *got.obj)
}

// waitUntilReady returns an outcome that says whether a new object is ready. It waits for that if the user asked.
func (w *itemRun) waitUntilReady(ctx context.Context, name string, obj kind.LiveObject) *ItemOutcome {
	first := true
	return w.pollUntil(ctx, "created", "ready", func(ctx context.Context) *ItemOutcome {
		if !first {
			if next, err := w.Writer.Get(ctx, w.kind, name); err == nil {
				obj = next
			}
		}
		first = false
		ready, failure := w.kind.IsReady(obj.Status)
		switch {
		case failure != "":
			return failedOutcome(Partial, "the server created it and says: "+failure, "")
		case ready:
			return doneOutcome("ready")
		case w.Options.Wait == 0:
			return doneOutcome("not ready yet (--wait waits)")
		}
		return nil
	})
}

// listSimilar lists the live objects that look like the one to create; nil if the
// platform's list is incomplete.
func (w *itemRun) listSimilar(ctx context.Context, at clockReading) *ledger.Listing {
	if at.err != nil {
		return nil
	}
	found, spec := ledger.Listing{At: at.now.Now}, canon.MustDecode(w.spec)
	info, err := w.Writer.List(ctx, w.kind, func(o kind.LiveObject) error {
		if o.Spec == nil || merge.LiveCovers(w.Rules(w.kind), spec, canon.MustDecode(o.Spec)) {
			found.Objects = append(found.Objects, ledger.ObjectID{Name: o.Name, UID: o.UID})
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
	at.err = r.catchPanic(kind.Key{Kind: k.Name}, func() (err error) {
		at.now, err = r.Clock(ctx, k)
		return err
	})
	if at.err != nil {
		r.noteResult(at.err)
	}
	return at
}

func (s *sendOnceRequest) claimRequest(ctx context.Context, at clockReading) *ItemOutcome {
	if s.Journal == nil {
		return failedOutcome(NeedsPerson, "nothing was sent, because requests that are sent once need the ledger", "run trueup doctor to check the ledger")
	}
	if at.err != nil {
		return unsentOutcome(ctx, fmt.Errorf("nothing was sent: the platform's time: %w", at.err))
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
		return s.deferToOtherRun()
	case err != nil:
		return ledgerErrorOutcome(err)
	}
	s.certain = !s.hold.EarlierUnknown
	return nil
}

// deferToOtherRun ends an item that another run has claimed, and says which run.
func (w *itemRun) deferToOtherRun() *ItemOutcome {
	end := &ItemOutcome{Status: InFlight, Verdict: Partial, Message: "another run has claimed it", Fix: "run apply again"}
	var records map[kind.Key]ledger.Record
	err := w.catchPanic(w.item.Key, func() (err error) {
		records, err = w.Journal.ReadRecords(w.ledgerCtx, []kind.Key{w.item.Key})
		return err
	})
	switch rec := records[w.item.Key]; {
	case err != nil:
		end.Message += ", and the ledger could not be read again: " + err.Error()
	case rec.State == ledger.Claimed && !rec.Left:
		end.Message, end.Fix = ledger.ExplainInFlight(rec)
	default:
		now, _ := ledger.ExplainRecord(rec)
		end.Message += " meanwhile: " + now
	}
	return end
}

// waitForOtherRuns waits for requests that other runs are sending, for a few seconds in all. What they posted as git has it is
// done.
func (r *run) waitForOtherRuns(ctx context.Context) {
	waiting := map[kind.Key]*ItemOutcome{}
	for i := range r.outcomes {
		if end := &r.outcomes[i]; end.Status == InFlight && r.Journal != nil {
			waiting[end.Key] = end
		}
	}
	for _, pause := range []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second} {
		if len(waiting) == 0 || pause > 0 && r.Sleep(ctx, pause) != nil {
			return
		}
		_ = r.catchPanic(kind.Key{}, func() error { // what can't be read stays in flight
			records, err := r.Journal.ReadRecords(r.ledgerCtx, slices.Collect(maps.Keys(waiting)))
			for key, rec := range records {
				if r.isPosted(rec) {
					said, _ := ledger.ExplainRecord(rec)
					*waiting[key] = ItemOutcome{Key: key, Status: Done, Did: Unchanged, Verdict: OK, Message: "another run posted it: " + said}
				}
				if rec.State != ledger.Claimed || rec.Left {
					delete(waiting, key)
				}
			}
			return err
		})
	}
}

// isPosted reports whether the spec that git has was posted.
func (r *run) isPosted(rec ledger.Record) bool {
	k, _ := kind.FindKind(rec.Kind)
	return rec.State == ledger.Posted && rec.SpecDigest != nil && *rec.SpecDigest == plan.SpecDigest(k, r.Spec(rec.Key))
}

// deferIfClaimed leaves an object that appeared since the plan to the run that claimed it, if any.
func (w *itemRun) deferIfClaimed(ctx context.Context, end *ItemOutcome) *ItemOutcome {
	if end.Verdict != Stale || w.Journal == nil {
		return end
	}
	records, err := w.Journal.ReadRecords(ctx, []kind.Key{w.item.Key})
	if state := records[w.item.Key].State; err == nil && (state == ledger.Claimed || state == ledger.Posted) {
		return w.deferToOtherRun()
	}
	return end
}
