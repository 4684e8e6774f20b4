package apply

import (
	"cmp"
	"context"
	"fmt"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// maxConflicts bounds how often a PATCH is made again because the server
// answered 409: the object moved on, or the server takes no resourceVersion.
const maxConflicts = 3

// tries is the write of one object that converges, over its tries.
type tries struct {
	kind   *kind.Kind
	item   plan.Item
	spec   []byte
	pauses *pauses
	// begun says that the spec is pending in the ledger, arrived that it has to
	// stay so: the server took it, or may have.
	begun, arrived bool
	// doubt is why a try before this one may have been carried out, or nil.
	doubt error
	// sends counts the tries that may have arrived.
	sends int
}

func (r *run) tries(k *kind.Kind, it plan.Item) tries {
	return tries{kind: k, item: it, spec: r.Spec(it.Key), pauses: r.pauses()}
}

// send makes a request, if the ledger knows of it and the run has not ended; ok
// is false where that ended the item.
func (r *run) send(ctx context.Context, t *tries, end *Outcome, request func() error) (ok bool, err error) {
	if !r.begin(t, end) || end.late(ctx) {
		return false, nil
	}
	before := end.Sent
	end.Sent = true // also if it panics
	err = request()
	end.Sent = before
	r.sent(t.item, err, end)
	if err == nil || uncertain(err) {
		t.arrived = true
		t.sends++
	}
	return true, err
}

// retry waits for another try after one that failed for the moment, if there is
// one left and the run goes on.
func (r *run) retry(ctx context.Context, t *tries, err error) bool {
	return t.pauses.left(err) && r.rest(ctx, t.item.Key, t.pauses.after(err), err)
}

// conclude ends a write, and the run where nothing else can succeed. Where every
// try was refused, or never left, the ledger forgets of it.
func (r *run) conclude(t *tries, end *Outcome) {
	if end.Verdict != OK && t.doubt != nil {
		end.Message += "; it may already be written: " + t.doubt.Error()
		if end.Verdict != Stale {
			end.Status, end.Fix = Failed, "run apply again, which checks first"
		}
	}
	if end.Status == Failed && t.pauses.usedUp() {
		end.Message += fmt.Sprintf(" (gave up after %d tries)", t.pauses.failed)
	}
	r.noteResult(end.cause)
	if t.begun && !t.arrived {
		r.aside(func() { r.dropPending(t.item.Key, end) })
	}
}

// turn waits for the rate limit, before the look that a write relies on.
func (r *run) turn(ctx context.Context, k *kind.Kind, end *Outcome) bool {
	if err := r.Writer.Turn(ctx, k); err != nil {
		end.broke(ctx, err, err.Error())
		return false
	}
	return true
}

// sent notes that a request left, if it did.
func (r *run) sent(it plan.Item, err error, end *Outcome) {
	if err != nil && notSent(err) {
		return
	}
	end.Sent = true
	r.Report(Event{Key: it.Key, Phase: "sent", Message: it.Request.Method + " " + it.Request.Path})
}

// stale ends an item whose object is not what the plan spoke of.
func (o *Outcome) stale(why string) {
	o.Status, o.Verdict, o.Message = Skipped, Stale, why+"; trueup left it unchanged"
	o.Fix = "run plan again and review what differs now"
}

// begin stores the spec as pending before a write (docs/design.md 0.2).
func (r *run) begin(t *tries, end *Outcome) bool {
	if !t.begun && r.Journal != nil {
		if err := r.Journal.Pending(r.books, t.item.Key, t.spec); err != nil {
			end.unclaimed(err)
			return false
		}
	}
	t.begun = true
	return true
}

// dropPending tells the ledger that every write since begin was refused.
func (r *run) dropPending(key kind.Key, end *Outcome) {
	if r.Journal == nil {
		return
	}
	if err := r.Journal.DropPending(r.books, key); err != nil {
		end.butUntold(err)
	}
}

// butUntold adds that the ledger does not know how an item ended.
func (o *Outcome) butUntold(err error) {
	o.Message += " (and the ledger could not record it: " + err.Error() + ")"
}

// patching is the PATCH of one object.
type patching struct {
	tries
	// bare says that the server takes no version as a precondition.
	bare bool
	// conflicts counts the versions that were refused.
	conflicts int
}

// patch sends the merge patch that the plan shows, if live is still what the
// plan compared; after a conflict, and after a try that failed for the moment,
// it looks and compares again (docs/design.md C4).
func (r *run) patch(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	p := &patching{tries: r.tries(k, it)}
	// Before the look, so that a slow ledger does not stand between that and the
	// write.
	r.aside(func() { r.begin(&p.tries, end) })
	if !p.begun {
		return
	}
	if why := r.whyStopped(); why != "" {
		end.Status, end.Verdict, end.Message = Skipped, Partial, why
	} else {
		for r.tryPatch(ctx, p, end) {
		}
	}
	r.conclude(&p.tries, end)
}

// tryPatch reads, compares and sends once.
func (r *run) tryPatch(ctx context.Context, p *patching, end *Outcome) (again bool) {
	obj, now, ok := r.fresh(ctx, p.kind, p.item, end)
	switch {
	case !ok:
		return false
	case now.Request == nil:
		r.reached(p, now, obj, end)
		return false
	}
	precondition := !p.bare && len(now.Lists) > 0 && obj.ResourceVersion != ""
	patch := body(now, obj, precondition)
	if why := now.Unshown(patch, canon.MustDecode(obj.Spec)); why != "" {
		end.fail(NeedsPerson, "nothing was sent: "+why)
		end.Fix = plan.UnshownFix
		return false
	}
	ok, err := r.send(ctx, &p.tries, end, func() error {
		_, err := r.Writer.Patch(r.net, p.kind, p.item.Name, patch)
		return err
	})
	switch {
	case !ok:
		return false
	case precondition && refusesVersion(err):
		return r.refused(p, obj, err, end)
	}
	return r.answered(ctx, p, now, err, end)
}

// answered ends the item, or has it tried again.
func (r *run) answered(ctx context.Context, p *patching, now plan.Item, err error, end *Outcome) (again bool) {
	switch {
	case transient(err) && r.retry(ctx, &p.tries, err):
		if uncertain(err) {
			p.doubt = err
		}
		return true
	case err != nil && notSent(err):
		end.broke(ctx, err, err.Error())
		return false
	}
	if err == nil || uncertain(err) {
		p.doubt = nil // reading back tells
	}
	r.settle(ctx, write{
		kind: p.kind, key: p.item.Key, spec: p.spec, sent: sentSpec(now), keeps: len(now.Preserved) > 0,
		leaves: now.Leaves(), refused: now.Refused(), done: changed(p.item),
	}, err, end)
	return false
}

// changed says how much was done.
func changed(it plan.Item) string {
	left := 0
	for _, c := range it.Changes {
		if c.Left {
			left++
		}
	}
	text := fmt.Sprintf("%d changed", len(it.Changes)-left)
	if left > 0 {
		text += fmt.Sprintf(", %d left as another client changed it", left)
	}
	return text
}

// reached ends an item of which live is in sync by the time of a try.
func (r *run) reached(p *patching, now plan.Item, obj kind.Object, end *Outcome) {
	end.Message = "another client has already made this change"
	if p.doubt != nil {
		end.Message = changed(p.item)
	}
	p.arrived, p.doubt = true, nil
	w := write{kind: p.kind, key: p.item.Key, spec: p.spec, sent: p.spec, leaves: now.Leaves(), refused: now.Refused()}
	if w.leaves {
		w.sent = []byte("{}")
	}
	r.applied(w, obj, end)
}

// refused notes that the server refused the version that was compared.
func (r *run) refused(p *patching, obj kind.Object, err error, end *Outcome) (again bool) {
	p.bare = !conflict(err) || r.sameVersion(p.kind, p.item.Name, obj.ResourceVersion)
	if p.conflicts++; p.conflicts < maxConflicts {
		return true
	}
	end.fault(err, "other clients keep changing it: the server answered 409 each time")
	end.Fix = "run apply again"
	return false
}

// fresh reads the object right before a write and plans it again; ok is false
// where that ended the item.
func (r *run) fresh(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) (obj kind.Object, now plan.Item, ok bool) {
	if !r.turn(ctx, k, end) {
		return obj, now, false
	}
	obj, err := r.Writer.Get(ctx, k, it.Name)
	switch {
	case err != nil && notFound(err):
		end.stale("it was deleted after the plan was made")
		return obj, now, false
	case err != nil:
		end.broke(ctx, err, err.Error())
		return obj, now, false
	}
	now, ok = r.recheck(it, obj, end)
	return obj, now, ok
}

// sameVersion reports whether live still has the version that the server called
// stale: then it is the precondition that it does not take.
func (r *run) sameVersion(k *kind.Kind, name, version string) bool {
	obj, err := r.Writer.Get(r.net, k, name)
	return err == nil && obj.ResourceVersion == version
}

// body is the planned patch, with the version that was compared as a
// precondition where a list is sent whole (docs/design.md 0.17).
func body(it plan.Item, obj kind.Object, precondition bool) []byte {
	if !precondition {
		return it.Request.Body
	}
	patch := canon.MustDecode(it.Request.Body).(map[string]any)
	patch["metadata"] = map[string]any{"resourceVersion": obj.ResourceVersion}
	return canon.Bytes(patch)
}

// recheck plans the object again against what is live now: the new plan may do
// no more than the one that was shown (docs/design.md 0.23).
func (r *run) recheck(it plan.Item, obj kind.Object, end *Outcome) (plan.Item, bool) {
	now, err := r.Replan(it.Key, &obj)
	switch {
	case err != nil:
		end.stale("trueup can't plan against what is live now: " + err.Error())
	case !plan.Within(now, it):
		end.stale(cmp.Or(now.Reason, "live changed after the plan was made"))
	default:
		return now, true
	}
	return now, false
}
