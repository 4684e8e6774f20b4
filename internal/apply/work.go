package apply

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// How a write is repeated (docs/design.md C4).
const (
	// maxTries bounds how often a request is made that was not written, or may be made twice;
	// maxSends how often a POST is sent that may have arrived before.
	maxTries = 4
	maxSends = 3
	// firstPause and maxPause bound the interval of pauses, which doubles.
	firstPause = 500 * time.Millisecond
	maxPause   = 20 * time.Second
	// maxWait is the longest pause that a server may ask for (Retry-After).
	maxWait = 15 * time.Minute
	// lookAgain is the pause between two looks for what a POST without an answer may have made.
	lookAgain = 2 * time.Second
)

// work is the work on one item, over its tries.
type work struct {
	*run
	kind *kind.Kind
	item *plan.Item
	// spec is git's, canonical JSON, once something is sent.
	spec []byte
	// failed counts the tries that failed; before the next one comes a random part of the interval.
	failed   int
	interval time.Duration
	// sent says that a request left; sends counts those that may have arrived.
	sent  bool
	sends int
	// begun says that the spec is pending in the ledger, arrived that it has to
	// stay so: the server took it, or may have.
	begun, arrived bool
	// doubt is why a try before this one may have been carried out, or nil.
	doubt error
}

func (r *run) work(i int) *work {
	k, _ := kind.Named(r.items[i].Kind)
	return &work{run: r, kind: k, item: &r.items[i]}
}

// all does all of the work, by the policy of the kind.
func (w *work) all(ctx context.Context) Outcome {
	return w.finish(func() *Outcome {
		if w.item.Request == nil {
			return w.still(ctx)
		}
		if end := w.held(ctx); end != nil {
			return end
		}
		w.report("start", "")
		w.spec = w.Spec(w.item.Key)
		if w.kind.CreateOnly() {
			return w.over(w.make(ctx))
		}
		return w.over(w.converge(ctx))
	})
}

// held returns why an item is not begun: the run was stopped, or something that it
// waits for did not end well.
func (w *work) held(ctx context.Context) *Outcome {
	if end := w.halted(ctx); end != nil {
		return end
	}
	for _, key := range w.item.After {
		i, ok := w.index[key]
		if !ok {
			return skipped(Partial, "waits for "+key.String()+", which is not part of this run")
		}
		before := w.outcomes[i]
		normalised := before.Verdict == NotConverged && len(before.Mismatches) > 0
		switch {
		case before.Verdict == OK, normalised && w.Options.AcceptNormalised:
		case normalised:
			return skipped(Partial, "waits for "+key.String()+": the server did not keep what was sent (to continue anyway: --accept-normalised)")
		default:
			return skipped(Partial, "waits for "+key.String()+", which failed")
		}
	}
	return nil
}

// still ends an item that needs no request.
func (w *work) still(ctx context.Context) *Outcome {
	it := w.item
	end := done("")
	switch {
	case it.Op == plan.InFlight:
		return w.yield(it.Key)
	case it.Op == plan.Deferred:
		return &Outcome{Status: Deferred, Verdict: Partial, Message: it.Reason, Fix: it.Fix}
	case it.Op == plan.Blocked:
		end = &Outcome{Status: Blocked, Verdict: Partial, Message: it.Reason, Fix: it.Fix}
		if it.NeedsPerson {
			end.Verdict = NeedsPerson
		}
		w.giveUp(ctx, end)
		if !it.Failed { // else it is live all the same
			return end
		}
	case it.Leaves():
		end.Message = it.Reason
	}
	return w.settled(ctx, end)
}

// giveUp records that a person must decide about what a run that is gone claimed.
func (w *work) giveUp(ctx context.Context, end *Outcome) {
	if !w.item.Lost || w.Journal == nil {
		return
	}
	now, err := w.Clock(ctx, w.kind)
	if err == nil {
		err = w.Journal.GiveUp(w.books, w.item.Key, now)
	}
	end.unrecorded(err)
}

// finish runs the work, or a part of it. A panic is the outcome of the item, so that
// the rest goes on.
func (w *work) finish(do func() *Outcome) Outcome {
	var end *Outcome
	if err := w.safely(w.item.Key, func() error { end = do(); return nil }); err != nil {
		end = w.over(failed(Partial, err.Error(),
			"run apply again, which checks first. This is a bug in trueup: report it with the output of -v"))
	}
	end.Key, end.Sent = w.item.Key, end.Sent || w.sent
	return *end
}

// over reports that an item has ended.
func (w *work) over(end *Outcome) *Outcome {
	if end.Verdict == Auth {
		w.stop(stoppedByAuth)
	}
	w.report("end", end.Message)
	return end
}

