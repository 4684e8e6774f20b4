package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// Deletions keeps what is deleted: each method is durable when it returns.
type Deletions interface {
	// Deleting must succeed before anything is sent: it refuses an object that no
	// request of the ledger made, and a record that changed since the plan.
	Deleting(ctx context.Context, key kind.Key, uid, created string) error
	Deleted(ctx context.Context, key kind.Key, message string) error
	NotDeleted(ctx context.Context, key kind.Key, message string) error
}

// removal is the deletion of one object, over its tries.
type removal struct {
	kind   *kind.Kind
	item   plan.Item
	name   string
	pauses *pauses
	// begun says that the ledger knows of it, doubt why a try before this one may
	// have been carried out.
	begun bool
	doubt error
	// fate is what is known of the object in the end.
	fate removed
}

// removed is what became of an object that was to be deleted.
type removed int

const (
	// deleteNotSent: the object is certainly still there. deleteUnknown: nobody saw it go.
	// deletePending: the platform is deleting it. deleteConfirmed: it is gone.
	deleteNotSent removed = iota
	deleteUnknown
	deletePending
	deleteConfirmed
)

// deleteAll deletes what the plan says, one after the other, and only while
// everything before ended well (docs/design.md C3).
func (r *run) deleteAll(ctx context.Context, p *plan.Plan) {
	for i, it := range p.Items {
		if it.Op == plan.Delete {
			r.outcomes[i] = r.deletion(ctx, it)
			r.tell()
		}
	}
}

// deletion brings one deletion to its end.
func (r *run) deletion(ctx context.Context, it plan.Item) (end Outcome) {
	end = Outcome{Key: it.Key, Status: Done, Verdict: OK}
	defer r.survive(&end)
	why, verdict := r.halted(ctx)
	if why == "" {
		why, verdict = r.behind()
	}
	if why != "" {
		end.Status, end.Verdict, end.Message = Skipped, verdict, why
		return end
	}
	r.Report(Event{Key: it.Key, Phase: "start"})
	k, _ := kind.Named(it.Kind)
	d := &removal{kind: k, item: it, name: cmp.Or(it.RemoteName, it.Name), pauses: r.pauses()}
	if r.beginDeleting(d, &end) {
		for r.tryDelete(ctx, d, &end) {
		}
		r.tellDeleted(d, &end)
	}
	if d.fate == deletePending && r.Options.Wait && end.Verdict == OK {
		r.awaitGone(ctx, d, &end)
	}
	r.noteResult(end.cause)
	r.over(&end)
	return end
}

// behind says what before the deletions did not end well, or nothing.
func (r *run) behind() (string, Verdict) {
	for _, o := range r.outcomes {
		if o.Verdict != "" && o.Verdict != OK {
			return "deletions come last, and " + o.String() + " failed", Partial
		}
	}
	return "", OK
}

// beginDeleting makes the intent durable; false means that nothing may be sent.
func (r *run) beginDeleting(d *removal, end *Outcome) bool {
	if r.Journal == nil {
		end.fail(NeedsPerson, "nothing was sent, because a deletion needs the ledger")
		return false
	}
	err := r.Journal.Deleting(r.books, d.item.Key, d.item.Live.UID, d.item.Made)
	switch {
	case err == nil:
		d.begun = true
	case errors.Is(err, ledger.ErrConflict):
		end.stale("another run changed its record after the plan was made")
	default:
		end.fail(NeedsPerson, "nothing was sent: "+err.Error())
	}
	return d.begun
}

// tryDelete looks, sends once, and looks again.
func (r *run) tryDelete(ctx context.Context, d *removal, end *Outcome) (again bool) {
	if !r.turn(ctx, d.kind, end) || !r.sameStill(ctx, d, end) || end.late(ctx) {
		return false
	}
	err := r.Writer.Delete(r.net, d.kind, d.name)
	r.sent(d.item, err, end)
	if deleteMayHaveSucceeded(err) {
		d.doubt = err
	}
	if transient(err) && d.pauses.left(err) && r.rest(ctx, d.item.Key, d.pauses.after(err), err) {
		return true
	}
	if err == nil || d.doubt != nil {
		r.verifyDeleted(ctx, d, err, end)
	} else {
		end.broke(ctx, err, err.Error())
	}
	return false
}

// deleteMayHaveSucceeded reports whether a DELETE that failed so may have been carried out, or was
// not needed any more.
func deleteMayHaveSucceeded(err error) bool {
	return err != nil && !notSent(err) && (uncertain(err) || notFound(err))
}

