package apply

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// objectWrite is a request that changes an object, with the message of its success.
type objectWrite struct {
	now             plan.Item // the plan that the write carries out
	before, request any       // the spec right before the write, nil for a creation, and that of the request
	did             Effect
	done            string
}

func (w *itemRun) createdWrite() objectWrite {
	return objectWrite{now: *w.item, request: w.item.BodySpec(), did: Created}
}

// readbackCheck is what reading back shows of a write.
type readbackCheck struct {
	now        any // the spec
	mismatches []merge.Mismatch
	filled     []merge.PathValue // what the server filled in
}

// checkWrite compares an object with what a write makes of it.
func (w *itemRun) checkWrite(wrote objectWrite, obj kind.LiveObject) (c readbackCheck) {
	c.now = canon.MustDecode(obj.Spec)
	c.mismatches, c.filled = merge.CompletedWrite{
		Rules: w.Rules(w.kind), Before: wrote.before, Request: wrote.request, Now: c.now, Lost: wrote.now.Collateral,
	}.Check()
	return c
}

// hasFault reports whether the server failed the write in this way.
func (c readbackCheck) hasFault(f merge.MismatchKind) bool {
	return slices.ContainsFunc(c.mismatches, func(m merge.Mismatch) bool { return m.Fault == f })
}

// hasConverged reports whether the server has what was sent, and nothing grave is different besides.
func (w *itemRun) hasConverged(c readbackCheck) bool {
	return !slices.ContainsFunc(c.mismatches, w.showsUnconverged)
}

// showsUnconverged reports whether a mismatch means that the write has not converged: trueup asked for it, or the documented field
// decides what is served, or to whom.
func (w *itemRun) showsUnconverged(m merge.Mismatch) bool {
	if m.Fault != merge.Altered {
		return true
	}
	field := fieldAt(w.kind.Spec(), m.At)
	return field != nil && field.RiskOf(m.Sent, m.Returned).IsGrave()
}