func (w *work) report(phase, message string) {
	w.Report(Event{Key: w.item.Key, Phase: phase, Message: message})
}

// turn waits for the rate limit, before the look that a write relies on.
func (w *work) turn(ctx context.Context) *Outcome {
	if err := w.Writer.Turn(ctx, w.kind); err != nil {
		return broke(ctx, err, "")
	}
	return nil
}

// send makes a request, and notes whether it left; one that panics may have.
func (w *work) send(request func() error) error {
	before := w.sent
	w.sent = true
	err := request()
	if err != nil && notSent(err) {
		w.sent = before
		return err
	}
	w.report("sent", w.item.Request.Method+" "+w.item.Request.Path)
	if err == nil || uncertain(err) {
		w.arrived = true
		w.sends++
	}
	return err
}

// retry waits for another try after one that failed for the moment, if there is
// one left and the run goes on.
func (w *work) retry(ctx context.Context, err error) bool {
	return w.left(err) && w.rest(ctx, err)
}

// rest waits before another try; false means that the run ends before that.
func (w *work) rest(ctx context.Context, err error) bool {
	w.interval = min(max(firstPause, 2*w.interval), maxPause)
	d := max(rand.N(w.interval), ask(err, Answer.Wait))
	if limit, ends := ctx.Deadline(); ctx.Err() != nil || ends && time.Until(limit) < d {
		return false
	}
	w.report("wait", fmt.Sprintf("again in %s: %s", d.Round(time.Millisecond), err))
	return w.Sleep(ctx, d) == nil
}

// left counts a try that failed, and reports whether there is another. A try that was not even
// sent, because the platform had asked another request of its area to wait, does not count.
func (w *work) left(err error) bool {
	wait := ask(err, Answer.Wait)
	if !notSent(err) || httpStatus(err) != 0 || wait == 0 {
		w.failed++
	}
	// Where the time of the run is limited, rest waits for what fits.
	return w.failed < maxTries && (w.bounded || wait <= maxWait)
}

// look reads an object until it is as it should be, four times within about ten
// seconds; cut says that the run ended before that.
func (w *work) look(ctx context.Context, name string, isRight func(kind.Object, error) bool) (cut bool) {
	for _, pause := range []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second} {
		if pause > 0 && w.Sleep(ctx, pause) != nil {
			return ctx.Err() != nil
		}
		if isRight(w.Writer.Get(w.net, w.kind, name)) {
			return false
		}
	}
	return false
}

// reading is what reading back gave: the object as it was last seen, or nil and
// why; kept says that it has everything that was sent, cut that the run ended before
// it was looked for as long as it takes.
type reading struct {
	obj       *kind.Object
	err       error
	kept, cut bool
}

// readBack reads the object until it has everything that was sent.
func (w *work) readBack(ctx context.Context, name string, sent []byte) (last reading) {
	last.cut = w.look(ctx, name, func(obj kind.Object, err error) bool {
		if err == nil && obj.Spec == nil {
			err = errors.New("the platform returns it without a spec")
		}
		if err != nil {
			last.err = err
			return false
		}
		last.obj, last.kept = &obj, w.keeps(sent, obj)
		return last.kept
	})
	return last
}

// keeps reports whether an object has everything that was sent.
func (w *work) keeps(sent []byte, obj kind.Object) bool {
	return obj.Spec != nil && !obj.Terminating && merge.Covers(w.Rules(w.kind), canon.MustDecode(sent), canon.MustDecode(obj.Spec))
}

// pollEvery is how often a waiting run looks.
const pollEvery = 2 * time.Second

// waiting is a wait, with --wait, for what the platform does after it answered.
type waiting struct {
	*work
	// did is what was done, state what is waited for, such as ready.
	did, state string
	// looking is for the looks: each may take long if the platform does not answer.
	looking context.Context
	waited  time.Duration
}

// pause waits for the next look. An interruption ends the waiting, not what was done.
func (w *waiting) pause(ctx context.Context) *Outcome {
	limit := w.Options.WaitTimeout
	if w.waited >= limit || w.looking.Err() != nil && ctx.Err() == nil {
		return failed(Partial, fmt.Sprintf("%s, but not %s within %s", w.did, w.state, limit), "run plan later to see whether it is "+w.state)
	}
	w.report("wait", fmt.Sprintf("not %s after %s", w.state, w.waited))
	if w.Sleep(ctx, pollEvery) != nil {
		why, verdict := ended(ctx)
		return failed(verdict, fmt.Sprintf("%s; %s while it was not %s yet", w.did, why, w.state), "")
	}
	w.waited += pollEvery
	return nil
}
