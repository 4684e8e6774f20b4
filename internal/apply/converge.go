package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// maxConflicts bounds how often a PATCH is made again because the server
// answered 409: the object moved on, or the server takes no resourceVersion.
const maxConflicts = 3

// create sends the POST of an object that converges, after a GET has shown
// that there is none.
func (r *run) create(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	if !r.absent(ctx, k, it, end) {
		return
	}
	spec := r.Spec(it.Key)
	if !r.begin(ctx, it.Key, spec, end) {
		return
	}
	_, err := r.Writer.Create(ctx, k, it.Request.Body)
	end.Sent = err == nil || !notSent(err)
	if err != nil && !uncertain(err) {
		r.refused(ctx, it.Key, err, end)
		r.stopIfLost(err)
		return
	}
	r.Report(Event{Key: it.Key, Phase: "verify"})
	got, ok := r.readBack(ctx, k, it.Name, spec)
	switch {
	case err != nil && got == nil:
		end.fail(verdictOf(err), "it is not known whether it was created: "+err.Error())
		end.Fix = "run apply again: it looks first"
	case got == nil:
		end.fail(NotConverged, "the server said that it was created, and does not have it")
	case err != nil && !ok:
		end.fail(Partial, "the answer was lost ("+err.Error()+") and live differs from what was sent")
		end.Fix = "run plan to see what differs"
	default:
		r.applied(ctx, k, it.Key, spec, spec, *got, end)
		end.Message = orElse(end.Message, "created")
	}
}

// absent makes sure that nothing of the name is there right before a POST.
func (r *run) absent(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) bool {
	obj, err := r.Writer.Get(ctx, k, it.Name)
	switch {
	case err == nil && !obj.Terminating:
		end.stale("it appeared since the plan was made")
	case err == nil:
		end.stale("one of that name is being deleted")
	case !notFound(err):
		end.fail(verdictOf(err), err.Error())
	default:
		return true
	}
	return false
}

// stale ends an item whose object is not what the plan spoke of.
func (o *Outcome) stale(why string) {
	o.Status, o.Verdict, o.Message = Skipped, Stale, why+"; it was left alone"
	o.Fix = "run plan again and look at what is different now"
}

// begin stores the spec as pending before a write (design 0.2).
func (r *run) begin(ctx context.Context, key kind.Key, spec []byte, end *Outcome) bool {
	if r.Journal == nil {
		return true
	}
	if err := r.Journal.Pending(ctx, key, spec); err != nil {
		end.fail(NeedsPerson, "nothing was sent, because the ledger could not be written: "+err.Error())
		return false
	}
	return true
}

// refused ends an item whose write certainly did not happen.
func (r *run) refused(ctx context.Context, key kind.Key, err error, end *Outcome) {
	end.fail(verdictOf(err), err.Error())
	if r.Journal == nil {
		return
	}
	if jerr := r.Journal.DropPending(ctx, key); jerr != nil {
		end.Message += " (and the ledger could not be told: " + jerr.Error() + ")"
	}
}

// patch sends the merge patch that the plan shows, if live is still what the
// plan compared; after a conflict it looks and compares again.
func (r *run) patch(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	version := true
	for range maxConflicts {
		obj, now, ok := r.fresh(ctx, k, it, end)
		if !ok {
			return
		}
		if !end.Sent && !r.begin(ctx, it.Key, r.Spec(it.Key), end) {
			return
		}
		precondition := version && len(now.Lists) > 0 && obj.ResourceVersion != ""
		_, err := r.Writer.Patch(ctx, k, it.Name, body(now, obj, precondition))
		end.Sent = end.Sent || err == nil || !notSent(err)
		if conflict(err) && precondition {
			version = !r.sameVersion(ctx, k, it.Name, obj.ResourceVersion)
			continue
		}
		r.patched(ctx, k, now, err, end)
		return
	}
	end.fail(Partial, "it changes faster than it can be written: the server answered 409 each time")
	end.Fix = "run apply again"
}

// fresh reads the object right before a write and plans it again; ok is false
// where that ended the item.
func (r *run) fresh(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) (obj kind.Object, now plan.Item, ok bool) {
	obj, err := r.Writer.Get(ctx, k, it.Name)
	switch {
	case err != nil && notFound(err):
		end.stale("it was deleted since the plan was made")
		return obj, now, false
	case err != nil:
		end.fail(verdictOf(err), err.Error())
		return obj, now, false
	}
	if now, ok = r.recheck(it, obj, end); !ok || now.Op != plan.None {
		return obj, now, ok
	}
	spec := r.Spec(it.Key)
	r.applied(ctx, k, it.Key, spec, spec, obj, end)
	end.Message = orElse(end.Message, "live was brought there by somebody else meanwhile")
	return obj, now, false
}

// sameVersion tells whether live still has the version that the server called
// stale: then it is the precondition that it does not take.
func (r *run) sameVersion(ctx context.Context, k *kind.Kind, name, version string) bool {
	obj, err := r.Writer.Get(ctx, k, name)
	return err == nil && obj.ResourceVersion == version
}

