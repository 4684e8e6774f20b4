package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// endInSync ends an item that is in sync. recordInSync records it later.
func (w *work) endInSync(ctx context.Context, end *Outcome) *Outcome {
	toRecord := w.item.Record && !w.item.Found && w.Journal != nil
	if w.item.Found {
		if end = cmp.Or(endedBefore(ctx, recordingInSync), end); end.Status != Skipped {
			end = w.recordFound(end)
		}
	}
	if w.Options.Wait && w.item.Op == plan.None && w.kind.CreateOnly() && end.Verdict == OK {
		name := cmp.Or(w.item.RemoteName, w.item.Name)
		obj, err := w.Writer.Get(ctx, w.kind, name)
		why, verdict := ended(ctx)
		switch {
		case err == nil:
			end = w.ready(ctx, name, obj)
		case why != "":
			end = failed(verdict, why+" before it was ready", "")
		default:
			end = fault(err, "", "")
		}
	}
	end.toRecord = toRecord
	return end
}

const recordingInSync = "the ledger recorded that live equals git"

// recordFound records that the object of an unknown request is live, unless another run does.
func (w *work) recordFound(end *Outcome) *Outcome {
	made := ledger.Made{RemoteName: cmp.Or(w.item.RemoteName, w.item.Name), UID: w.item.Live.UID}
	err := w.Journal.Found(w.ledgerCtx, w.item.Key, made)
	if errors.Is(err, ledger.ErrConflict) {
		return w.leaveToOther(w.item.Key)
	}
	end.unrecordedLive("it is live", err)
	return end
}

// recordsTogether is how many records recordInSync writes at once. The run can be stopped in between.
const recordsTogether = 500

// recordInSync records the items that are in sync. That comes after the sends of the phase, because
// the next run would find them in sync, too.
func (r *run) recordInSync(ctx context.Context) {
	var all []int
	for i := range r.outcomes {
		if r.outcomes[i].toRecord {
			all = append(all, i)
		}
	}
	for some := range slices.Chunk(all, recordsTogether) {
		late := endedBefore(ctx, recordingInSync)
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
		copy(errs, r.Journal.AppliedAll(r.ledgerCtx, all))
		return nil
	})
	for n, i := range some {
		// On a conflict another run works on the object, and the next run compares it.
		if each := cmp.Or(err, errs[n]); !errors.Is(each, ledger.ErrConflict) {
			r.outcomes[i].unrecordedLive("live equals git", each)
		}
	}
}
