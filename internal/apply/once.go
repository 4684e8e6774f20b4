package apply

import (
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
	made, ok := r.sendOnce(ctx, k, it, end)
	if !ok {
		return
	}
	if err := r.Journal.Posted(ctx, it.Key, made); err != nil {
		end.fail(NeedsPerson, "it was accepted, but the ledger could not be told: "+err.Error())
		end.Fix = fmt.Sprintf("trueup ledger resolve %s --posted --reason 'accepted, seen in the log'", it.Key)
		return
	}
	end.Message = "accepted; the platform executes it later"
}

// make creates an object that is a moment in time, under the same intent
// record (design 0.5).
func (r *run) make(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	bound := context.WithoutCancel(ctx)
	if !r.absent(bound, k, it, end) {
		return
	}
	made, ok := r.sendOnce(bound, k, it, end)
	if !ok {
		return
	}
	name := orElse(made.RemoteName, it.Name)
	r.Report(Event{Key: it.Key, Phase: "verify"})
	spec := r.Spec(it.Key)
	got, kept := r.readBack(bound, k, name, spec)
	if got != nil {
		made = madeOf(*got)
	}
	if err := r.Journal.Posted(bound, it.Key, made); err != nil {
		end.fail(NeedsPerson, "it was made, but the ledger could not be told: "+err.Error())
		end.Fix = fmt.Sprintf("trueup ledger resolve %s --posted --reason 'made, seen in the log'", it.Key)
		return
	}
	switch {
	case got == nil:
		end.fail(NotConverged, "the server said that it was made, and does not have it")
	case got.Terminating:
		end.fail(Partial, "it was made, and is being deleted")
	case !kept:
		end.Mismatches = r.mismatches(k, spec, spec, *got)
		end.fail(NotConverged, "the server did not keep what was sent")
	default:
		r.ready(ctx, k, name, *got, end)
	}
}

// sendOnce claims, sends and settles everything but success.
func (r *run) sendOnce(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) (ledger.Made, bool) {
	if r.Journal == nil {
		end.fail(NeedsPerson, "nothing was sent: a request that is sent once needs the ledger")
		return ledger.Made{}, false
	}
	spec := r.Spec(it.Key)
	claim := r.Journal.Claim
	if it.Recreate {
		claim = r.Journal.ClaimAgain
	}
	if err := claim(ctx, it.Key, spec, plan.SpecDigest(k, spec)); err != nil {
		end.fail(NeedsPerson, "nothing was sent: "+err.Error())
		return ledger.Made{}, false
	}
	obj, err := r.Writer.Create(ctx, k, it.Request.Body)
	end.Sent = err == nil || !notSent(err)
	if err == nil {
		return madeOf(obj), true
	}
	r.unsent(ctx, it.Key, err, end)
	return ledger.Made{}, false
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
		end.Message += " (and the ledger could not be told: " + jerr.Error() + ")"
		end.Verdict = NeedsPerson
	}
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
