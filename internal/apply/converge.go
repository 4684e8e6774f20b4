package apply

import (
	"cmp"
	"context"
	"errors"
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

// write is one write to an object that converges.
type write struct {
	kind *kind.Kind
	key  kind.Key
	// spec is git's, sent the part of it that the request spoke of.
	spec, sent []byte
	// keeps says that fields of live that git does not mention went along.
	keeps bool
	// done says what was done, in words.
	done string
}

// create sends the POST of an object that converges, after a GET has shown
// that there is none.
func (r *run) create(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	if !r.turn(ctx, k, end) || !r.absent(ctx, k, it.Name, end) {
		return
	}
	spec := r.Spec(it.Key)
	if !r.begin(ctx, it.Key, spec, end) {
		return
	}
	_, err := r.Writer.Create(ctx, k, it.Request.Body)
	r.sent(it, err, end)
	r.settle(ctx, write{kind: k, key: it.Key, spec: spec, sent: spec, done: "created"}, err, end)
	r.stopIfLost(err)
}

// turn waits for the rate limit, before the look that a write relies on.
func (r *run) turn(ctx context.Context, k *kind.Kind, end *Outcome) bool {
	if err := r.Writer.Turn(ctx, k); err != nil {
		end.fail(verdictOf(err), err.Error())
		return false
	}
	return true
}

// sent notes that a request left, if it did.
func (r *run) sent(it plan.Item, err error, end *Outcome) {
	if err != nil && notSent(err) {
		return
	}
	end.Sent = true
	r.Report(Event{Key: it.Key, Phase: "sent", Message: it.Request.Method + " " + it.Request.Path})
}

// absent makes sure that nothing of the name is there right before a POST.
func (r *run) absent(ctx context.Context, k *kind.Kind, name string, end *Outcome) bool {
	obj, err := r.Writer.Get(ctx, k, name)
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

// dropPending tells the ledger that every write since begin was refused.
func (r *run) dropPending(ctx context.Context, key kind.Key, end *Outcome) {
	if r.Journal == nil {
		return
	}
	if err := r.Journal.DropPending(ctx, key); err != nil {
		end.butUntold(err)
	}
}

// butUntold adds that the ledger does not know how an item ended.
func (o *Outcome) butUntold(err error) {
	o.Message += " (and the ledger could not be told: " + err.Error() + ")"
}

// patching is the state of one object's PATCH over its attempts.
type patching struct {
	kind *kind.Kind
	item plan.Item
	spec []byte
	// begun says that the spec is pending in the ledger; bare that the server
	// takes no version as a precondition.
	begun, bare bool
}

// patch sends the merge patch that the plan shows, if live is still what the
// plan compared; after a conflict it looks and compares again.
func (r *run) patch(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	p := &patching{kind: k, item: it, spec: r.Spec(it.Key)}
	for range maxConflicts {
		if !r.attempt(ctx, p, end) {
			return
		}
	}
	end.fail(Partial, "it changes faster than it can be written: the server answered 409 each time")
	end.Fix = "run apply again"
	r.dropPending(ctx, it.Key, end)
}

// attempt reads, compares and sends once; again says that the server refused
// the version of what was compared.
func (r *run) attempt(ctx context.Context, p *patching, end *Outcome) (again bool) {
	obj, now, ok := r.fresh(ctx, p.kind, p.item, end)
	switch {
	case !ok && p.begun:
		r.dropPending(ctx, p.item.Key, end)
		return false
	case !ok:
		return false
	case now.Op == plan.None:
		r.applied(ctx, write{kind: p.kind, key: p.item.Key, spec: p.spec, sent: p.spec}, obj, end)
		end.Message = cmp.Or(end.Message, "live was brought there by somebody else meanwhile")
		return false
	case !p.begun && !r.begin(ctx, p.item.Key, p.spec, end):
		return false
	}
	p.begun = true
	precondition := !p.bare && len(now.Lists) > 0 && obj.ResourceVersion != ""
	_, err := r.Writer.Patch(ctx, p.kind, p.item.Name, body(now, obj, precondition))
	r.sent(p.item, err, end)
	if precondition && refusesVersion(err) {
		p.bare = !conflict(err) || r.sameVersion(ctx, p.kind, p.item.Name, obj.ResourceVersion)
		return true
	}
	r.settle(ctx, write{
		kind: p.kind, key: p.item.Key, spec: p.spec, sent: sentSpec(now), keeps: len(now.Preserved) > 0,
		done: fmt.Sprintf("%d changed", len(now.Changes)),
	}, err, end)
	return false
}

// fresh reads the object right before a write and plans it again; ok is false
// where that ended the item.
func (r *run) fresh(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) (obj kind.Object, now plan.Item, ok bool) {
	if !r.turn(ctx, k, end) {
		return obj, now, false
	}
	obj, err := r.Writer.Get(ctx, k, it.Name)
	switch {
	case err != nil && notFound(err):
		end.stale("it was deleted since the plan was made")
		return obj, now, false
	case err != nil:
		end.fail(verdictOf(err), err.Error())
		return obj, now, false
	}
	now, ok = r.recheck(it, obj, end)
	return obj, now, ok
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
	patch := canon.MustDecode(it.Request.Body).(map[string]any)
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
		end.stale(cmp.Or(now.Reason, "live changed since the plan was made"))
	default:
		return now, true
	}
	return now, false
}

// settle ends an item whose write was answered with err, or nil: it reads
// back, and says how it went.
func (r *run) settle(ctx context.Context, w write, err error, end *Outcome) {
	if err != nil && !uncertain(err) {
		end.fail(verdictOf(err), err.Error())
		if w.keeps {
			end.Fix = "if it refuses a field that was kept from live, say in trueup.yaml that the field is the server's: " +
				"overrides: [{kind: " + w.kind.Name + ", path: spec.FIELD, readonly: true}]"
		}
		r.dropPending(ctx, w.key, end)
		return
	}
	r.Report(Event{Key: w.key, Phase: "verify"})
	got := r.readBack(ctx, w.kind, w.key.Name, w.sent)
	switch {
	case err != nil && !got.kept:
		end.fail(verdictOf(err), "it is not known whether it was written: "+err.Error())
		if got.obj != nil {
			end.fail(verdictOf(err), "the answer was lost, and live is not what was sent: "+err.Error())
		}
		end.Fix = "run apply again: it looks first"
	case got.obj == nil:
		end.unread(got.err)
		r.record(ctx, w.key, ledger.AppliedSpec{Spec: w.spec}, end)
	default:
		r.applied(ctx, w, *got.obj, end)
		end.Message = cmp.Or(end.Message, w.done)
	}
}

// unread ends an item that the server took and that can't be read back.
func (o *Outcome) unread(err error) {
	if notFound(err) {
		o.fail(NotConverged, "the server said that it was written, and does not have it")
		return
	}
	o.fail(verdictOf(err), "it was written, and can't be read back: "+err.Error())
}

// sentSpec is the part of the object that the patch speaks of, as live must
// have it afterwards: a null stands for what must be gone.
func sentSpec(it plan.Item) []byte {
	return canon.Bytes(canon.MustDecode(it.Request.Body).(map[string]any)["spec"])
}

// reading is what reading back gave: the object as it was last seen, or nil and
// why.
type reading struct {
	obj  *kind.Object
	err  error
	kept bool
}

// readBack reads the object until it has everything that was sent, four times
// within about ten seconds.
func (r *run) readBack(ctx context.Context, k *kind.Kind, name string, sent []byte) reading {
	var last reading
	for _, pause := range []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second} {
		if pause > 0 && r.Sleep(ctx, pause) != nil {
			break
		}
		obj, err := r.Writer.Get(ctx, k, name)
		if err == nil && obj.Spec == nil {
			err = errors.New("the platform answers it without a spec")
		}
		if err != nil {
			last.err = err
			continue
		}
		last.obj = &obj
		if last.kept = r.kept(k, sent, obj); last.kept {
			break
		}
	}
	return last
}

