package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// Limits of retries (docs/design.md C4).
const (
	// maxTries limits the tries of a request that is safe to send again. maxSends limits how often
	// a POST that may have been executed is sent.
	maxTries = 4
	maxSends = 3
	// A pause is random within an interval, which starts at firstPause and doubles up to maxPause.
	firstPause = 500 * time.Millisecond
	maxPause   = 20 * time.Second
	// maxWait is the longest Retry-After that trueup waits for.
	maxWait = 15 * time.Minute
	// lookAgain is the pause between two reads of what a POST without an answer may have created.
	lookAgain = 2 * time.Second
	// pollEvery is the pause between two reads with --wait.
	pollEvery = 2 * time.Second
)

// itemRun is the state of one item over its retries.
type itemRun struct {
	*run
	kind     *kind.Kind
	item     *plan.Item
	spec     []byte        // the canonical JSON to send, set before the first request
	failed   int           // how many tries failed
	interval time.Duration // the longest pause before the next try
	sent     bool          // whether a request was sent
	sends    int           // how many requests may have been executed
	// isPending means that the ledger has the spec as pending. mayBeWritten means that it must keep it so, because
	// the server may have accepted the spec.
	isPending, mayBeWritten bool
	maybeDone               error        // the error of an earlier try that may have been executed, or nil
	maybeWrote              *objectWrite // that try, if it was a PATCH
	// withoutVersion means that the server rejects every resourceVersion as the precondition of a PATCH. conflicts
	// counts the ones that it rejected.
	withoutVersion bool
	conflicts      int
}

func (r *run) newItemRun(i int) *itemRun {
	k, _ := kind.FindKind(r.items[i].Kind)
	return &itemRun{run: r, kind: k, item: &r.items[i]}
}

// applyItem applies the item by the policy of its kind.
func (w *itemRun) applyItem(ctx context.Context) ItemOutcome {
	return w.runItem(func() *ItemOutcome {
		if w.item.Request == nil {
			return w.outcomeWithoutRequest(ctx)
		}
		if end := w.blockedOutcome(ctx); end != nil {
			return end
		}
		w.reportPhase("start", "")
		w.spec = w.Spec(w.item.Key)
		if w.kind.IsCreateOnly() {
			return w.reportEnd(w.createOnce(ctx))
		}
		return w.reportEnd(w.applyConverging(ctx))
	})
}

// blockedOutcome returns why the item can't start: the run was stopped, or an item that it waits for failed.
func (w *itemRun) blockedOutcome(ctx context.Context) *ItemOutcome {
	if end := w.haltedOutcome(ctx); end != nil {
		return end
	}
	for _, key := range w.item.After {
		i, ok := w.index[key]
		if !ok {
			return skippedOutcome(Partial, "waits for "+key.String()+", which is not part of this run")
		}
		before := w.outcomes[i]
		isOther := func(m merge.Mismatch) bool { return m.Fault != merge.NotKept }
		normalised := before.Verdict == NotConverged && len(before.Mismatches) > 0
		switch {
		case before.Verdict == OK, normalised && w.Options.AcceptNormalised && !slices.ContainsFunc(before.Mismatches, isOther):
		case normalised && slices.ContainsFunc(before.Mismatches, isOther):
			return skippedOutcome(Partial, "waits for "+key.String()+": "+before.Message)
		case normalised:
			return skippedOutcome(Partial, "waits for "+key.String()+": "+before.Message+" (to continue anyway: --accept normalised)")
		default:
			return skippedOutcome(Partial, "waits for "+key.String()+", which failed")
		}
	}
	return nil
}

func (w *itemRun) outcomeWithoutRequest(ctx context.Context) *ItemOutcome {
	it := w.item
	end := doneOutcome("")
	switch {
	case it.Op == plan.InFlight:
		return &ItemOutcome{Status: InFlight, Verdict: Partial, Message: it.Reason, Fix: it.Fix}
	case it.Op == plan.Deferred:
		return &ItemOutcome{Status: Deferred, Verdict: Partial, Message: it.Reason, Fix: it.Fix}
	case it.Op == plan.Blocked:
		end = &ItemOutcome{Status: Blocked, Verdict: Partial, Message: it.Reason, Fix: it.Fix}
		if it.NeedsPerson {
			end.Verdict = NeedsPerson
		}
		if it.Lost && w.Journal != nil { // its run is gone: a person must decide
			now, err := w.Clock(ctx, w.kind)
			if err == nil {
				err = w.Journal.MarkUnknown(w.ledgerCtx, it.Key, now)
			}
			end.addLedgerError(err)
		}
		if !it.Failed { // a failed one is live all the same
			return end
		}
	case it.LeavesDifference():
		end.Message = it.Reason
	}
	return w.endInSync(ctx, end)
}

