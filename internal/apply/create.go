package apply

import (
	"context"
	"fmt"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// create sends the POST of an object that converges, after a GET has shown that
// there is none. It is sent again where it was not written, or where live shows
// that a try without an answer made nothing (docs/design.md C4).
func (r *run) create(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	t := r.tries(k, it)
	for r.tryCreate(ctx, &t, end) {
	}
	r.conclude(&t, end)
}

// tryCreate looks and sends once.
func (r *run) tryCreate(ctx context.Context, t *tries, end *Outcome) (again bool) {
	if !r.turn(ctx, t.kind, end) {
		return false
	}
	if obj, ok := r.absent(ctx, t.kind, t.item.Name, end); !ok {
		if end.Verdict == Stale && t.doubt != nil {
			r.appeared(ctx, t, obj, end)
		}
		return false
	}
	ok, err := r.send(ctx, t, end, func() error {
		_, err := r.Writer.Create(r.net, t.kind, t.item.Request.Body)
		return err
	})
	switch {
	case !ok:
		return false
	case err == nil:
		t.doubt = nil
	case mayBeThere(err):
		return r.lookFor(ctx, t, err, end)
	case notSent(err):
		if transient(err) && r.retry(ctx, t, err) {
			return true
		}
		end.broke(ctx, err, err.Error())
		return false
	}
	r.settle(ctx, t.created(), err, end)
	r.stopIfLost(err)
	return false
}

// mayBeThere reports that an object may be there after a POST that failed.
func mayBeThere(err error) bool { return exists(err) || conflict(err) || uncertain(err) }

func (t *tries) created() write {
	return write{kind: t.kind, key: t.item.Key, spec: t.spec, sent: t.spec, made: true, done: "created"}
}

// absent makes sure that nothing of the name is there right before a POST, and
// returns what is.
func (r *run) absent(ctx context.Context, k *kind.Kind, name string, end *Outcome) (kind.Object, bool) {
	obj, err := r.Writer.Get(ctx, k, name)
	switch {
	case err == nil && !obj.Terminating:
		end.stale("it appeared after the plan was made")
	case err == nil:
		end.stale("an object of that name is being deleted")
	case !notFound(err):
		end.broke(ctx, err, err.Error())
	default:
		return obj, true
	}
	return obj, false
}

// lookFor finds out what a POST did that was not answered, or answered by a 409:
// only what is missing twice was not made.
func (r *run) lookFor(ctx context.Context, t *tries, err error, end *Outcome) (again bool) {
	if uncertain(err) {
		t.doubt = nil // it is this try that is asked about
	}
	obj, looked := r.lookTwice(ctx, t)
	switch {
	case looked == nil:
		r.appeared(ctx, t, obj, end)
	case conflict(err) && r.retry(ctx, t, err):
		return true
	case exists(err) || conflict(err):
		end.fault(err, err.Error())
	case notFound(looked) && t.sends < maxSends && r.retry(ctx, t, err):
		t.doubt = err
		return true
	case notFound(looked):
		end.unknown(err, fmt.Sprintf("sent %d times, but live does not show it: ", t.sends))
	default:
		end.unknown(err, "")
	}
	return false
}

// lookTwice reads an object, and again after a while if it is not there; a run that ends
// in between gets the context's error.
func (r *run) lookTwice(ctx context.Context, t *tries) (kind.Object, error) {
	obj, err := r.Writer.Get(r.net, t.kind, t.item.Name)
	if !notFound(err) {
		return obj, err
	}
	if err := r.Sleep(ctx, r.Options.Retry.LookAgain); err != nil {
		return obj, err
	}
	return r.Writer.Get(r.net, t.kind, t.item.Name)
}

// appeared ends an item whose object is there after a try: ours, or in sync
// anyway. What is something else is left alone.
func (r *run) appeared(ctx context.Context, t *tries, obj kind.Object, end *Outcome) {
	t.doubt = nil
	if !r.kept(t.kind, t.spec, obj) {
		if got := r.readBack(ctx, t.kind, t.item.Name, t.spec); got.obj != nil {
			obj = *got.obj
		}
	}
	if !r.kept(t.kind, t.spec, obj) {
		end.stale("another client created it meanwhile, and it differs from git")
		return
	}
	*end = Outcome{Key: end.Key, Status: Done, Verdict: OK, Sent: end.Sent, Message: "created"}
	if !t.arrived {
		end.Message = "another client created it meanwhile, equal to git"
	}
	t.arrived = true
	r.applied(t.created(), obj, end)
}
