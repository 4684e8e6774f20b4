package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// PastMoment names a moment of the ledger's log, which Text describes: before an entry, before the first of a commit, or at a time.
// With Run, it is before the run that wrote the entry.
type PastMoment struct {
	Text   string
	Entry  int
	Run    bool
	Commit string
	Time   time.Time
}

// pastWalk collects the writes since a moment.
type pastWalk struct {
	PastMoment
	writes  []ledger.LogEntry // the newest first
	matched int               // how many of them there are up to the oldest that the moment names
	last    ledger.LogEntry   // that one
	named   map[kind.Key]bool // the objects of those that the moment names
}

// add adds a write, and reports whether an older one may belong to the moment.
func (w *pastWalk) add(e ledger.LogEntry) bool {
	if e.Kind == "" { // a hold
		return true
	}
	matches, more := false, false
	switch {
	case w.Run && w.matched == 0:
		matches, more = e.Entry == w.Entry, true
	case w.Run: // several local runs have the same name
		more, matches = w.last.At.Sub(e.At) < time.Hour, w.isOfRun(e)
	case w.Entry > 0:
		matches = e.Entry >= w.Entry
	case w.Commit != "":
		matches, more = strings.HasPrefix(commitOf(e), w.Commit), true // it may have been applied several times
	default:
		matches = !e.At.Before(w.Time)
	}
	if w.writes = append(w.writes, e); matches {
		w.matched, w.last, w.named[e.Key] = len(w.writes), e, true
	}
	return matches || more
}

func (w *pastWalk) isOfRun(e ledger.LogEntry) bool {
	return e.By == w.last.By && commitOf(e) == commitOf(w.last) && w.last.At.Sub(e.At).Abs() < time.Hour
}

func commitOf(e ledger.LogEntry) string { return cmp.Or(e.Claim, &ledger.Claim{}).Commit }

// readWrites reads what was written since the moment that was asked for. It returns the objects to pull, and notes what can't
// come back.
func (r *pullRun) readWrites(ctx context.Context, asked PullSelection) (found PullSelection, err error) {
	w, wants := &pastWalk{PastMoment: r.opts.Past, named: map[kind.Key]bool{}}, asked.hasKey
	if w.Run {
		wants = nil
	}
	err = r.view.ProblemError()
	if err == nil {
		err = r.ledger.ReadLog(ctx, wants, w.add)
	}
	if err == nil && w.matched == 0 {
		err = fmt.Errorf("nothing was written to these objects since %s: trueup log shows what was", w.Text)
	}
	w.nameWritesOfRun()
	if found = r.selectWrites(w); err == nil && len(found) == 0 {
		err = errors.New(strings.Join(r.Doubts, " ") + " Nothing was pulled")
	}
	return found, config.LedgerError(err)
}

// nameWritesOfRun names what the run wrote after the entry, too.
func (w *pastWalk) nameWritesOfRun() {
	for i := w.matched - 1; i >= 0 && w.Run; i-- {
		if e := w.writes[i]; w.isOfRun(e) {
			w.named[e.Key], w.last = true, e
		}
	}
}

// selectWrites keeps the writes to the objects that are named, and returns these objects.
func (r *pullRun) selectWrites(w *pastWalk) (found PullSelection) {
	r.writes = map[kind.Key][]ledger.LogEntry{}
	for _, e := range w.writes[:w.matched] {
		k, _ := kind.FindKind(e.Kind)
		switch {
		case !w.named[e.Key]:
			continue
		case !k.CanPatch():
			r.Doubts = append(r.Doubts, fmt.Sprintf("%s was %s in entry %d, which can't be undone.", e.Key, e.Did, e.Entry))
			continue
		case r.writes[e.Key] == nil:
			found = append(found, pattern{text: e.String(), kind: k, name: e.Name})
		}
		r.writes[e.Key] = append(r.writes[e.Key], e)
	}
	return found
}

// takePast puts what live had before the writes in place of what it has now.
func (r *pullRun) takePast() {
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
func (r *pullRun) comparePast(i *PulledObject) {
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
