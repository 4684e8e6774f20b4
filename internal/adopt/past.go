package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// Past names a moment of the ledger's log: before an entry, before the first of a commit, or at a time. With Run, it is before
// the run that wrote the entry.
type Past struct {
	Entry  int
	Run    bool
	Commit string
	Time   time.Time
}

func (p Past) isSet() bool { return p != Past{} }

// String describes the moment.
func (p Past) String() string {
	switch {
	case p.Run:
		return fmt.Sprintf("the run of entry %d", p.Entry)
	case p.Entry > 0:
		return fmt.Sprintf("entry %d", p.Entry)
	case p.Commit != "":
		return "commit " + p.Commit
	}
	return p.Time.UTC().Format(time.RFC3339)
}

// sameRun is how long a run may write nothing, if several have the same name.
const sameRun = time.Hour

// pastWalk collects the writes since a moment.
type pastWalk struct {
	Past
	writes  []ledger.LogEntry // the newest first
	matched int               // how many of them there are up to the oldest that the moment names
	run     ledger.LogEntry   // the last one of the run
}

// add adds a write, and reports whether older ones may belong to it.
func (w *pastWalk) add(e ledger.LogEntry) bool {
	matches := false
	switch {
	case e.Kind == "": // a hold
		return true
	case w.Run && w.matched == 0:
		matches = e.Entry == w.Entry
	case w.Run:
		matches = w.isOfRun(e)
		if !matches && w.run.At.Sub(e.At) > sameRun {
			return false
		}
	case w.Entry > 0:
		matches = e.Entry >= w.Entry
	case w.Commit != "":
		matches = e.Claim != nil && strings.HasPrefix(e.Claim.Commit, w.Commit)
	default:
		matches = !e.At.Before(w.Time)
	}
	if !matches && !w.Run && (w.Commit == "" || w.matched > 0) {
		return false
	}
	if w.writes = append(w.writes, e); matches {
		w.matched, w.run = len(w.writes), e
	}
	return true
}

func (w *pastWalk) isOfRun(e ledger.LogEntry) bool {
	sameCommit := e.Claim == nil || w.run.Claim == nil || e.Claim.Commit == w.run.Claim.Commit
	return e.By == w.run.By && sameCommit && w.run.At.Sub(e.At) <= sameRun
}

// readWrites reads what was written since the moment that was asked for. It returns the objects to pull, and notes what can't
// come back.
func (r *run) readWrites(ctx context.Context, asked Selection) (Selection, error) {
	if err := config.LedgerError(r.view.ProblemError()); err != nil {
		return nil, err
	}
	w, wants := &pastWalk{Past: r.opts.Past}, asked.hasKey
	if w.Run {
		wants = nil
	}
	if err := r.ledger.ReadLog(ctx, wants, w.add); err != nil {
		return nil, err
	}
	if w.matched == 0 {
		return nil, fmt.Errorf("nothing was written to these objects since %s: trueup log shows what was", w.Past)
	}
	r.writes = map[kind.Key][]ledger.LogEntry{}
	var found Selection
	for _, e := range w.writes[:w.matched] {
		k, _ := kind.FindKind(e.Kind)
		if w.Run && !slices.ContainsFunc(w.writes[:w.matched], func(o ledger.LogEntry) bool { return o.Key == e.Key && w.isOfRun(o) }) {
			continue
		}
		switch {
		case !k.CanPatch() && e.Did == ledger.DidDelete:
			r.Doubts = append(r.Doubts, fmt.Sprintf("%s was deleted in entry %d: its data does not come back.", e.Key, e.Entry))
			continue
		case k.RequestOnly():
			r.Doubts = append(r.Doubts, fmt.Sprintf("%s was executed in entry %d, which can't be undone.", e.Key, e.Entry))
			continue
		case !k.CanPatch():
			r.Doubts = append(r.Doubts, fmt.Sprintf("%s was created in entry %d, and stays.", e.Key, e.Entry))
			continue
		case r.writes[e.Key] == nil:
			found = append(found, pattern{text: e.String(), kind: k, name: e.Name})
		}
		r.writes[e.Key] = append(r.writes[e.Key], e)
	}
	if len(found) == 0 {
		return nil, errors.New(strings.Join(append(r.Doubts, "Nothing was pulled."), " "))
	}
	return found, nil
}

// takePast puts what live had before the writes in place of what it has now.
func (r *run) takePast() {
	for _, i := range r.Items {
		writes := r.writes[i.Key()]
		if len(writes) == 0 {
			continue
		}
		i.now = i.live
		spec, err := plan.SpecBefore(writes)
		switch {
		case err != nil:
			i.refuseItem(err.Error(), "write the manifest by hand: trueup log -p shows what git changed")
		case spec == nil:
			i.refuseItem(fmt.Sprintf("it was created in entry %d", writes[len(writes)-1].Entry), "the platform documents no deletion: remove its manifest, and delete it in the console")
		default:
			i.live.Spec = spec
		}
	}
}

// comparePast notes an object that will differ from what live had before, although git gets all that trueup has written since.
func (r *run) comparePast(i *Item) {
	writes := r.writes[i.Key()]
	if len(writes) == 0 || i.Verdict == Refused {
		return
	}
	oldest := writes[len(writes)-1]
	rec := r.view.Records[i.Key()]
	if plan.SumAfter(i.live.Kind, r.project.Overrides, rec, i.draft.Spec, i.now) != oldest.Live.Sum {
		i.Reason = fmt.Sprintf("something else changed fields since entry %d that trueup did not write: they stay", oldest.Entry)
	}
}
