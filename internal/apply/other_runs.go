package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// leaveToOther leaves an item to the run that claimed it.
func (r *run) leaveToOther(key kind.Key) *Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere = append(r.elsewhere, key)
	return skipped(Partial, "in flight elsewhere")
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

// lookAt reads the records of these items, which other runs claimed.
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

// endByRecord ends an item that another run claimed, by its record.
func (w *work) endByRecord(ctx context.Context, i int, rec ledger.Record) *Outcome {
	end := skipped(Partial, "in flight elsewhere")
	end.Message, end.Fix = ledger.Explain(rec)
	if w.hasOtherSpec(rec) {
		end.Status, end.Verdict, end.Fix = Blocked, NeedsPerson, "give this one another name"
		end.Message += "; that was another spec, and this one was not sent"
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