// runItem runs do. A panic fails the item only, not the run.
func (w *itemRun) runItem(do func() *ItemOutcome) ItemOutcome {
	var end *ItemOutcome
	if err := w.catchPanic(w.item.Key, func() error { end = do(); return nil }); err != nil {
		end = w.reportEnd(failedOutcome(Partial, err.Error(),
			"run apply again, which checks first. This is a bug in trueup: report it with the output of -v"))
	}
	end.Key, end.Sent = w.item.Key, end.Sent || w.sent
	if end.Status == Done {
		end.Did = cmp.Or(end.Did, w.effectOf())
	}
	return *end
}

// effectOf returns what the run did about an item that is done.
func (w *itemRun) effectOf() Effect {
	switch did := EffectOf(w.item.Op); {
	case w.item.Op == plan.Kept:
		return Kept
	case w.sent && did != "":
		return did
	}
	return Unchanged
}

func (w *itemRun) reportEnd(end *ItemOutcome) *ItemOutcome {
	if end.Verdict == Auth {
		w.stopRun(stoppedByAuth)
	}
	if end.Status == Done {
		end.Did = cmp.Or(end.Did, w.effectOf())
	}
	w.reportPhase("end", cmp.Or(end.Message, end.EffectOrStatus()))
	return end
}

func (w *itemRun) reportPhase(phase, message string) {
	w.Report(Event{Key: w.item.Key, Phase: phase, Message: message})
}

// waitForRateLimit waits for the rate limit, before the read that a write relies on.
func (w *itemRun) waitForRateLimit(ctx context.Context) *ItemOutcome {
	if err := w.Writer.WaitForRateLimit(ctx, w.kind); err != nil {
		return unsentOutcome(ctx, err)
	}
	return nil
}

// checkNewerApply returns an outcome if another apply was recorded since this one. Ask right before a write.
func (w *itemRun) checkNewerApply() *ItemOutcome {
	if w.Journal == nil {
		return nil
	}
	if err := w.Journal.CheckNotSuperseded(w.ledgerCtx, w.item.Key); err != nil {
		return ledgerErrorOutcome(err)
	}
	return nil
}

// sendRequest makes a request, and sets w.sent unless it was not sent. If request panics, it counts as sent.
func (w *itemRun) sendRequest(request func() error) error {
	before := w.sent
	w.sent = true
	err := request()
	if err != nil && isNotSent(err) {
		w.sent = before
		return err
	}
	w.reportPhase("sent", w.item.Request.Method)
	if err == nil || isUncertain(err) {
		w.mayBeWritten = true
		w.sends++
	}
	return err
}

// waitToRetry counts a failed try, and pauses if another one is allowed. It reports whether to try again.
func (w *itemRun) waitToRetry(ctx context.Context, err error) bool {
	return w.consumeRetry(ctx, err) && w.sleepBackoff(ctx, err)
}

// sleepBackoff waits before a retry. It returns false if the run ends before the wait does.
func (w *itemRun) sleepBackoff(ctx context.Context, err error) bool {
	w.interval = min(max(firstPause, 2*w.interval), maxPause)
	d := max(rand.N(w.interval), api.AsError(err).RetryAfter)
	if limit, ends := ctx.Deadline(); ctx.Err() != nil || ends && time.Until(limit) < d {
		return false
	}
	w.reportPhase("wait", fmt.Sprintf("again in %s: %s", d.Round(time.Millisecond), err))
	return w.Sleep(ctx, d) == nil
}

// consumeRetry counts a failed try, and reports whether another one is allowed. A request that was
// not sent because its area has to wait does not count.
func (w *itemRun) consumeRetry(ctx context.Context, err error) bool {
	wait := api.AsError(err).RetryAfter
	if !isNotSent(err) || api.AsError(err).Status != 0 || wait == 0 {
		w.failed++
	}
	_, ends := ctx.Deadline() // then sleepBackoff rejects a wait that exceeds it
	return w.failed < maxTries && (ends || wait <= maxWait)
}

// readUntil reads an object up to four times within ten seconds, until isRight returns true. It reports
// whether the run ended before that.
func (w *itemRun) readUntil(ctx context.Context, name string, isRight func(kind.LiveObject, error) bool) (interrupted bool) {
	for _, pause := range []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second} {
		if pause > 0 && w.Sleep(ctx, pause) != nil {
			return ctx.Err() != nil
		}
		if isRight(w.Writer.Get(w.sendCtx, w.kind, name)) {
			return false
		}
	}
	return false
}

// readbackResult is the result of reading back: the object as last seen, or nil and the error.
type readbackResult struct {
	obj *kind.LiveObject
	err error
	readbackCheck
	// kept: the object is what the write makes of it, but for what is not grave. interrupted: the run ended before that.
	kept, interrupted bool
}

