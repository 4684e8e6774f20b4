package apply

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// post sends a request that must be sent at most once: the claim is durable
// before the first byte, the outcome is recorded after it (design A3).
func (r *run) post(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	if !r.claim(ctx, k, it, end) {
		return
	}
	made, err := r.send(ctx, k, it, end)
	if err != nil {
		r.unsent(ctx, it.Key, err, end)
		return
	}
	if r.posted(ctx, it.Key, made, end) {
		end.Message = "accepted; the platform executes it later"
	}
}

// make creates an object that is a moment in time, under the same intent
// record (design 0.5).
func (r *run) make(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	bound := context.WithoutCancel(ctx)
	for _, name := range []string{it.RemoteName, it.Name} {
		if name != "" && !r.absent(bound, k, name, end) {
			return
		}
	}
	if !r.claim(bound, k, it, end) {
		return
	}
	made, err := r.sendMoment(bound, k, it, end)
	if err != nil {
		r.unsent(bound, it.Key, err, end)
		return
	}
	// Recorded before it is verified: a run that dies meanwhile leaves no doubt.
	if !r.posted(bound, it.Key, made, end) {
		return
	}
	r.Report(Event{Key: it.Key, Phase: "verify"})
	spec, name := r.Spec(it.Key), cmp.Or(made.RemoteName, it.Name)
	got := r.readBack(bound, k, name, spec)
	switch {
	case got.obj == nil:
		end.unread(got.err)
	case got.obj.Terminating:
		end.fail(Partial, "it was made, and is being deleted")
	case !got.kept:
		end.Mismatches = r.mismatches(k, spec, spec, *got.obj)
		end.fail(NotConverged, "the server did not keep what was sent")
	default:
		r.ready(ctx, k, name, *got.obj, end)
	}
}

// sendMoment sends the claimed request. An unclear answer is settled by a GET
// of the name, which a GET right before had shown to be free.
func (r *run) sendMoment(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) (ledger.Made, error) {
	made, err := r.send(ctx, k, it, end)
	if err == nil || !uncertain(err) || conflict(err) {
		return made, err
	}
	if got := r.readBack(ctx, k, it.Name, r.Spec(it.Key)); got.kept {
		return madeOf(*got.obj), nil
	}
	return made, err
}

// claim makes the intent to send durable; false means that nothing may be sent.
func (r *run) claim(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) bool {
	if r.Journal == nil {
		end.fail(NeedsPerson, "nothing was sent: a request that is sent once needs the ledger")
		return false
	}
	claim := r.Journal.Claim
	if it.Recreate {
		claim = r.Journal.ClaimAgain
	}
	spec := r.Spec(it.Key)
	if err := claim(ctx, it.Key, spec, plan.SpecDigest(k, spec)); err != nil {
		end.fail(NeedsPerson, "nothing was sent: "+err.Error())
		return false
	}
	return true
}

// send sends the claimed request, once.
func (r *run) send(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) (ledger.Made, error) {
	obj, err := r.Writer.Create(ctx, k, it.Request.Body)
	r.sent(it, err, end)
	return madeOf(obj), err
}

// posted records that the server accepted the claimed request.
func (r *run) posted(ctx context.Context, key kind.Key, made ledger.Made, end *Outcome) bool {
	err := r.Journal.Posted(ctx, key, made)
	if err != nil {
		end.fail(NeedsPerson, "it was accepted, but the ledger could not be told: "+err.Error())
		end.Fix = fmt.Sprintf("trueup ledger resolve %s --posted --reason 'accepted, as the result of apply says'", key)
	}
	return err == nil
}

func madeOf(obj kind.Object) ledger.Made {
	return ledger.Made{RemoteName: obj.Name, UID: obj.UID, CreationTimestamp: obj.CreationTimestamp}
}

// unsent records why a claimed request did not succeed. Only what was provably
// not written, or certainly refused, may be sent again.
func (r *run) unsent(ctx context.Context, key kind.Key, err error, end *Outcome) {
	end.fail(verdictOf(err), err.Error())
	var jerr error
	switch {
	case notSent(err):
		jerr = r.Journal.Release(ctx, key, err.Error())
		end.Fix = "run apply again"
	case conflict(err):
		jerr = r.Journal.MarkUnknown(ctx, key, "the name exists already, and not from this ledger: "+err.Error())
		end.Verdict = NeedsPerson
		end.Fix = fmt.Sprintf("give it another name, or, if it is the same request, trueup ledger adopt %s", key)
	case uncertain(err):
		jerr = r.Journal.MarkUnknown(ctx, key, err.Error())
		end.Message = "it may or may not have been executed: " + err.Error()
		end.Verdict = NeedsPerson
		end.Fix = fmt.Sprintf("find out, then trueup ledger resolve %s --posted|--repost|--abandon --reason TEXT", key)
	default:
		jerr = r.Journal.Rejected(ctx, key, httpStatus(err), err.Error())
		r.stopIfLost(err)
	}
	if jerr != nil {
		end.untold(jerr)
		end.Verdict = NeedsPerson
		end.Fix = fmt.Sprintf("look whether it happened, then trueup ledger resolve %s --posted|--repost|--abandon --reason TEXT", key)
	}
}

// await waits until what an earlier run made is ready.
func (r *run) await(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	name := cmp.Or(it.RemoteName, it.Name)
	obj, err := r.Writer.Get(ctx, k, name)
	if err != nil {
		end.fail(verdictOf(err), err.Error())
		return
	}
	r.ready(ctx, k, name, obj, end)
}

// pollEvery is how often a waiting run looks whether something is ready.
const pollEvery = 2 * time.Second

// ready says how far a new object is, and waits for it where the user asked.
// An interruption ends the waiting, not what was made.
func (r *run) ready(ctx context.Context, k *kind.Kind, name string, obj kind.Object, end *Outcome) {
	waited := time.Duration(0)
	for {
		ready, failure := k.Ready(obj.Status)
		switch {
		case failure != "":
			end.fail(Partial, "the server made it and says: "+failure)
			return
		case ready:
			end.Message = "made and ready"
			return
		case !r.Options.Wait:
			end.Message = "made; not ready yet (--wait waits)"
			return
		case waited >= r.Options.WaitTimeout:
			end.fail(Partial, fmt.Sprintf("made, but not ready within %s", r.Options.WaitTimeout))
			end.Fix = "it may still become ready: look with plan"
			return
		}
		r.Report(Event{Key: end.Key, Phase: "wait", Message: fmt.Sprintf("not ready after %s", waited)})
		if r.Sleep(ctx, pollEvery) != nil {
			end.fail(Interrupted, "made; interrupted while it was not ready yet")
			return
		}
		waited += pollEvery
		if next, err := r.Writer.Get(ctx, k, name); err == nil {
			obj = next
		}
	}
}