// fieldAt returns the documented field at a place of a spec, or nil.
func fieldAt(field *kind.Field, at []merge.PathStep) *kind.Field {
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

// verifyWrite reads back what was written, and returns the outcome; err is the error of the write.
func (w *itemRun) verifyWrite(ctx context.Context, wrote objectWrite, err error) *ItemOutcome {
	if err != nil && !isUncertain(err) {
		fix := ""
		if len(wrote.now.Preserved) > 0 {
			fix = "if the server rejects a field that the request repeats from live, omit it in trueup.yaml: overrides: [{kind: " + w.kind.Name + ", path: spec.FIELD, omit: true}]"
		}
		return errorOutcome(err, "", fix)
	}
	w.reportPhase("verify", "")
	got := w.readBack(ctx, w.item.Name, wrote)
	switch {
	case got.kept:
	case err != nil && got.obj != nil:
		return w.withMismatches(unknownOutcome(err, "live differs from what was sent: "), got.readbackCheck)
	case err != nil:
		return unknownOutcome(err, "")
	case got.interrupted: // the spec stays pending until a run has seen the result
		return unverifiedOutcome(ctx, "it was written")
	case got.obj == nil:
		return unreadableOutcome(got.err)
	}
	return w.recordApplied(wrote, *got.obj, got.readbackCheck)
}

// recordApplied records the spec as last-applied, and what the server did not remove as owed (docs/design.md 0.17 and B8).
func (w *itemRun) recordApplied(wrote objectWrite, got kind.LiveObject, c readbackCheck) *ItemOutcome {
	end := w.writeOutcome(wrote, got, c)
	now := ledger.AppliedSpec{
		Spec: w.spec, RemoteName: got.Name, UID: got.UID, CreationTimestamp: got.CreationTimestamp,
		Converged: !c.hasFault(merge.NotKept) && !got.Terminating && !wrote.now.LeavesServerValues() && (wrote.now.LeavesDifference() || merge.LiveCovers(w.Rules(w.kind), canon.MustDecode(w.spec), c.now)),
	}
	if c.hasFault(merge.NotRemoved) {
		after := effect.ApplyPatch(wrote.request, wrote.before)
		now.Owed = canon.Encode(merge.WithUnremoved(w.Rules(w.kind), canon.MustDecode(w.spec), after, c.mismatches))
	}
	if before := wrote.now.Before; before != nil && !reflect.DeepEqual(before, w.item.Before) {
		now.Live = before
	}
	for _, m := range c.mismatches {
		if m.Fault == merge.Altered && w.showsUnconverged(m) {
			now.Altered = append(now.Altered, m.Path)
		}
	}
	if w.Journal != nil {
		w.releaseSlotWhile(func() { end.failUnrecorded("it was written", w.Journal.RecordApplied(w.ledgerCtx, w.item.Key, now)) })
	}
	return end
}

// writeOutcome returns the outcome of a write that was read back.
func (w *itemRun) writeOutcome(wrote objectWrite, got kind.LiveObject, c readbackCheck) *ItemOutcome {
	end := doneOutcome(wrote.done)
	switch {
	case !w.hasConverged(c):
		end = w.notConvergedOutcome(c)
	case got.Terminating:
		end = failedOutcome(Partial, "it was written, but is being deleted", "")
	case len(c.mismatches) > 0:
		end.Message = cmp.Or(end.Message, "written") + ", but what was not sent is different now: the server or another client changed it"
	}
	if end.Status == Done {
		end.Did = wrote.did
	}
	return w.withMismatches(end, c)
}

// withMismatches returns an outcome that names what is different.
func (w *itemRun) withMismatches(end *ItemOutcome, c readbackCheck) *ItemOutcome {
	end.Filled, end.Mismatches = slices.Clone(c.filled), slices.Clone(c.mismatches)
	for i := range end.Filled {
		v := &end.Filled[i]
		v.Value = w.redactValue(v.Path, v.Value)
	}
	for i := range end.Mismatches {
		m := &end.Mismatches[i]
		m.Hint = w.overrideFor(*m)
		m.Sent, m.Returned = w.redactValue(m.Path, m.Sent), w.redactValue(m.Path, m.Returned)
	}
	return end
}

// redactValue returns a value as it may be printed.
func (w *itemRun) redactValue(path string, value any) any {
	return kind.NewRedactor(w.target.Workspace, w.item.Key).RedactAt(path, value)
}

// notConvergedOutcome says what the server did not do, and what a person can do.
func (w *itemRun) notConvergedOutcome(c readbackCheck) *ItemOutcome {
	switch {
	case c.hasFault(merge.NotKept):
		return failedOutcome(NotConverged, "the server did not keep what was sent", fmt.Sprintf(
			"take its value into git with trueup pull %s --replace, write the value that you want and apply again, or ask the platform why", w.item.Key))
	case c.hasFault(merge.NotRemoved):
		return failedOutcome(NotConverged, "the server did not remove what git removed",
			"run apply again, or ask the platform why. If the value is the server's default, write in git the value that you want")
	}
	return failedOutcome(NotConverged, "what was not sent is different now: the server or another client changed it",
		"write in git what it must be: no later run shows a change of what git does not mention")
}

// overrideFor returns the override for a server that is right about a value; empty if it would hide a field that decides
// what is served or to whom, a hostname, a key or a whole list.
func (w *itemRun) overrideFor(m merge.Mismatch) string {
	_, sentList := m.Sent.([]any)
	_, gotList := m.Returned.([]any)
	field := fieldAt(w.kind.Spec(), m.At)
	hides := sentList || gotList || w.isKeyField(m.At) || field != nil && field.GravestRisk() > kind.NoRisk
	if m.Fault != merge.NotKept || hides && !m.SameNumber {
		return ""
	}
	rule := "ignore: true"
	if m.SameNumber {
		rule = "type: number"
	}
	return fmt.Sprintf("{kind: %s, path: spec.%s, %s}", w.kind.Name, merge.FieldPath(m.At), rule)
}

// isKeyField reports whether a place is part of the key of its list element, or the hostname.
func (w *itemRun) isKeyField(at []merge.PathStep) bool {
	if len(at) < 2 {
		return len(at) == 0 || at[0].Field == w.kind.HostField
	}
	last := at[len(at)-1]
	list := fieldAt(w.kind.Spec(), at[:len(at)-2])
	return at[len(at)-2].Element && list != nil && list.List != nil && slices.Contains(list.List.Key, last.Field)
}
