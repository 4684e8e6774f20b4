package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/effect"
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
	case notFound(looked) && api.Answer(err).OtherName.String() != "":
		return renamed(w.item.Key, api.Answer(err).OtherName.String())
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
	made := w.created()
	if !w.hasAll(w.spec, obj) {
		if got := w.readBack(ctx, w.item.Name, made); got.obj != nil {
			obj = *got.obj
		}
	}
	if !w.hasAll(w.spec, obj) {
		return stale("another client created it meanwhile, and it differs from git")
	}
	if !w.mayBeWritten {
		made.did, made.done = Unchanged, "another client created it meanwhile, equal to git"
	}
	w.mayBeWritten = true
	return w.applied(made, obj, w.check(made, obj))
}

// tryPatch sends the merge patch that the plan shows, if live is still what the plan compared. It returns nil
// to retry: after a conflict or a transient failure, the next try reads and compares again (docs/design.md C4).
func (w *work) tryPatch(ctx context.Context) *Outcome {
	obj, now, end := w.lookAndPlan(ctx)
	switch {
	case end != nil:
		return w.afterLostTry(end, obj)
	case now.Request == nil:
		return w.alreadyInSync(now, obj)
	}
	patch, precondition := now.Request.Body, !w.withoutVersion && len(now.Lists) > 0 && obj.ResourceVersion != ""
	if precondition { // the patch sends a list whole (docs/design.md 0.17)
		body := canon.MustDecode(patch).(map[string]any)
		body["metadata"] = map[string]any{"resourceVersion": obj.ResourceVersion}
		patch = canon.Bytes(body)
	}
	before := canon.MustDecode(obj.Spec)
	if why := now.Unshown(patch, before); why != "" {
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
	wrote := write{now: now, before: before, request: now.BodySpec(), did: Changed, done: changed(*w.item)}
	return w.afterPatch(ctx, wrote, err)
}

// afterLostTry adds to the outcome what an earlier try without an answer may have made of the object.
func (w *work) afterLostTry(end *Outcome, obj kind.Object) *Outcome {
	if w.maybeWrote == nil || obj.Spec == nil {
		return end
	}
	end.Message = "a try that got no answer may have been executed, and live is not what the plan showed; this try left it unchanged"
	return w.withMismatches(end, w.check(*w.maybeWrote, obj))
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

// alreadyInSync ends an item that needs no request any more: an earlier try without an answer was executed, or another
// client made the change.
func (w *work) alreadyInSync(now plan.Item, obj kind.Object) *Outcome {
	wrote := write{now: now, before: canon.MustDecode(obj.Spec), request: map[string]any{}, did: Unchanged, done: "another client has already made this change"}
	if w.maybeDone != nil && w.maybeWrote != nil {
		wrote = *w.maybeWrote
	}
	w.mayBeWritten, w.maybeDone = true, nil
	return w.applied(wrote, obj, w.check(wrote, obj))
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
func (w *work) afterPatch(ctx context.Context, wrote write, err error) *Outcome {
	switch {
	case transient(err) && w.retry(ctx, err):
		if uncertain(err) {
			w.maybeDone, w.maybeWrote = err, &wrote
		}
		return nil
	case err != nil && notSent(err):
		return failedUnsent(ctx, err, "")
	case err == nil || uncertain(err):
		w.maybeDone = nil // reading back shows it
	}
	return w.settle(ctx, wrote, err)
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

// write is a write to an object, and what is said of it if it succeeds.
type write struct {
	now             plan.Item // the plan that the write carries out
	before, request any       // the spec right before the write, nil for a creation, and that of the request
	did             Effect
	done            string
}

func (w *work) created() write {
	return write{now: *w.item, request: w.item.BodySpec(), did: Created}
}

// checked is what reading back shows of a write.
type checked struct {
	now        any // the spec
	mismatches []Mismatch
	filled     []merge.Value // what the server filled in
}

// check compares an object with what a write makes of it.
func (w *work) check(wrote write, obj kind.Object) (c checked) {
	c.now = canon.MustDecode(obj.Spec)
	c.mismatches, c.filled = merge.Write{
		Rules: w.Rules(w.kind), Before: wrote.before, Request: wrote.request, Now: c.now, Lost: wrote.now.Collateral,
	}.Check()
	return c
}

// has reports whether the server failed the write in this way.
func (c checked) has(f merge.Fault) bool {
	return slices.ContainsFunc(c.mismatches, func(m Mismatch) bool { return m.Fault == f })
}

// isKept reports whether the server has what was sent, and nothing grave is different besides.
func (w *work) isKept(c checked) bool { return !slices.ContainsFunc(c.mismatches, w.isGrave) }

// isGrave reports whether a mismatch means that the write has not converged: trueup asked for it, or the documented field
// decides what is served, or to whom.
func (w *work) isGrave(m Mismatch) bool {
	if m.Fault != merge.Altered {
		return true
	}
	field := fieldAt(w.kind.Spec(), m.At)
	return field != nil && field.RiskOf(m.Sent, m.Returned, nil).Grave()
}

// fieldAt returns the documented field at a place of a spec, or nil.
func fieldAt(field *kind.Field, at []merge.Step) *kind.Field {
	for _, step := range at {
		switch {
		case field == nil:
			return nil
		case step.Element:
			field = field.Item
		default:
			field = cmp.Or(field.Fields[step.Field], field.Any)
		}
	}
	return field
}

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
	got := w.readBack(ctx, w.item.Name, wrote)
	switch {
	case got.kept:
	case err != nil && got.obj != nil:
		return w.withMismatches(unknown(err, "live differs from what was sent: "), got.checked)
	case err != nil:
		return unknown(err, "")
	case got.interrupted: // the spec stays pending until a run has seen the result
		return unverified(ctx, "it was written")
	case got.obj == nil:
		return unreadable(got.err)
	}
	return w.applied(wrote, *got.obj, got.checked)
}

// applied records the spec as last-applied, and what the server did not remove as owed (docs/design.md 0.17 and B8).
func (w *work) applied(wrote write, got kind.Object, c checked) *Outcome {
	end := w.outcomeOf(wrote, got, c)
	now := ledger.AppliedSpec{
		Spec: w.spec, RemoteName: got.Name, UID: got.UID, CreationTimestamp: got.CreationTimestamp,
		Converged: !c.has(merge.NotKept) && !got.Terminating && !wrote.now.Refused() && (wrote.now.Leaves() || merge.Covers(w.Rules(w.kind), canon.MustDecode(w.spec), c.now)),
	}
	if c.has(merge.NotRemoved) {
		after := effect.Apply(wrote.request, wrote.before)
		now.Owed = canon.Bytes(merge.WithNotRemoved(w.Rules(w.kind), canon.MustDecode(w.spec), after, c.mismatches))
	}
	for _, m := range c.mismatches {
		if m.Fault == merge.Altered && w.isGrave(m) {
			now.Altered = append(now.Altered, m.Path)
		}
	}
	if w.Journal != nil {
		w.withoutSlot(func() { end.unrecordedLive("it was written", w.Journal.Applied(w.ledgerCtx, w.item.Key, now)) })
	}
	return end
}

// outcomeOf returns the outcome of a write that was read back.
func (w *work) outcomeOf(wrote write, got kind.Object, c checked) *Outcome {
	end := done(wrote.done)
	switch {
	case !w.isKept(c):
		end = w.notConverged(c)
	case got.Terminating:
		end = failed(Partial, "it was written, but is being deleted", "")
	case len(c.mismatches) > 0:
		end.Message = cmp.Or(end.Message, "written") + ", but what was not sent is different now: the server or another client changed it"
	}
	if end.Status == Done {
		end.Did = wrote.did
	}
	return w.withMismatches(end, c)
}

// withMismatches returns an outcome that names what is different.
func (w *work) withMismatches(end *Outcome, c checked) *Outcome {
	end.Filled, end.Mismatches = slices.Clone(c.filled), slices.Clone(c.mismatches)
	for i := range end.Filled {
		v := &end.Filled[i]
		v.Value = w.conceal(v.Path, v.Value)
	}
	for i := range end.Mismatches {
		m := &end.Mismatches[i]
		m.Hint = w.overrideFor(*m)
		m.Sent, m.Returned = w.conceal(m.Path, m.Sent), w.conceal(m.Path, m.Returned)
	}
	return end
}

// conceal returns a value as it may be printed.
func (w *work) conceal(path string, value any) any {
	return plan.Conceal(w.target.Workspace, w.item.Key, path, value)
}

// notConverged says what the server did not do, and what a person can do.
func (w *work) notConverged(c checked) *Outcome {
	switch {
	case c.has(merge.NotKept):
		return failed(NotConverged, "the server did not keep what was sent", fmt.Sprintf(
			"take its value into git with trueup pull %s --replace, write the value that you want and apply again, or ask the platform why", w.item.Key))
	case c.has(merge.NotRemoved):
		return failed(NotConverged, "the server did not remove what git removed",
			"run apply again, or ask the platform why. If the value is the server's default, write in git the value that you want")
	}
	return failed(NotConverged, "what was not sent is different now: the server or another client changed it",
		"write in git what it must be: no later run shows a change of what git does not mention")
}

// overrideFor returns the override for a server that is right about a value; empty if it would hide a field that decides
// what is served or to whom, a hostname, a key or a whole list.
func (w *work) overrideFor(m Mismatch) string {
	_, sentList := m.Sent.([]any)
	_, gotList := m.Returned.([]any)
	field := fieldAt(w.kind.Spec(), m.At)
	hides := sentList || gotList || w.isKey(m.At) || field != nil && field.Gravest() > kind.NoRisk
	if m.Fault != merge.NotKept || hides && !m.SameNumber {
		return ""
	}
	rule := "ignore: true"
	if m.SameNumber {
		rule = "type: number"
	}
	return fmt.Sprintf("{kind: %s, path: spec.%s, %s}", w.kind.Name, merge.FieldPath(m.At), rule)
}

// isKey reports whether a place is part of the key of its list element, or the hostname.
func (w *work) isKey(at []merge.Step) bool {
	if len(at) < 2 {
		return len(at) == 0 || at[0].Field == w.kind.HostField
	}
	last := at[len(at)-1]
	list := fieldAt(w.kind.Spec(), at[:len(at)-2])
	return at[len(at)-2].Element && list != nil && list.List != nil && slices.Contains(list.List.Key, last.Field)
}