func (r *run) kept(k *kind.Kind, sent []byte, obj kind.Object) bool {
	return !obj.Terminating && merge.Covers(r.Rules(k), canon.MustDecode(sent), canon.MustDecode(obj.Spec))
}

// applied records the spec as applied, and compares what came back with git
// and with what was sent (design 0.17 and B8).
func (r *run) applied(ctx context.Context, w write, got kind.Object, end *Outcome) {
	end.Mismatches = r.mismatches(w.kind, w.spec, w.sent, got)
	switch {
	case len(end.Mismatches) > 0:
		end.fail(NotConverged, "the server did not keep what was sent")
		end.Fix = "look at each path: change the manifest, or write the override that the hint names"
	case got.Terminating:
		end.fail(Partial, "it was written, and is being deleted")
	}
	r.record(ctx, w.key, ledger.AppliedSpec{
		Spec: w.spec, Converged: len(end.Mismatches) == 0,
		RemoteName: got.Name, UID: got.UID, CreationTimestamp: got.CreationTimestamp,
	}, end)
}

// record makes a spec the last-applied one.
func (r *run) record(ctx context.Context, key kind.Key, a ledger.AppliedSpec, end *Outcome) {
	if r.Journal == nil {
		return
	}
	err := r.Journal.Applied(ctx, key, a)
	switch {
	case err == nil:
	case end.Verdict != OK:
		end.butUntold(err)
	default:
		end.fail(Partial, "it was written, but the ledger could not be told: "+err.Error())
		end.Fix = "run apply again: it finds live as git says and records it"
	}
}

func (r *run) mismatches(k *kind.Kind, spec, sent []byte, got kind.Object) []Mismatch {
	live := canon.MustDecode(got.Spec)
	// What was removed and came back, came back as its default (design B8).
	found := merge.Mismatches(r.Rules(k), merge.StripNulls(canon.MustDecode(sent)), live)
	if len(found) == 0 {
		found = merge.Mismatches(r.Rules(k), canon.MustDecode(spec), live)
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