// sameStill makes sure right before a DELETE that live is the very object that
// was planned to go, and that nobody wants it kept; false means that it ended the
// item.
func (r *run) sameStill(ctx context.Context, d *removal, end *Outcome) bool {
	obj, err := r.Writer.Get(ctx, d.kind, d.name)
	if d.doubt != nil && d.tookEffect(obj, err, end) {
		return false
	}
	switch {
	case notFound(err):
		end.Message = "it was already gone; nothing was sent"
	case err != nil:
		end.broke(ctx, err, err.Error())
	case !d.is(obj):
		end.stale("live is now another object of that name")
	case obj.Terminating:
		end.stale("another client is deleting it")
	case obj.Keep:
		end.stale("live is marked " + kind.KeepAnnotation + " now")
	default:
		return true
	}
	return false
}

// tookEffect reports whether a look shows that the object is gone, or on its way.
func (d *removal) tookEffect(obj kind.Object, err error, end *Outcome) bool {
	switch {
	case notFound(err), err == nil && !d.is(obj):
		d.seen(deleteConfirmed, end)
	case err == nil && obj.Terminating:
		d.seen(deletePending, end)
	default:
		return false
	}
	return true
}

// is reports whether an object is the one that the plan spoke of.
func (d *removal) is(obj kind.Object) bool {
	return obj.UID == d.item.Live.UID && obj.CreationTimestamp == d.item.Made
}

// seen notes that the object is gone, or on its way.
func (d *removal) seen(fate removed, end *Outcome) {
	d.fate, end.Message = fate, "deleted"
	if fate == deletePending {
		end.Message = "accepted; it is being deleted (--wait waits)"
	}
}

// verifyDeleted looks whether the object is gone, or on its way, four times within
// about ten seconds; err is why the DELETE is not known to have been carried out.
func (r *run) verifyDeleted(ctx context.Context, d *removal, err error, end *Outcome) {
	r.Report(Event{Key: d.item.Key, Phase: "verify"})
	d.fate = deleteUnknown
	var last error
	for _, pause := range looks() {
		if pause > 0 && r.Sleep(ctx, pause) != nil {
			end.unverified(ctx, "its deletion was sent")
			return
		}
		obj, looked := r.Writer.Get(r.net, d.kind, d.name)
		if d.tookEffect(obj, looked, end) {
			return
		}
		last = looked
	}
	switch {
	case err != nil:
		end.fault(err, "trueup can't tell whether it will be deleted: "+err.Error())
		end.Fix = "run apply again, which checks first"
	case last != nil:
		end.fault(last, "its deletion was accepted, but trueup can't check it: "+last.Error())
		end.Fix = "run plan to see whether it is still there"
	default:
		d.fate = deleteNotSent
		end.fail(NotConverged, "the server answered that it was deleted, but it is still there")
		end.Fix = "run plan again later; if it is still there, delete it in the web console"
	}
}

// tellDeleted records what became of the object. What may still be carried out
// stays begun: the next run looks.
func (r *run) tellDeleted(d *removal, end *Outcome) {
	switch {
	case d.fate >= deletePending:
		r.unrecorded(r.Journal.Deleted(r.books, d.item.Key, end.Message), end)
	case d.fate == deleteUnknown:
	case d.doubt != nil:
		end.Message += "; it may already be deleted: " + d.doubt.Error()
	default:
		if err := r.Journal.NotDeleted(r.books, d.item.Key, end.Message); err != nil {
			end.butUntold(err)
		}
	}
}

// awaitGone waits until a deletion that was accepted has come to its end.
func (r *run) awaitGone(ctx context.Context, d *removal, end *Outcome) {
	looking, stop := context.WithTimeout(ctx, r.Options.WaitTimeout)
	defer stop()
	for waited := time.Duration(0); ; waited += pollEvery {
		obj, err := r.Writer.Get(looking, d.kind, d.name)
		switch {
		case notFound(err), err == nil && !d.is(obj):
			end.Message = "deleted"
			return
		case waited >= r.Options.WaitTimeout, isOver(looking, ctx):
			end.fail(Partial, fmt.Sprintf("accepted, but not gone within %s", r.Options.WaitTimeout))
			end.Fix = "it may still be deleted: check with plan"
			return
		}
		r.Report(Event{Key: end.Key, Phase: "wait", Message: fmt.Sprintf("not gone after %s", waited)})
		if r.Sleep(ctx, pollEvery) != nil {
			why, verdict := ended(ctx)
			end.fail(verdict, "accepted; "+why+" while it was not gone yet")
			return
		}
	}
}
