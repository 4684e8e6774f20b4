package apply

import (
	"cmp"
	"context"
	"fmt"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// maxConflicts limits the tries of a PATCH whose resourceVersion the server refuses: the object
// changed, or the server accepts none.
const maxConflicts = 3

// applyConverging creates or patches an object until live equals git.
func (w *itemRun) applyConverging(ctx context.Context) (end *ItemOutcome) {
	try := w.tryCreate
	if w.item.Op != plan.Create {
		try = w.tryPatch
		// Store the spec before the read: a slow ledger must not delay the write after the read.
		w.releaseSlotWhile(func() { end = w.storePending() })
		if end != nil {
			return end
		}
		if why := w.whyStopped(); why != "" {
			end = skippedOutcome(Partial, why)
		}
	}
	for end == nil {
		end = try(ctx)
	}
	if end.Verdict != OK && w.maybeDone != nil {
		end.Message += "; it may already be written: " + w.maybeDone.Error()
		if end.Verdict != Stale {
			end.Status, end.Fix = Failed, "run apply again, which checks first"
		}
	}
	if end.Status == Failed && w.failed >= maxTries {
		end.Message += fmt.Sprintf(" (gave up after %d tries)", w.failed)
	}
	w.noteResult(end.cause)
	if w.isPending && !w.mayBeWritten {
		w.releaseSlotWhile(func() { end.addLedgerError(w.Journal.DropPending(w.ledgerCtx, w.item.Key)) })
	}
	return end
}

// storePending stores the spec as pending before a write (docs/design.md 0.2).
func (w *itemRun) storePending() *ItemOutcome {
	if w.isPending || w.Journal == nil {
		return nil
	}
	if err := w.Journal.RecordPending(w.ledgerCtx, w.item.Key, w.spec, w.item.Before); err != nil {
		return ledgerErrorOutcome(err)
	}
	w.isPending = true
	return nil
}

// tryCreate sends a POST, after a GET has shown that there is no such object. It returns nil to retry: nothing
// was written, or live shows that a try without an answer created nothing (docs/design.md C4).
func (w *itemRun) tryCreate(ctx context.Context) *ItemOutcome {
	if end := w.waitForRateLimit(ctx); end != nil {
		return end
	}
	switch obj, end := w.checkAbsent(ctx, w.item.Name); {
	case end != nil && end.Verdict == Stale && w.maybeDone != nil:
		return w.existingOutcome(ctx, obj)
	case end != nil:
		return end
	}
	if end := cmp.Or(w.storePending(), w.checkNewerApply(), interruptedOutcome(ctx)); end != nil {
		return end
	}
	return w.postOutcome(ctx, w.sendRequest(func() error {
		_, err := w.Writer.Create(w.sendCtx, w.kind, w.item.Request.Body)
		return err
	}))
}

// postOutcome returns the outcome of a POST, or nil to retry.
func (w *itemRun) postOutcome(ctx context.Context, err error) *ItemOutcome {
	switch {
	case err == nil:
		w.maybeDone = nil
	case isNameTaken(err) || isUncertain(err):
		return w.findCreated(ctx, err)
	case isNotSent(err) && isTransient(err) && w.waitToRetry(ctx, err):
		return nil
	case isNotSent(err):
		return unsentOutcome(ctx, err)
	}
	w.stopIfWorkspaceMissing(err)
	return w.verifyWrite(ctx, w.createdWrite(), err)
}

// checkAbsent checks right before a POST that no object has the name. If one has, it returns the object and
// an outcome.
func (w *itemRun) checkAbsent(ctx context.Context, name string) (kind.LiveObject, *ItemOutcome) {
	obj, err := w.Writer.Get(ctx, w.kind, name)
	switch {
	case isNotFound(err):
		return obj, nil
	case err != nil:
		return obj, unsentOutcome(ctx, err)
	case obj.Terminating:
		return obj, staleOutcome("an object of that name is being deleted")
	}
	return obj, staleOutcome("it appeared after the plan was made")
}

// findCreated reads whether a POST with a 409, or without an answer, created the object. It decides that the
// POST created nothing only if the object is missing twice.
func (w *itemRun) findCreated(ctx context.Context, err error) *ItemOutcome {
	if isUncertain(err) {
		w.maybeDone = nil // err is about this try
	}
	obj, looked := w.readTwice(ctx)
	switch {
	case looked == nil:
		return w.existingOutcome(ctx, obj)
	case isConflict(err) && w.waitToRetry(ctx, err):
		return nil
	case isNameTaken(err):
		return errorOutcome(err, "", "")
	case isNotFound(looked) && api.AsError(err).OtherName.String() != "":
		return renamedOutcome(w.item.Key, api.AsError(err).OtherName.String())
	case isNotFound(looked) && w.sends < maxSends && w.waitToRetry(ctx, err):
		w.maybeDone = err
		return nil
	case isNotFound(looked):
		return unknownOutcome(err, fmt.Sprintf("sent %d times, but live does not show it: ", w.sends))
	}
	return unknownOutcome(err, "")
}

func (w *itemRun) readTwice(ctx context.Context) (kind.LiveObject, error) {
	obj, err := w.Writer.Get(w.sendCtx, w.kind, w.item.Name)
	if isNotFound(err) {
		if err = w.Sleep(ctx, lookAgain); err == nil {
			return w.Writer.Get(w.sendCtx, w.kind, w.item.Name)
		}
	}
	return obj, err
}

// existingOutcome ends an item whose object exists after a try: trueup created it, or it is in sync
// anyway. trueup leaves any other object unchanged.
func (w *itemRun) existingOutcome(ctx context.Context, obj kind.LiveObject) *ItemOutcome {
	w.maybeDone = nil
	made := w.createdWrite()
	if !w.isInSync(obj) {
		if got := w.readBack(ctx, w.item.Name, made); got.obj != nil {
			obj = *got.obj
		}
	}
	if !w.isInSync(obj) {
		return staleOutcome("another run or client created it meanwhile, and it differs from git")
	}
	if !w.mayBeWritten {
		made.did, made.done = Unchanged, "another run or client created it meanwhile, equal to git"
	}
	w.mayBeWritten = true
	return w.recordApplied(made, obj, w.checkWrite(made, obj))
}

// tryPatch sends the merge patch that the plan shows, if live is still what the plan compared. It returns nil
// to retry: after a conflict or a transient failure, the next try reads and compares again (docs/design.md C4).
func (w *itemRun) tryPatch(ctx context.Context) *ItemOutcome {
	obj, now, end := w.readAndReplan(ctx)
	switch {
	case end != nil:
		return w.addEarlierAttempt(end, obj)
	case now.Request == nil:
		return w.inSyncOutcome(now, obj)
	}
	patch, precondition := now.Request.Body, !w.withoutVersion && len(now.Lists) > 0 && obj.ResourceVersion != ""
	if precondition { // the patch sends a list whole (docs/design.md 0.17)
		body := canon.MustDecode(patch).(map[string]any)
		body["metadata"] = map[string]any{"resourceVersion": obj.ResourceVersion}
		patch = canon.Encode(body)
	}
	before := canon.MustDecode(obj.Spec)
	if why := now.FindUnshownChange(patch, before); why != "" {
		return failedOutcome(NeedsPerson, "nothing was sent: "+why, plan.UnshownFix)
	}
	if end := cmp.Or(w.checkNewerApply(), interruptedOutcome(ctx)); end != nil {
		return end
	}
	err := w.sendRequest(func() error {
		_, err := w.Writer.Patch(w.sendCtx, w.kind, w.item.Name, patch)
		return err
	})
	if precondition && refusesVersion(err) {
		return w.recordVersionRefusal(obj, err)
	}
	wrote := objectWrite{now: now, before: before, request: now.BodySpec(), did: Changed, done: changedCountText(*w.item)}
	return w.patchOutcome(ctx, wrote, err)
}

// addEarlierAttempt adds to the outcome what an earlier try without an answer may have made of the object.
func (w *itemRun) addEarlierAttempt(end *ItemOutcome, obj kind.LiveObject) *ItemOutcome {
	if w.maybeWrote == nil || obj.Spec == nil {
		return end
	}
	end.Message = "a try that got no answer may have been executed, and live is not what the plan showed; this try left it unchanged"
	return w.withMismatches(end, w.checkWrite(*w.maybeWrote, obj))
}

// readAndReplan reads the object right before a write, and plans it again: the new plan may do no more
// than the one that was shown (docs/design.md 0.23).
func (w *itemRun) readAndReplan(ctx context.Context) (obj kind.LiveObject, now plan.Item, end *ItemOutcome) {
	if end := w.waitForRateLimit(ctx); end != nil {
		return obj, now, end
	}
	obj, err := w.Writer.Get(ctx, w.kind, w.item.Name)
	switch {
	case isNotFound(err):
		return obj, now, staleOutcome("it was deleted after the plan was made")
	case err != nil:
		return obj, now, unsentOutcome(ctx, err)
	}
	now, err = w.Replan(w.item.Key, &obj)
	switch {
	case err != nil:
		end = staleOutcome("trueup can't plan against what is live now: " + err.Error())
	case !plan.IsCoveredBy(now, *w.item):
		end = staleOutcome(cmp.Or(now.Reason, "live changed after the plan was made"))
	}
	return obj, now, end
}

// inSyncOutcome ends an item that needs no request any more: an earlier try without an answer was executed, or another
// client made the change.
func (w *itemRun) inSyncOutcome(now plan.Item, obj kind.LiveObject) *ItemOutcome {
	wrote := objectWrite{now: now, before: canon.MustDecode(obj.Spec), request: map[string]any{}, did: Unchanged, done: "another client has already made this change"}
	if w.maybeDone != nil && w.maybeWrote != nil {
		wrote = *w.maybeWrote
	}
	w.mayBeWritten, w.maybeDone = true, nil
	return w.recordApplied(wrote, obj, w.checkWrite(wrote, obj))
}

// recordVersionRefusal records that the server refused the resourceVersion. If live still has that version,
// the server accepts none, so the next try omits it.
func (w *itemRun) recordVersionRefusal(obj kind.LiveObject, err error) *ItemOutcome {
	w.withoutVersion = !isConflict(err)
	if !w.withoutVersion {
		now, looked := w.Writer.Get(w.sendCtx, w.kind, w.item.Name)
		w.withoutVersion = looked == nil && now.ResourceVersion == obj.ResourceVersion
	}
	if w.conflicts++; w.conflicts < maxConflicts {
		return nil
	}
	end := errorOutcome(err, "", "run apply again")
	end.Message = "other clients keep changing it: the server answered 409 each time"
	return end
}

// patchOutcome returns the outcome of a PATCH, or nil to retry.
func (w *itemRun) patchOutcome(ctx context.Context, wrote objectWrite, err error) *ItemOutcome {
	switch {
	case isTransient(err) && w.waitToRetry(ctx, err):
		if isUncertain(err) {
			w.maybeDone, w.maybeWrote = err, &wrote
		}
		return nil
	case err != nil && isNotSent(err):
		return unsentOutcome(ctx, err)
	case err == nil || isUncertain(err):
		w.maybeDone = nil // reading back shows it
	}
	return w.verifyWrite(ctx, wrote, err)
}

func changedCountText(it plan.Item) string {
	left, lines := 0, it.Lines()
	for _, l := range lines {
		if l.Left {
			left++
		}
	}
	text := diag.Plural(len(lines)-left, "field", "fields")
	if left > 0 {
		text += fmt.Sprintf(", %d left as another client changed it", left)
	}
	return text
}
