package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// maxConflicts bounds how often a PATCH is made again because the server answered 409: the object
// moved on, or the server takes no resourceVersion.
const maxConflicts = 3

// converge creates or patches an object until live equals git.
func (w *work) converge(ctx context.Context) (end *Outcome) {
	try := w.tryCreate
	if w.item.Op != plan.Create {
		try = (&patching{work: w}).try
		// Before the look, so that a slow ledger does not stand between that and the write.
		w.aside(func() { end = w.begin() })
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
	if end.Verdict != OK && w.doubt != nil {
		end.Message += "; it may already be written: " + w.doubt.Error()
		if end.Verdict != Stale {
			end.Status, end.Fix = Failed, "run apply again, which checks first"
		}
	}
	if end.Status == Failed && w.failed >= maxTries {
		end.Message += fmt.Sprintf(" (gave up after %d tries)", w.failed)
	}
	w.noteResult(end.cause)
	if w.begun && !w.arrived {
		w.aside(func() { end.unrecorded(w.Journal.DropPending(w.books, w.item.Key)) })
	}
	return end
}

// begin stores the spec as pending before a write (docs/design.md 0.2).
func (w *work) begin() *Outcome {
	if w.begun || w.Journal == nil {
		return nil
	}
	if err := w.Journal.Pending(w.books, w.item.Key, w.spec); err != nil {
		return unclaimed(err)
	}
	w.begun = true
	return nil
}

// tryCreate sends a POST, after a GET has shown that there is no such object. It is
// tried again if it was not written, or if live shows that a try without an answer
// made nothing (docs/design.md C4).
func (w *work) tryCreate(ctx context.Context) *Outcome {
	if end := w.turn(ctx); end != nil {
		return end
	}
	switch obj, end := w.absent(ctx, w.item.Name); {
	case end != nil && end.Verdict == Stale && w.doubt != nil:
		return w.appeared(ctx, obj)
	case end != nil:
		return end
	}
	if end := cmp.Or(w.begin(), late(ctx)); end != nil {
		return end
	}
	return w.posted(ctx, w.send(func() error {
		_, err := w.Writer.Create(w.net, w.kind, w.item.Request.Body)
		return err
	}))
}

// posted finds out what a POST did, or has it tried again.
func (w *work) posted(ctx context.Context, err error) *Outcome {
	switch {
	case err == nil:
		w.doubt = nil
	case exists(err) || conflict(err) || uncertain(err):
		return w.lookFor(ctx, err)
	case notSent(err) && transient(err) && w.retry(ctx, err):
		return nil
	case notSent(err):
		return broke(ctx, err, "")
	}
	w.stopIfLost(err)
	return w.settle(ctx, w.created(), err)
}

// absent makes sure that nothing of the name is there right before a POST, and returns what is.
func (w *work) absent(ctx context.Context, name string) (kind.Object, *Outcome) {
	obj, err := w.Writer.Get(ctx, w.kind, name)
	switch {
	case notFound(err):
		return obj, nil
	case err != nil:
		return obj, broke(ctx, err, "")
	case obj.Terminating:
		return obj, stale("an object of that name is being deleted")
	}
	return obj, stale("it appeared after the plan was made")
}

// lookFor finds out what a POST did that was not answered, or answered by a 409:
// only what is missing twice was not made.
func (w *work) lookFor(ctx context.Context, err error) *Outcome {
	if uncertain(err) {
		w.doubt = nil // it is this try that is asked about
	}
	obj, looked := w.lookTwice(ctx)
	switch {
	case looked == nil:
		return w.appeared(ctx, obj)
	case conflict(err) && w.retry(ctx, err):
		return nil
	case exists(err) || conflict(err):
		return fault(err, "", "")
	case notFound(looked) && w.sends < maxSends && w.retry(ctx, err):
		w.doubt = err
		return nil
	case notFound(looked):
		return unknown(err, fmt.Sprintf("sent %d times, but live does not show it: ", w.sends))
	}
	return unknown(err, "")
}

// lookTwice reads an object, and again after a while if it is not there.
func (w *work) lookTwice(ctx context.Context) (kind.Object, error) {
	obj, err := w.Writer.Get(w.net, w.kind, w.item.Name)
	if !notFound(err) {
		return obj, err
	}
	if err := w.Sleep(ctx, lookAgain); err != nil {
		return obj, err
	}
	return w.Writer.Get(w.net, w.kind, w.item.Name)
}

// appeared ends an item that exists after a try: trueup created it, or it is in sync anyway. Any
// other object stays as it is.
func (w *work) appeared(ctx context.Context, obj kind.Object) *Outcome {
	w.doubt = nil
	if !w.keeps(w.spec, obj) {
		if got := w.readBack(ctx, w.item.Name, w.spec); got.obj != nil {
			obj = *got.obj
		}
	}
	if !w.keeps(w.spec, obj) {
		return stale("another client created it meanwhile, and it differs from git")
	}
	made := w.created()
	if !w.arrived {
		made.done = "another client created it meanwhile, equal to git"
	}
	w.arrived = true
	return w.applied(made, obj)
}

// patching is the PATCH of one object: the merge patch that the plan shows, if live is
// still what the plan compared. After a conflict, and after a try that failed for the
// moment, it looks and compares again (docs/design.md C4).
type patching struct {
	*work
	// bare says that the server takes no version as a precondition.
	bare bool
	// conflicts counts the versions that were refused.
	conflicts int
}

// try reads, compares and sends once.
func (p *patching) try(ctx context.Context) *Outcome {
	obj, now, end := p.fresh(ctx)
	switch {
	case end != nil:
		return end
	case now.Request == nil:
		return p.reached(now, obj)
	}
	patch, precondition := now.Request.Body, !p.bare && len(now.Lists) > 0 && obj.ResourceVersion != ""
	if precondition { // a list is sent whole (docs/design.md 0.17)
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
	err := p.send(func() error {
		_, err := p.Writer.Patch(p.net, p.kind, p.item.Name, patch)
		return err
	})
	if precondition && refusesVersion(err) {
		return p.refused(obj, err)
	}
	return p.answered(ctx, now, err)
}

// fresh reads the object right before a write and plans it again: the new plan may do
// no more than the one that was shown (docs/design.md 0.23).
func (p *patching) fresh(ctx context.Context) (obj kind.Object, now plan.Item, end *Outcome) {
	if end := p.turn(ctx); end != nil {
		return obj, now, end
	}
	obj, err := p.Writer.Get(ctx, p.kind, p.item.Name)
	switch {
	case notFound(err):
		return obj, now, stale("it was deleted after the plan was made")
	case err != nil:
		return obj, now, broke(ctx, err, "")
	}
	now, err = p.Replan(p.item.Key, &obj)
	switch {
	case err != nil:
		end = stale("trueup can't plan against what is live now: " + err.Error())
	case !plan.Within(now, *p.item):
		end = stale(cmp.Or(now.Reason, "live changed after the plan was made"))
	}
	return obj, now, end
}

// reached ends an item that is in sync before a try.
func (p *patching) reached(now plan.Item, obj kind.Object) *Outcome {
	w := write{now: now, sent: p.spec, done: "another client has already made this change"}
	if p.doubt != nil {
		w.done = changed(*p.item)
	}
	if now.Leaves() {
		w.sent = []byte("{}")
	}
	p.arrived, p.doubt = true, nil
	return p.applied(w, obj)
}

// refused notes that the server refused the version that was compared. If live still has
// it, it is the precondition that the server does not take.
func (p *patching) refused(obj kind.Object, err error) *Outcome {
	p.bare = !conflict(err)
	if !p.bare {
		now, looked := p.Writer.Get(p.net, p.kind, p.item.Name)
		p.bare = looked == nil && now.ResourceVersion == obj.ResourceVersion
	}
	if p.conflicts++; p.conflicts < maxConflicts {
		return nil
	}
	end := fault(err, "", "run apply again")
	end.Message = "other clients keep changing it: the server answered 409 each time"
	return end
}

// answered looks what a PATCH did, or has it tried again.
func (p *patching) answered(ctx context.Context, now plan.Item, err error) *Outcome {
	switch {
	case transient(err) && p.retry(ctx, err):
		if uncertain(err) {
			p.doubt = err
		}
		return nil
	case err != nil && notSent(err):
		return broke(ctx, err, "")
	case err == nil || uncertain(err):
		p.doubt = nil // reading back shows it
	}
	sent := canon.Bytes(canon.MustDecode(now.Request.Body).(map[string]any)["spec"])
	return p.settle(ctx, write{now: now, sent: sent, done: changed(*p.item)}, err)
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

// write is a write to an object that converges.
type write struct {
	// now is the plan that it carries out.
	now plan.Item
	// sent is the part of the spec that the request changes; a null removes a field.
	sent []byte
	// done says what was done.
	done string
}

func (w *work) created() write { return write{now: *w.item, sent: w.spec, done: "created"} }

// settle reads back what was written, and says how it went; err is what the write was
// answered with, or nil.
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
		return unknown(err, "the answer was lost, and live differs from what was sent: ")
	case err != nil:
		return unknown(err, "")
	case got.cut:
		return w.record(unverified(ctx, "it was written"), ledger.AppliedSpec{Spec: w.spec})
	case got.obj == nil:
		return w.missing(got.err)
	}
	return w.applied(wrote, *got.obj)
}

// missing ends an item that the server accepted and that can't be read back. If it never existed,
// nothing was applied to it: its spec stays pending.
func (w *work) missing(err error) *Outcome {
	if w.item.Op == plan.Create && notFound(err) {
		return unread(err)
	}
	return w.record(unread(err), ledger.AppliedSpec{Spec: w.spec})
}

// applied records the spec as applied, and compares what came back with git
// and with what was sent (docs/design.md 0.17 and B8).
func (w *work) applied(wrote write, got kind.Object) *Outcome {
	end := done(wrote.done)
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

// record makes a spec the last-applied one.
func (w *work) record(end *Outcome, a ledger.AppliedSpec) *Outcome {
	if w.Journal != nil {
		w.aside(func() { end.unlearned("it was written", w.Journal.Applied(w.books, w.item.Key, a)) })
	}
	return end
}

// mismatches are what the server did not keep; filled says that it put something where
// git has null, which is its default and is not sent again.
func (w *work) mismatches(wrote write, got kind.Object) (out []Mismatch, filled bool) {
	rules, live := w.Rules(w.kind), canon.MustDecode(got.Spec)
	// What was removed and came back, came back as its default (docs/design.md B8).
	found := merge.Mismatches(rules, merge.StripNulls(canon.MustDecode(wrote.sent)), live)
	if len(found) == 0 && !wrote.now.Leaves() {
		found = merge.Mismatches(rules, merge.StripNulls(canon.MustDecode(w.spec)), live)
		filled = len(found) == 0 && len(merge.Mismatches(rules, canon.MustDecode(w.spec), live)) > 0
	}
	for _, m := range found {
		if m.Hint != "" { // an override, for which a comparison does not know the kind
			m.Hint = "{kind: " + w.kind.Name + ", " + strings.TrimPrefix(m.Hint, "{")
		}
		out = append(out, Mismatch{Path: m.Path, Sent: m.Sent, Returned: m.Returned, Hint: m.Hint})
	}
	return out, filled
}
