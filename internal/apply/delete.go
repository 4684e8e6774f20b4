package apply

import (
	"cmp"
	"context"
	"errors"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// deleteAll deletes what the plan says, one after the other, and only while
// everything before ended well (docs/design.md C3).
func (r *run) deleteAll(ctx context.Context) {
	for i := range r.items {
		if it := &r.items[i]; it.Op == plan.Delete {
			d := &deletion{work: r.work(i), name: cmp.Or(it.RemoteName, it.Name)}
			r.outcomes[i] = d.finish(func() *Outcome { return d.all(ctx) })
			r.countDone()
		}
	}
}

// deletion is the deletion of one object, over its tries.
type deletion struct {
	*work
	name string
	fate deleted
}

// deleted is what is known of an object that was to be deleted.
type deleted int

const (
	// deleteNotSent: the object certainly still exists. deleteUnknown: it may be gone.
	// deletePending: the platform is deleting it. deleteConfirmed: it is gone.
	deleteNotSent deleted = iota
	deleteUnknown
	deletePending
	deleteConfirmed
)

func (d *deletion) all(ctx context.Context) *Outcome {
	if end := cmp.Or(d.halted(ctx), d.behind()); end != nil {
		return end
	}
	d.report("start", "")
	end := d.begin()
	if end == nil {
		for end == nil {
			end = d.try(ctx)
		}
		end = d.record(end)
	}
	if d.fate == deletePending && d.Options.Wait && end.Verdict == OK {
		end = d.awaitGone(ctx)
	}
	d.noteResult(end.cause)
	return d.over(end)
}

// behind says what before the deletions did not end well.
func (r *run) behind() *Outcome {
	for _, o := range r.outcomes {
		if o.Verdict != "" && o.Verdict != OK {
			return skipped(Partial, "deletions come last, and "+o.String()+" failed")
		}
	}
	return nil
}

// begin makes the intent durable.
func (d *deletion) begin() *Outcome {
	if d.Journal == nil {
		return failed(NeedsPerson, "nothing was sent, because a deletion needs the ledger", "")
	}
	err := d.Journal.Deleting(d.books, d.item.Key, d.item.Live.UID, d.item.Made)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrConflict):
		return stale("another run changed its record after the plan was made")
	}
	return failed(NeedsPerson, "nothing was sent: "+err.Error(), "")
}

// try looks, sends once, and looks again.
func (d *deletion) try(ctx context.Context) *Outcome {
	end := d.turn(ctx)
	if end == nil {
		end = cmp.Or(d.same(ctx), late(ctx))
	}
	if end != nil {
		return end
	}
	err := d.send(func() error { return d.Writer.Delete(d.net, d.kind, d.name) })
	if deleteMayHaveSucceeded(err) {
		d.doubt = err
	}
	switch {
	case transient(err) && d.retry(ctx, err):
		return nil
	case err == nil || d.doubt != nil:
		return d.verify(ctx, err)
	}
	return broke(ctx, err, "")
}

// deleteMayHaveSucceeded reports whether a DELETE that failed so may have been carried out, or was
// not needed any more.
func deleteMayHaveSucceeded(err error) bool {
	return err != nil && !notSent(err) && (uncertain(err) || notFound(err))
}

// same makes sure right before a DELETE that live is the very object that was planned
// to go, and that nobody wants it kept.
func (d *deletion) same(ctx context.Context) *Outcome {
	obj, err := d.Writer.Get(ctx, d.kind, d.name)
	if d.doubt != nil {
		if end := d.tookEffect(obj, err); end != nil {
			return end
		}
	}
	switch {
	case notFound(err):
		return done("it was already gone; nothing was sent")
	case err != nil:
		return broke(ctx, err, "")
	case !d.is(obj):
		return stale("live is now another object of that name")
	case obj.Terminating:
		return stale("another client is deleting it")
	case obj.Keep:
		return stale("live is marked " + kind.KeepAnnotation + " now")
	}
	return nil
}

// tookEffect ends an item if a look shows that the object is gone, or is being deleted.
func (d *deletion) tookEffect(obj kind.Object, err error) *Outcome {
	switch {
	case notFound(err), err == nil && !d.is(obj):
		d.fate = deleteConfirmed
		return done("deleted")
	case err == nil && obj.Terminating:
		d.fate = deletePending
		return done("accepted; it is being deleted (--wait waits)")
	}
	return nil
}

// is reports whether an object is the one in the plan.
func (d *deletion) is(obj kind.Object) bool {
	return obj.UID == d.item.Live.UID && obj.CreationTimestamp == d.item.Made
}

// verify looks whether the object is gone, or on its way; err is why the DELETE may
// not have been carried out.
func (d *deletion) verify(ctx context.Context, err error) *Outcome {
	d.report("verify", "")
	d.fate = deleteUnknown
	var last error
	var end *Outcome
	cut := d.look(ctx, d.name, func(obj kind.Object, err error) bool {
		last, end = err, d.tookEffect(obj, err)
		return end != nil
	})
	switch {
	case end != nil:
		return end
	case cut:
		return unverified(ctx, "its deletion was sent")
	case err != nil:
		return fault(err, "trueup can't tell whether it will be deleted: ", "run apply again, which checks first")
	case last != nil:
		return fault(last, "its deletion was accepted, but trueup can't check it: ", "run plan to see whether it is still there")
	}
	d.fate = deleteNotSent
	return failed(NotConverged, "the server answered that it was deleted, but it is still there",
		"run plan again later; if it is still there, delete it in the web console")
}

// record records how the deletion ended. What may still be carried out stays begun:
// the next run looks.
func (d *deletion) record(end *Outcome) *Outcome {
	switch {
	case d.fate >= deletePending:
		return d.rescue(d.Journal.Deleted(d.books, d.item.Key, end.Message), end)
	case d.fate == deleteUnknown:
	case d.doubt != nil:
		end.Message += "; it may already be deleted: " + d.doubt.Error()
	default:
		end.unrecorded(d.Journal.NotDeleted(d.books, d.item.Key, end.Message))
	}
	return end
}

// awaitGone waits until a deletion that was accepted is complete.
func (d *deletion) awaitGone(ctx context.Context) *Outcome {
	looking, stop := context.WithTimeout(ctx, d.Options.WaitTimeout)
	defer stop()
	wait := waiting{work: d.work, did: "accepted", state: "gone", looking: looking}
	for {
		obj, err := d.Writer.Get(looking, d.kind, d.name)
		if notFound(err) || err == nil && !d.is(obj) {
			return done("deleted")
		}
		if end := wait.pause(ctx); end != nil {
			return end
		}
	}
}
