package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// settled ends an item that is in sync. What the ledger is to learn of that
// it is told by recordSettled.
func (r *run) settled(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	switch {
	case it.Found:
		if !end.unheard(ctx) {
			r.found(it, end)
		}
	case it.Record && r.Journal != nil:
		end.toRecord = true
	}
	if r.Options.Wait && it.Op == plan.None && k.CreateOnly() && end.Verdict == OK {
		r.await(ctx, k, it, end)
	}
}

// recordsTogether is how many records are written at once: between those the run
// can be stopped.
const recordsTogether = 500

// recordSettled tells the ledger of the items that were found to be in sync.
// They come after what is sent, for the next run sees them as well.
func (r *run) recordSettled(ctx context.Context, p *plan.Plan) {
	var all []int
	for i := range r.outcomes {
		if r.outcomes[i].toRecord {
			all = append(all, i)
		}
	}
	for some := range slices.Chunk(all, recordsTogether) {
		heard := slices.DeleteFunc(slices.Clone(some), func(i int) bool { return r.outcomes[i].unheard(ctx) })
		if len(heard) > 0 {
			r.recordTogether(p, heard)
		}
		for _, i := range some {
			r.outcomes[i].toRecord = false
			r.tell()
		}
	}
}

func (r *run) recordTogether(p *plan.Plan, some []int) {
	all := make([]ledger.Confirmed, len(some))
	for n, i := range some {
		it := p.Items[i]
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
		if err != nil {
			errs[n] = err
		}
		if errors.Is(errs[n], ledger.ErrConflict) {
			errs[n] = nil // another run is at it; what it leaves is compared by the next one
		}
		r.outcomes[i].untold("live equals git", errs[n])
	}
}

// found records that the object of a request without an answer is live. Another
// run may do so at the same time.
func (r *run) found(it plan.Item, end *Outcome) {
	made := ledger.Made{RemoteName: cmp.Or(it.RemoteName, it.Name), UID: it.Live.UID}
	err := r.Journal.Found(r.books, it.Key, made)
	if errors.Is(err, ledger.ErrConflict) {
		r.yield(end)
		return
	}
	end.untold("it is live", err)
}

// unheard ends an item that the end of the run came upon before the ledger was
// told of it.
func (o *Outcome) unheard(ctx context.Context) bool {
	return o.overtaken(ctx, "the ledger recorded that live equals git")
}

// untold ends an item of which the ledger was to learn what live shows. The next
// run sees it as well.
func (o *Outcome) untold(what string, err error) {
	switch {
	case err == nil:
	case o.Verdict != OK:
		o.butUntold(err)
	default:
		o.fail(Partial, what+", but the ledger could not record it: "+err.Error())
		o.Fix = "run apply again"
	}
}
