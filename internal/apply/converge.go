package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// maxConflicts limits the tries of a PATCH whose resourceVersion the server refuses: the object
// changed, or the server accepts none.
const maxConflicts = 3

// converge creates or patches an object until live equals git.
func (w *work) converge(ctx context.Context) (end *Outcome) {
	try := w.tryCreate
	if w.item.Op != plan.Create {
		try = w.tryPatch
		// Store the spec before the read: a slow ledger must not delay the write after the read.
		w.withoutSlot(func() { end = w.storePending() })
		if end != nil {
			return end
		}
		if why := w.whyStopped(); why != "" {
			end = skipped(Partial, why)
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
		w.withoutSlot(func() { end.unrecorded(w.Journal.DropPending(w.ledgerCtx, w.item.Key)) })
	}
	return end
}

// storePending stores the spec as pending before a write (docs/design.md 0.2).
func (w *work) storePending() *Outcome {
	if w.isPending || w.Journal == nil {
		return nil
	}
	if err := w.Journal.Pending(w.ledgerCtx, w.item.Key, w.spec); err != nil {
		return unclaimed(err)
	}
	w.isPending = true
	return nil
}

// tryCreate sends a POST, after a GET has shown that there is no such object. It returns nil to retry: nothing
// was written, or live shows that a try without an answer created nothing (docs/design.md C4).
func (w *work) tryCreate(ctx context.Context) *Outcome {
	if end := w.waitTurn(ctx); end != nil {
		return end
	}
	switch obj, end := w.absent(ctx, w.item.Name); {
	case end != nil && end.Verdict == Stale && w.maybeDone != nil:
		return w.existsNow(ctx, obj)
	case end != nil:
		return end
	}
	if end := cmp.Or(w.storePending(), late(ctx)); end != nil {
		return end
	}
	return w.afterPost(ctx, w.send(func() error {
		_, err := w.Writer.Create(w.sendCtx, w.kind, w.item.Request.Body)
		return err
	}))
}

// afterPost returns the outcome of a POST, or nil to retry.
func (w *work) afterPost(ctx context.Context, err error) *Outcome {
	switch {
	case err == nil:
		w.maybeDone = nil
	case taken(err) || uncertain(err):
		return w.lookFor(ctx, err)
	case notSent(err) && transient(err) && w.retry(ctx, err):
		return nil
	case notSent(err):
		return failedUnsent(ctx, err, "")
	}
	w.stopIfLost(err)
	return w.settle(ctx, w.created(), err)
}

// absent checks right before a POST that no object has the name. If one has, it returns the object and
// an outcome.
func (w *work) absent(ctx context.Context, name string) (kind.Object, *Outcome) {
	obj, err := w.Writer.Get(ctx, w.kind, name)
	switch {
	case notFound(err):
		return obj, nil
	case err != nil:
		return obj, failedUnsent(ctx, err, "")
	case obj.Terminating:
		return obj, stale("an object of that name is being deleted")
	}
	return obj, stale("it appeared after the plan was made")
}

// lookFor reads whether a POST with a 409, or without an answer, created the object. It decides that the
// POST created nothing only if the object is missing twice.
func (w *work) lookFor(ctx context.Context, err error) *Outcome {
	if uncertain(err) {
		w.maybeDone = nil // err is about this try
	}
	obj, looked := w.lookTwice(ctx)
	switch {
	case looked == nil:
		return w.existsNow(ctx, obj)
	case conflict(err) && w.retry(ctx, err):
		return nil
	case taken(err):
		return fault(err, "", "")
	case notFound(looked) && api.Answer(err).OtherName != "":
		return renamed(w.item.Key, api.Answer(err).OtherName)
	case notFound(looked) && w.sends < maxSends && w.retry(ctx, err):
		w.maybeDone = err
		return nil
	case notFound(looked):
		return unknown(err, fmt.Sprintf("sent %d times, but live does not show it: ", w.sends))
	}
	return unknown(err, "")
}

func (w *work) lookTwice(ctx context.Context) (kind.Object, error) {
	obj, err := w.Writer.Get(w.sendCtx, w.kind, w.item.Name)
	if notFound(err) {
		if err = w.Sleep(ctx, lookAgain); err == nil {
			return w.Writer.Get(w.sendCtx, w.kind, w.item.Name)
		}
	}
	return obj, err
}

// existsNow ends an item whose object exists after a try: trueup created it, or it is in sync
// anyway. trueup leaves any other object unchanged.
func (w *work) existsNow(ctx context.Context, obj kind.Object) *Outcome {
	w.maybeDone = nil
	if !w.hasAll(w.spec, obj) {
		if got := w.readBack(ctx, w.item.Name, w.spec); got.obj != nil {
			obj = *got.obj
		}
	}
	if !w.hasAll(w.spec, obj) {
		return stale("another client created it meanwhile, and it differs from git")
	}
	made := w.created()
	if !w.mayBeWritten {
		made.did, made.done = Unchanged, "another client created it meanwhile, equal to git"
	}
	w.mayBeWritten = true
	return w.applied(made, obj)
}

// tryPatch sends the merge patch that the plan shows, if live is still what the plan compared. It returns nil
// to retry: after a conflict or a transient failure, the next try reads and compares again (docs/design.md C4).
func (w *work) tryPatch(ctx context.Context) *Outcome {
	obj, now, end := w.lookAndPlan(ctx)
	switch {
	case end != nil:
		return end
	case now.Request == nil:
		return w.alreadyInSync(now, obj)
	}
	patch, precondition := now.Request.Body, !w.withoutVersion && len(now.Lists) > 0 && obj.ResourceVersion != ""
	if precondition { // the patch sends a list whole (docs/design.md 0.17)
		body := canon.MustDecode(patch).(map[string]any)
		body["metadata"] = map[string]any{"resourceVersion": obj.ResourceVersion}
		patch = canon.Bytes(body)
	}
	if why := now.Unshown(patch, canon.MustDecode(obj.Spec)); why != "" {
		return failed(NeedsPerson, "nothing was sent: "+why, plan.UnshownFix)
	}
	if end := late(ctx); end != nil {
		return end
	}
	err := w.send(func() error {
		_, err := w.Writer.Patch(w.sendCtx, w.kind, w.item.Name, patch)
		return err
	})
	if precondition && refusesVersion(err) {
		return w.versionRefused(obj, err)
	}
	return w.afterPatch(ctx, now, err)
}

// lookAndPlan reads the object right before a write, and plans it again: the new plan may do no more
// than the one that was shown (docs/design.md 0.23).
func (w *work) lookAndPlan(ctx context.Context) (obj kind.Object, now plan.Item, end *Outcome) {
	if end := w.waitTurn(ctx); end != nil {
		return obj, now, end
	}
	obj, err := w.Writer.Get(ctx, w.kind, w.item.Name)
	switch {
	case notFound(err):
		return obj, now, stale("it was deleted after the plan was made")
	case err != nil:
		return obj, now, failedUnsent(ctx, err, "")
	}
	now, err = w.Replan(w.item.Key, &obj)
	switch {
	case err != nil:
		end = stale("trueup can't plan against what is live now: " + err.Error())
	case !plan.Within(now, *w.item):
		end = stale(cmp.Or(now.Reason, "live changed after the plan was made"))
	}
	return obj, now, end
}

func (w *work) alreadyInSync(now plan.Item, obj kind.Object) *Outcome {
	wrote := write{now: now, sent: w.spec, did: Unchanged, done: "another client has already made this change"}
	if w.maybeDone != nil {
		wrote.did, wrote.done = Changed, changed(*w.item)
	}
	if now.Leaves() {
		wrote.sent = []byte("{}")
	}
	w.mayBeWritten, w.maybeDone = true, nil
	return w.applied(wrote, obj)
}

// versionRefused records that the server refused the resourceVersion. If live still has that version,
// the server accepts none, so the next try omits it.
func (w *work) versionRefused(obj kind.Object, err error) *Outcome {
	w.withoutVersion = !conflict(err)
	if !w.withoutVersion {
		now, looked := w.Writer.Get(w.sendCtx, w.kind, w.item.Name)
		w.withoutVersion = looked == nil && now.ResourceVersion == obj.ResourceVersion
	}
	if w.conflicts++; w.conflicts < maxConflicts {
		return nil
	}
	end := fault(err, "", "run apply again")
	end.Message = "other clients keep changing it: the server answered 409 each time"
	return end
}

// afterPatch returns the outcome of a PATCH, or nil to retry.
func (w *work) afterPatch(ctx context.Context, now plan.Item, err error) *Outcome {
	switch {
	case transient(err) && w.retry(ctx, err):
		if uncertain(err) {
			w.maybeDone = err
		}
		return nil
	case err != nil && notSent(err):
		return failedUnsent(ctx, err, "")
	case err == nil || uncertain(err):
		w.maybeDone = nil // reading back shows it
	}
	sent := canon.Bytes(canon.MustDecode(now.Request.Body).(map[string]any)["spec"])
	return w.settle(ctx, write{now: now, sent: sent, did: Changed, done: changed(*w.item)}, err)
}

func changed(it plan.Item) string {
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

// write is a write to an object that converges.
type write struct {
	now  plan.Item // the plan that the write carries out
	sent []byte    // the part of the spec that the request changes; a null removes a field
	did  Effect
	done string // the message of success
}

func (w *work) created() write { return write{now: *w.item, sent: w.spec, did: Created} }

// settle reads back what was written, and returns the outcome; err is the error of the write.
func (w *work) settle(ctx context.Context, wrote write, err error) *Outcome {
	if err != nil && !uncertain(err) {
		fix := ""
		if len(wrote.now.Preserved) > 0 {
			fix = "if the server rejects a field that the request repeats from live, omit it in trueup.yaml: overrides: [{kind: " + w.kind.Name + ", path: spec.FIELD, omit: true}]"
		}
		return fault(err, "", fix)
	}
	w.report("verify", "")
	got := w.readBack(ctx, w.item.Name, wrote.sent)
	switch {
	case got.kept:
	case err != nil && got.obj != nil:
		return unknown(err, "live differs from what was sent: ")
	case err != nil:
		return unknown(err, "")
	case got.interrupted:
		return w.record(unverified(ctx, "it was written"), ledger.AppliedSpec{Spec: w.spec})
	case got.obj == nil:
		end := unreadable(got.err)
		if end.Verdict == NotConverged && w.item.Op == plan.Create {
			return end // it does not exist: the spec stays pending
		}
		return w.record(end, ledger.AppliedSpec{Spec: w.spec})
	}
	return w.applied(wrote, *got.obj)
}

// applied records the spec as last-applied, and compares what came back with the manifest
// and with what was sent (docs/design.md 0.17 and B8).
func (w *work) applied(wrote write, got kind.Object) *Outcome {
	end := done(wrote.done)
	end.Did = wrote.did
	mismatches, filled := w.mismatches(wrote, got)
	switch {
	case len(mismatches) > 0:
		end = failed(NotConverged, "the server did not keep what was sent",
			"check each path: change the manifest, or write the override that the hint names")
		end.Mismatches = mismatches
	case got.Terminating:
		end = failed(Partial, "it was written, but is being deleted", "")
	}
	return w.record(end, ledger.AppliedSpec{
		Spec: w.spec, Converged: len(mismatches) == 0 && !filled && !wrote.now.Refused(),
		RemoteName: got.Name, UID: got.UID, CreationTimestamp: got.CreationTimestamp,
	})
}

func (w *work) record(end *Outcome, a ledger.AppliedSpec) *Outcome {
	if w.Journal != nil {
		w.withoutSlot(func() { end.unrecordedLive("it was written", w.Journal.Applied(w.ledgerCtx, w.item.Key, a)) })
	}
	return end
}

// mismatches returns the values that the server did not keep. filled reports whether it set a default
// where the manifest has null; trueup does not send that null again.
func (w *work) mismatches(wrote write, got kind.Object) (found []Mismatch, filled bool) {
	rules, live := w.Rules(w.kind), canon.MustDecode(got.Spec)
	// A removed field that came back has its default (docs/design.md B8).
	found = merge.Mismatches(rules, merge.StripNulls(canon.MustDecode(wrote.sent)), live)
	if len(found) == 0 && !wrote.now.Leaves() {
		found = merge.Mismatches(rules, merge.StripNulls(canon.MustDecode(w.spec)), live)
		filled = len(found) == 0 && len(merge.Mismatches(rules, canon.MustDecode(w.spec), live)) > 0
	}
	for i := range found {
		m := &found[i]
		m.Hint = "{kind: " + w.kind.Name + ", " + strings.TrimPrefix(m.Hint, "{") // the comparison does not know the kind
		m.Sent = plan.Conceal(w.target.Workspace, w.item.Key, m.Path, m.Sent)
		m.Returned = plan.Conceal(w.target.Workspace, w.item.Key, m.Path, m.Returned)
	}
	return found, filled
}
