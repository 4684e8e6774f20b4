package apply

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// write is one write to an object that converges.
type write struct {
	kind *kind.Kind
	key  kind.Key
	// spec is git's, sent the part of it that the request spoke of.
	spec, sent []byte
	// keeps says that fields of live that git does not mention went along.
	keeps bool
	// leaves says that something of live stays although git says otherwise.
	leaves bool
	// refused says that some of that may be what the server made of an earlier write.
	refused bool
	// made says that there was nothing of the name before.
	made bool
	// done says what was done, in words.
	done string
}

// settle ends an item whose write was answered with err, or nil: it reads
// back, and says how it went.
func (r *run) settle(ctx context.Context, w write, err error, end *Outcome) {
	if err != nil && !uncertain(err) {
		end.fault(err, err.Error())
		if w.keeps {
			end.Fix = "if the server rejects a field that the request repeats from live, omit it in trueup.yaml: overrides: [{kind: " + w.kind.Name + ", path: spec.FIELD, omit: true}]"
		}
		return
	}
	r.Report(Event{Key: w.key, Phase: "verify"})
	got := r.readBack(ctx, w.kind, w.key.Name, w.sent)
	switch {
	case got.kept:
		r.applied(w, *got.obj, end)
		end.Message = cmp.Or(end.Message, w.done)
	case err != nil:
		why := ""
		if got.obj != nil {
			why = "the answer was lost, and live differs from what was sent: "
		}
		end.unknown(err, why)
	case got.cut:
		end.unverified(ctx, "it was written")
		r.record(w.key, ledger.AppliedSpec{Spec: w.spec}, end)
	case got.obj == nil:
		r.unread(w, got.err, end)
	default:
		r.applied(w, *got.obj, end)
		end.Message = cmp.Or(end.Message, w.done)
	}
}

// unknown ends an item of which nobody knows whether it was written.
func (o *Outcome) unknown(err error, why string) {
	o.fault(err, cmp.Or(why, "trueup can't tell whether it was written: ")+err.Error())
	o.Fix = "run apply again, which checks first"
}

// unverified ends an item that the server took, and that the end of the run kept
// from being looked at for long enough.
func (o *Outcome) unverified(ctx context.Context, done string) {
	why, verdict := ended(ctx)
	o.fail(verdict, done+"; "+why+" before live showed it")
	o.Fix = "run plan to see whether anything is left"
}

// unread ends a write that can't be read back. The ledger holds it, because the
// server took it; but nothing was applied to what never was there, and its spec
// stays pending.
func (r *run) unread(w write, err error, end *Outcome) {
	end.unread(err)
	if !w.made || !notFound(err) {
		r.record(w.key, ledger.AppliedSpec{Spec: w.spec}, end)
	}
}

// unread ends an item that the server took and that can't be read back.
func (o *Outcome) unread(err error) {
	if notFound(err) {
		o.fail(NotConverged, "the server answered that it was written, but does not have it")
		return
	}
	o.fault(err, "it was written, but can't be read back: "+err.Error())
}

// sentSpec is the part of the object that the patch speaks of, as live must
// have it afterwards: a null stands for what must be gone.
func sentSpec(it plan.Item) []byte {
	return canon.Bytes(canon.MustDecode(it.Request.Body).(map[string]any)["spec"])
}

// reading is what reading back gave: the object as it was last seen, or nil and
// why; cut says that the run ended before it was looked for as long as it takes.
type reading struct {
	obj       *kind.Object
	err       error
	kept, cut bool
}

// readBack reads the object until it has everything that was sent, four times
// within about ten seconds; a run that is stopped does not wait for that.
func (r *run) readBack(ctx context.Context, k *kind.Kind, name string, sent []byte) reading {
	var last reading
	for _, pause := range looks() {
		if pause > 0 && r.Sleep(ctx, pause) != nil {
			last.cut = ctx.Err() != nil
			break
		}
		obj, err := r.Writer.Get(r.net, k, name)
		if err == nil && obj.Spec == nil {
			err = errors.New("the platform returns it without a spec")
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
	return obj.Spec != nil && !obj.Terminating && merge.Covers(r.Rules(k), canon.MustDecode(sent), canon.MustDecode(obj.Spec))
}

// applied records the spec as applied, and compares what came back with git
// and with what was sent (docs/design.md 0.17 and B8).
func (r *run) applied(w write, got kind.Object, end *Outcome) {
	var filled bool
	end.Mismatches, filled = r.mismatches(w, got)
	switch {
	case len(end.Mismatches) > 0:
		end.fail(NotConverged, "the server did not keep what was sent")
		end.Fix = "check each path: change the manifest, or write the override that the hint names"
	case got.Terminating:
		end.fail(Partial, "it was written, but is being deleted")
	}
	r.record(w.key, ledger.AppliedSpec{
		Spec: w.spec, Converged: len(end.Mismatches) == 0 && !filled && !w.refused,
		RemoteName: got.Name, UID: got.UID, CreationTimestamp: got.CreationTimestamp,
	}, end)
}

// record makes a spec the last-applied one.
func (r *run) record(key kind.Key, a ledger.AppliedSpec, end *Outcome) {
	if r.Journal == nil {
		return
	}
	var err error
	r.aside(func() { err = r.Journal.Applied(r.books, key, a) })
	switch {
	case err == nil:
	case end.Verdict != OK:
		end.butUntold(err)
	default:
		end.fail(Partial, "it was written, but the ledger could not record it: "+err.Error())
		end.Fix = "run apply again, which finds that live equals git and records it"
	}
}

// mismatches are what the server did not keep; filled says that it put something where
// git has null, which is its default and is not sent again.
func (r *run) mismatches(w write, got kind.Object) (out []Mismatch, filled bool) {
	k, live := w.kind, canon.MustDecode(got.Spec)
	// What was removed and came back, came back as its default (docs/design.md B8).
	found := merge.Mismatches(r.Rules(k), merge.StripNulls(canon.MustDecode(w.sent)), live)
	if len(found) == 0 && !w.leaves {
		spec := canon.MustDecode(w.spec)
		found = merge.Mismatches(r.Rules(k), merge.StripNulls(spec), live)
		filled = len(found) == 0 && len(merge.Mismatches(r.Rules(k), canon.MustDecode(w.spec), live)) > 0
	}
	for _, m := range found {
		out = append(out, Mismatch{Path: m.Path, Sent: m.Sent, Returned: m.Returned, Hint: hint(k, m.Hint)})
	}
	return out, filled
}

// hint names the kind in an override, which a comparison does not know.
func hint(k *kind.Kind, override string) string {
	if override == "" {
		return ""
	}
	return "{kind: " + k.Name + ", " + strings.TrimPrefix(override, "{")
}
