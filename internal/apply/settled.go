package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// settled ends an item that is in sync; recordSettled records that.
func (w *work) settled(ctx context.Context, end *Outcome) *Outcome {
	toRecord := w.item.Record && !w.item.Found && w.Journal != nil
	if w.item.Found {
		if end = cmp.Or(unheard(ctx), end); end.Status != Skipped {
			end = w.found(end)
		}
	}
	if w.Options.Wait && w.item.Op == plan.None && w.kind.CreateOnly() && end.Verdict == OK {
		end = w.await(ctx)
	}
	end.toRecord = toRecord
	return end
}

// await waits until what an earlier run made is ready.
func (w *work) await(ctx context.Context) *Outcome {
	name := cmp.Or(w.item.RemoteName, w.item.Name)
	obj, err := w.Writer.Get(ctx, w.kind, name)
	if err == nil {
		return w.ready(ctx, name, obj)
	}
	if why, verdict := ended(ctx); why != "" {
		return failed(verdict, why+" before it was ready", "")
	}
	return fault(err, "", "")
}

// found records that the object of a request without an answer is live. Another
// run may do so at the same time.
func (w *work) found(end *Outcome) *Outcome {
	made := ledger.Made{RemoteName: cmp.Or(w.item.RemoteName, w.item.Name), UID: w.item.Live.UID}
	err := w.Journal.Found(w.books, w.item.Key, made)
	if errors.Is(err, ledger.ErrConflict) {
		return w.yield(w.item.Key)
	}
	end.unlearned("it is live", err)
	return end
}

// recordsTogether is how many records are written at once: between those the run can be stopped.
const recordsTogether = 500

// recordSettled records the items that are in sync, after everything was sent: the next
// run would see them too.
func (r *run) recordSettled(ctx context.Context) {
	var all []int
	for i := range r.outcomes {
		if r.outcomes[i].toRecord {
			all = append(all, i)
		}
	}
	for some := range slices.Chunk(all, recordsTogether) {
		late := unheard(ctx)
		if late == nil {
			r.recordTogether(some)
		}
		for _, i := range some {
			o := &r.outcomes[i]
			if late != nil {
				o.Status, o.Verdict, o.Message = late.Status, late.Verdict, late.Message
			}
			o.toRecord = false
			r.countDone()
		}
	}
}

func (r *run) recordTogether(some []int) {
	all := make([]ledger.Confirmed, len(some))
	for n, i := range some {
		it := &r.items[i]
		all[n] = ledger.Confirmed{
			Key:         it.Key,
			AppliedSpec: ledger.AppliedSpec{Spec: r.Spec(it.Key), Converged: !it.Refused(), UID: it.Live.UID},
		}
	}
	errs := make([]error, len(some))
	err := r.safely(all[0].Key, func() error {
		copy(errs, r.Journal.AppliedAll(r.books, all))
		return nil
	})
	for n, i := range some {
		// Another run may be at it; what that leaves is compared by the next one.
		if each := cmp.Or(err, errs[n]); !errors.Is(each, ledger.ErrConflict) {
			r.outcomes[i].unlearned("live equals git", each)
		}
	}
}