// readBack reads the object until it is what a write makes of it.
func (w *itemRun) readBack(ctx context.Context, name string, wrote objectWrite) (last readbackResult) {
	last.interrupted = w.readUntil(ctx, name, func(obj kind.LiveObject, err error) bool {
		if err == nil && obj.Spec == nil {
			err = errors.New("the platform returns it without a spec")
		}
		if err != nil {
			last.err = err
			return false
		}
		last.obj, last.readbackCheck = &obj, w.checkWrite(wrote, obj)
		last.kept = !obj.Terminating && w.hasConverged(last.readbackCheck)
		return last.kept
	})
	return last
}

// isInSync reports whether an object has what git says.
func (w *itemRun) isInSync(obj kind.LiveObject) bool {
	return obj.Spec != nil && !obj.Terminating && merge.LiveCovers(w.Rules(w.kind), canon.MustDecode(w.spec), canon.MustDecode(obj.Spec))
}

// pollUntil calls look until it returns an outcome, for at most Options.Wait: look's context ends then, too.
// If it stops earlier, the outcome says that did was done but state, such as "ready", was not reached.
func (w *itemRun) pollUntil(ctx context.Context, did, state string, look func(context.Context) *ItemOutcome) *ItemOutcome {
	limit := w.Options.Wait
	looking, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for waited := time.Duration(0); ; waited += pollEvery {
		if end := look(looking); end != nil {
			return end
		}
		if waited >= limit || looking.Err() != nil && ctx.Err() == nil {
			return failedOutcome(Partial, fmt.Sprintf("%s, but not %s within %s", did, state, limit), "run plan later to see whether it is "+state)
		}
		w.reportPhase("wait", fmt.Sprintf("not %s after %s", state, waited))
		if w.Sleep(ctx, pollEvery) != nil {
			why, verdict := whyEnded(ctx)
			return failedOutcome(verdict, fmt.Sprintf("%s; %s while it was not %s yet", did, why, state), "")
		}
	}
}

// endInSync ends an item that is in sync. recordInSync records it later.
func (w *itemRun) endInSync(ctx context.Context, end *ItemOutcome) *ItemOutcome {
	toRecord := w.item.Record && !w.item.Found && w.Journal != nil
	if w.item.Found {
		if end = cmp.Or(runEndedOutcome(ctx, recordingInSync), end); end.Status != Skipped {
			end = w.recordExecuted(end)
		}
	}
	if w.Options.Wait > 0 && w.item.Op == plan.None && w.kind.IsCreateOnly() && end.Verdict == OK {
		name := cmp.Or(w.item.RemoteName, w.item.Name)
		obj, err := w.Writer.Get(ctx, w.kind, name)
		why, verdict := whyEnded(ctx)
		switch {
		case err == nil:
			end = w.waitUntilReady(ctx, name, obj)
		case why != "":
			end = failedOutcome(verdict, why+" before it was ready", "")
		default:
			end = errorOutcome(err, "", "")
		}
	}
	end.toRecord = toRecord
	return end
}

const recordingInSync = "the ledger recorded that live equals git"

// recordExecuted records that the object of an unknown request is live, unless another run does.
func (w *itemRun) recordExecuted(end *ItemOutcome) *ItemOutcome {
	made := ledger.AcceptedAnswer{RemoteName: cmp.Or(w.item.RemoteName, w.item.Name), UID: w.item.Live.UID}
	err := w.Journal.RecordExecuted(w.ledgerCtx, w.item.Key, made)
	if errors.Is(err, ledger.ErrConflict) {
		return w.deferToOtherRun()
	}
	end.failUnrecorded("it is live", err)
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
		late := runEndedOutcome(ctx, recordingInSync)
		if late == nil {
			r.recordAllInSync(some)
		}
		for _, i := range some {
			o := &r.outcomes[i]
			if late != nil {
				o.Status, o.Did, o.Verdict, o.Message = late.Status, "", late.Verdict, late.Message
			}
			o.toRecord = false
			r.countDone()
		}
	}
}

func (r *run) recordAllInSync(some []int) {
	all := make([]ledger.AppliedObject, len(some))
	for n, i := range some {
		it := &r.items[i]
		all[n] = ledger.AppliedObject{
			Key:         it.Key,
			AppliedSpec: ledger.AppliedSpec{Spec: r.Spec(it.Key), Converged: !it.LeavesServerValues(), UID: it.Live.UID},
		}
	}
	errs := make([]error, len(some))
	err := r.catchPanic(all[0].Key, func() error {
		copy(errs, r.Journal.RecordAllApplied(r.ledgerCtx, all))
		return nil
	})
	for n, i := range some {
		// On a conflict another run works on the object, and the next run compares it.
		if each := cmp.Or(err, errs[n]); !errors.Is(each, ledger.ErrConflict) {
			r.outcomes[i].failUnrecorded("live equals git", each)
		}
	}
}
