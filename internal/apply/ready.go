package apply

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// await waits until what an earlier run made is ready.
func (r *run) await(ctx context.Context, k *kind.Kind, it plan.Item, end *Outcome) {
	name := cmp.Or(it.RemoteName, it.Name)
	obj, err := r.Writer.Get(ctx, k, name)
	if why, verdict := ended(ctx); err != nil && why != "" {
		end.fail(verdict, why+" before it was ready")
		return
	}
	if err != nil {
		end.fault(err, err.Error())
		return
	}
	r.ready(ctx, k, name, obj, end)
}

// pollEvery is how often a waiting run looks whether something is ready.
const pollEvery = 2 * time.Second

// isOver reports whether the looks of a wait took all of its time, and the run goes
// on: each may take long where the platform does not answer.
func isOver(looking, ctx context.Context) bool { return looking.Err() != nil && ctx.Err() == nil }

// ready says how far a new object is, and waits for it where the user asked.
// An interruption ends the waiting, not what was made.
func (r *run) ready(ctx context.Context, k *kind.Kind, name string, obj kind.Object, end *Outcome) {
	looking, stop := context.WithTimeout(ctx, r.Options.WaitTimeout)
	defer stop()
	waited := time.Duration(0)
	for {
		ready, failure := k.Ready(obj.Status)
		switch {
		case failure != "":
			end.fail(Partial, "the server created it and says: "+failure)
			return
		case ready:
			end.Message = "made and ready"
			return
		case !r.Options.Wait:
			end.Message = "created; not ready yet (--wait waits)"
			return
		case waited >= r.Options.WaitTimeout, isOver(looking, ctx):
			end.fail(Partial, fmt.Sprintf("created, but not ready within %s", r.Options.WaitTimeout))
			end.Fix = "it may still become ready: check with plan"
			return
		}
		r.Report(Event{Key: end.Key, Phase: "wait", Message: fmt.Sprintf("not ready after %s", waited)})
		if r.Sleep(ctx, pollEvery) != nil {
			why, verdict := ended(ctx)
			end.fail(verdict, "made; "+why+" while it was not ready yet")
			return
		}
		waited += pollEvery
		if next, err := r.Writer.Get(looking, k, name); err == nil {
			obj = next
		}
	}
}