// body is the planned patch, with the version that was compared as a
// precondition where a list is sent whole (design 0.17).
func body(it plan.Item, obj kind.Object, precondition bool) []byte {
	if !precondition {
		return it.Request.Body
	}
	patch := mustDecode(it.Request.Body).(map[string]any)
	patch["metadata"] = map[string]any{"resourceVersion": obj.ResourceVersion}
	return canon.Bytes(patch)
}

// recheck plans the object again against what is live now: the new plan may do
// no more than the one that was shown (design 0.23).
func (r *run) recheck(it plan.Item, obj kind.Object, end *Outcome) (plan.Item, bool) {
	now, err := r.Replan(it.Key, &obj)
	switch {
	case err != nil:
		end.stale("it can't be planned against what is live now: " + err.Error())
	case !plan.Within(now, it):
		end.stale("live changed since the plan was made")
	default:
		return now, true
	}
	return now, false
}

// patched reads back and says how it went.
func (r *run) patched(ctx context.Context, k *kind.Kind, it plan.Item, err error, end *Outcome) {
	if err != nil && !uncertain(err) {
		r.refused(ctx, it.Key, err, end)
		if len(it.Preserved) > 0 {
			end.Fix = "if it refuses a field that was kept from live, say in trueup.yaml that the field is the server's: " +
				"overrides: [{kind: " + k.Name + ", path: spec.FIELD, readonly: true}]"
		}
		return
	}
	r.Report(Event{Key: it.Key, Phase: "verify"})
	sent, spec := sentSpec(it), r.Spec(it.Key)
	got, ok := r.readBack(ctx, k, it.Name, sent)
	switch {
	case got == nil:
		end.fail(NotConverged, "it was written and can't be read back")
		if err != nil {
			end.fail(verdictOf(err), "it is not known whether it was changed: "+err.Error())
		}
	case err != nil && !ok:
		end.fail(verdictOf(err), "the change did not take: "+err.Error())
		end.Fix = "run apply again"
	default:
		r.applied(ctx, k, it.Key, spec, sent, *got, end)
		end.Message = orElse(end.Message, fmt.Sprintf("%d changed", len(it.Changes)))
	}
}

// sentSpec is the part of the object that the patch speaks of, as live must
// have it afterwards.
func sentSpec(it plan.Item) []byte {
	patch := mustDecode(it.Request.Body).(map[string]any)["spec"]
	return canon.Bytes(merge.StripNulls(patch))
}

// readBack reads the object until it has everything that was sent, four times
// within about ten seconds; it returns the last that was read, nil for none.
func (r *run) readBack(ctx context.Context, k *kind.Kind, name string, sent []byte) (*kind.Object, bool) {
	var last *kind.Object
	for _, pause := range []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second} {
		if pause > 0 && r.Sleep(ctx, pause) != nil {
			break
		}
		obj, err := r.Writer.Get(ctx, k, name)
		if err != nil {
			continue
		}
		last = &obj
		if r.kept(k, sent, obj) {
			return last, true
		}
	}
	return last, false
}

func (r *run) kept(k *kind.Kind, sent []byte, obj kind.Object) bool {
	return !obj.Terminating && obj.Spec != nil && merge.Covers(r.Rules(k), mustDecode(sent), mustDecode(obj.Spec))
}

// applied records the spec as applied, and compares what came back with git
// and with what was sent (design 0.17 and B8).
func (r *run) applied(ctx context.Context, k *kind.Kind, key kind.Key, spec, sent []byte, got kind.Object, end *Outcome) {
	end.Mismatches = r.mismatches(k, spec, sent, got)
	switch {
	case len(end.Mismatches) > 0:
		end.fail(NotConverged, "the server did not keep what was sent")
		end.Fix = "look at each path: change the manifest, or write the override that the hint names"
	case got.Terminating:
		end.fail(Partial, "it was written, and is being deleted")
	}
	if r.Journal == nil {
		return
	}
	err := r.Journal.Applied(ctx, key, ledger.AppliedSpec{
		Spec: spec, Converged: len(end.Mismatches) == 0,
		RemoteName: got.Name, UID: got.UID, CreationTimestamp: got.CreationTimestamp,
	})
	if err != nil {
		end.fail(Partial, "it was written, but the ledger could not be told: "+err.Error())
		end.Fix = "run apply again: it finds live as git says and records it"
	}
}

func (r *run) mismatches(k *kind.Kind, spec, sent []byte, got kind.Object) []Mismatch {
	live := mustDecode(got.Spec)
	found := merge.Mismatches(r.Rules(k), mustDecode(sent), live)
	if len(found) == 0 {
		found = merge.Mismatches(r.Rules(k), mustDecode(spec), live)
	}
	var out []Mismatch
	for _, m := range found {
		out = append(out, Mismatch{Path: m.Path, Sent: m.Sent, Returned: m.Returned, Hint: hint(k, m.Hint)})
	}
	return out
}

// hint names the kind in an override, which a comparison does not know.
func hint(k *kind.Kind, override string) string {
	if override == "" {
		return ""
	}
	return "{kind: " + k.Name + ", " + strings.TrimPrefix(override, "{")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func mustDecode(b []byte) any {
	v, err := canon.Decode(b)
	if err != nil {
		panic(fmt.Sprintf("apply: not canonical JSON: %v", err))
	}
	return v
}
