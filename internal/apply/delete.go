package apply

import (
	"cmp"
	"context"
	"errors"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// deleteAll deletes the objects that the plan deletes, one after the other. After a failure it
// sends no more deletions (docs/design.md C3).
func (r *run) deleteAll(ctx context.Context) {
	for i := range r.items {
		if it := &r.items[i]; it.Op == plan.Delete {
			d := &deletion{itemRun: r.newItemRun(i), name: cmp.Or(it.RemoteName, it.Name)}
			r.outcomes[i] = d.runItem(func() *ItemOutcome { return d.deleteWithRetries(ctx) })
			r.countDone()
		}
	}
}

// deletion deletes one object, with retries.
type deletion struct {
	*itemRun
	name  string
	state deletionState
}

type deletionState int

const (
	// deleteNotSent: the object still exists. deleteUnknown: it may be gone.
	// deletePending: the platform is deleting it. deleteConfirmed: it is gone.
	deleteNotSent deletionState = iota
	deleteUnknown
	deletePending
	deleteConfirmed
)

func (d *deletion) deleteWithRetries(ctx context.Context) *ItemOutcome {
	if end := cmp.Or(d.haltedOutcome(ctx), d.earlierFailureOutcome()); end != nil {
		return end
	}
	d.reportPhase("start", "")
	end := d.recordIntent()
	if end == nil {
		for end == nil {
			end = d.tryDelete(ctx)
		}
		end = d.recordOutcome(end)
	}
	if d.state == deletePending && d.Options.Wait > 0 && end.Verdict == OK {
		end = d.pollUntil(ctx, "accepted", "gone", func(ctx context.Context) *ItemOutcome {
			if obj, err := d.Writer.Get(ctx, d.kind, d.name); isNotFound(err) || err == nil && !d.isPlanned(obj) {
				return doneOutcome("")
			}
			return nil
		})
	}
	d.noteResult(end.cause)
	return d.reportEnd(end)
}

// earlierFailureOutcome returns an outcome if any item before this deletion failed.
func (r *run) earlierFailureOutcome() *ItemOutcome {
	for _, o := range r.outcomes {
		if o.Verdict != "" && o.Verdict != OK {
			return skippedOutcome(Partial, "deletions come last, and "+o.String()+" failed")
		}
	}
	return nil
}

// recordIntent records the deletion in the ledger before trueup sends it.
func (d *deletion) recordIntent() *ItemOutcome {
	if d.Journal == nil {
		return failedOutcome(NeedsPerson, "nothing was sent, because a deletion needs the ledger", "run trueup doctor to check the ledger")
	}
	err := d.Journal.RecordDeleting(d.ledgerCtx, d.item.Key, d.item.Live.UID, d.item.Made)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrConflict):
		return staleOutcome("another run changed its record after the plan was made")
	}
	if end := stoppedOutcome(err); end != nil {
		return end
	}
	return failedOutcome(NeedsPerson, "nothing was sent: "+err.Error(), "run plan again and review the deletion")
}

// tryDelete checks the object, sends one DELETE, and checks again. It returns nil to retry.
func (d *deletion) tryDelete(ctx context.Context) *ItemOutcome {
	end := d.waitForRateLimit(ctx)
	if end == nil {
		end = cmp.Or(d.checkTarget(ctx), d.checkNewerApply(), interruptedOutcome(ctx))
	}
	if end != nil {
		return end
	}
	err := d.sendRequest(func() error { return d.Writer.Delete(d.sendCtx, d.kind, d.name) })
	if err != nil && !isNotSent(err) && (isUncertain(err) || isNotFound(err)) {
		d.maybeDone = err
	}
	switch {
	case isTransient(err) && d.waitToRetry(ctx, err):
		return nil
	case err == nil || d.maybeDone != nil:
		return d.verifyGone(ctx, err)
	}
	return unsentOutcome(ctx, err)
}

// checkTarget makes sure right before a DELETE that live is still the planned object, and that
// nobody has marked it to be kept.
func (d *deletion) checkTarget(ctx context.Context) *ItemOutcome {
	obj, err := d.Writer.Get(ctx, d.kind, d.name)
	if d.maybeDone != nil {
		if end := d.outcomeIfGone(obj, err); end != nil {
			return end
		}
	}
	switch {
	case isNotFound(err):
		return doneOutcome("it was already gone; nothing was sent")
	case err != nil:
		return unsentOutcome(ctx, err)
	case !d.isPlanned(obj):
		return staleOutcome("live is now another object of that name")
	case obj.Terminating:
		return staleOutcome("another client is deleting it")
	case obj.Keep:
		return staleOutcome("live is marked " + kind.KeepAnnotation + " now")
	}
	return nil
}

// outcomeIfGone returns an outcome if the object is gone or terminating.
func (d *deletion) outcomeIfGone(obj kind.LiveObject, err error) *ItemOutcome {
	switch {
	case isNotFound(err), err == nil && !d.isPlanned(obj):
		d.state = deleteConfirmed
		return doneOutcome("")
	case err == nil && obj.Terminating:
		d.state = deletePending
		end := doneOutcome("accepted (--wait waits until it is gone)")
		end.Did = Deleting
		return end
	}
	return nil
}

// isPlanned reports whether an object is the one in the plan, not a new one with the same name.
func (d *deletion) isPlanned(obj kind.LiveObject) bool {
	return obj.UID == d.item.Live.UID && obj.CreationTimestamp == d.item.Made
}

// verifyGone reads the object until it is gone or terminating; err is that of the DELETE.
func (d *deletion) verifyGone(ctx context.Context, err error) *ItemOutcome {
	d.reportPhase("verify", "")
	d.state = deleteUnknown
	var last error
	var end *ItemOutcome
	interrupted := d.readUntil(ctx, d.name, func(obj kind.LiveObject, err error) bool {
		last, end = err, d.outcomeIfGone(obj, err)
		return end != nil
	})
	switch {
	case end != nil:
		return end
	case interrupted:
		return unverifiedOutcome(ctx, "its deletion was sent")
	case err != nil:
		return errorOutcome(err, "trueup can't tell whether it will be deleted: ", "run apply again, which checks first")
	case last != nil:
		return errorOutcome(last, "its deletion was accepted, but trueup can't check it: ", "run plan to see whether it is still there")
	}
	d.state = deleteNotSent
	return failedOutcome(NotConverged, "the server answered that it was deleted, but it is still there",
		"run plan again later; if it is still there, delete it in the web console")
}

// recordOutcome records the outcome in the ledger. If it is unknown, the intent stays, and the next run checks it.
func (d *deletion) recordOutcome(end *ItemOutcome) *ItemOutcome {
	switch {
	case d.state >= deletePending:
		return d.reportUnrecorded(d.Journal.RecordOutcome(d.ledgerCtx, d.item.Key, ledger.Outcome{How: ledger.Removed, Message: ledger.QuoteMessage(cmp.Or(end.Message, "deleted"))}), end)
	case d.state == deleteUnknown:
	case d.maybeDone != nil:
		end.Message += "; it may already be deleted: " + d.maybeDone.Error()
	default:
		end.addLedgerError(d.Journal.RecordNotDeleted(d.ledgerCtx, d.item.Key, end.Message))
	}
	return end
}
