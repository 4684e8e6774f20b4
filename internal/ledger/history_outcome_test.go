package ledger_test

import (
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// nature is how a world is.
type nature struct {
	luck   int
	window time.Duration
	// proven says that the ledger has a proof that the platform refuses
	// duplicates; dateless that its answers tell no time.
	proven, dateless bool
	// gap bounds how long after the look at the clock a request leaves; people
	// answer only when nothing can be under way.
	gap time.Duration
}

// outage is how a request ends while its run can't reach the platform, or
// not be reached.
func (c *call) outage(f fate) fate {
	r, w := c.run, c.run.world
	switch {
	case c.sort != aPost || c.spoilt:
		return f
	case f == cutOff || f == deafened:
		r.apart = w.now.Add(w.span("apart", delay))
		r.fate = map[fate]fate{cutOff: lost, deafened: unanswered}[f]
		return r.fate
	case f == fine && r.apart.After(w.now):
		return r.fate
	}
	return f
}

// misfortune draws whether a fault happens. Most draws of a range lie in its
// lower half, and what a failure is reduced to has none.
func (w *world) misfortune(c *call) bool {
	luck := w.nature.luck
	if c.sort == aPost {
		luck /= 2
	}
	roll := rapid.IntRange(0, 1024).Draw(w.t, "luck")
	return roll < 1024 && roll >= luck
}

// fate is what becomes of a call.
type fate string

const (
	fine         fate = "goes through"
	killedBefore fate = "killed before it"
	killedAfter  fate = "killed after it"
	asleep       fate = "asleep before it"
	interrupted  fate = "interrupted before it"
	failed       fate = "fails"
	never        fate = "never sent"
	refused      fate = "is refused"
	denied       fate = "is denied"
	lost         fate = "is lost"
	unanswered   fate = "its answer is lost"
	late         fate = "arrives late"
	cutOff       fate = "is lost, as are those that follow"
	deafened     fate = "its answer is lost, as are those that follow"
)

// fates are those that a call can have.
func (c *call) fates() []fate {
	return map[sort][]fate{
		aRead:  {killedBefore, asleep, failed, interrupted},
		aWrite: {killedBefore, killedAfter, asleep, failed, unanswered, late, interrupted},
		aPost:  {killedBefore, killedAfter, unanswered, lost, late, asleep, never, refused, denied, cutOff, deafened},
		aPause: {killedBefore, asleep},
	}[c.sort]
}

// patience is how long a caller waits for an answer, delay how long a request can
// be under way.
const (
	patience = 30 * time.Second
	delay    = 10 * time.Minute
)

// errWaits stands for an answer that the caller still waits for.
var errWaits = errors.New("no answer yet")

// meet carries a call out, or not, and returns what the caller hears.
func (w *world) meet(c *call, f fate) error {
	atOnce := map[fate]error{
		failed: silence("reset"), never: unsent("connection refused"), refused: refusal(422), denied: refusal(403),
	}
	if err, ok := atOnce[f]; ok {
		return err
	}
	if f == fine {
		return c.do()
	}
	if f == unanswered {
		_ = c.do()
	}
	if f == late {
		w.at(w.now.Add(w.span("delay", delay)), func() { _ = c.do() })
	}
	err := silence("no answer")
	w.calls = append(w.calls, &call{
		run: c.run, sort: c.sort, what: c.what, from: w.now.Add(patience),
		do: func() error { return err }, done: c.done, spoilt: true,
	})
	return errWaits
}

// nap is for how long a machine is suspended. What was let go by the one rule is
// under way no longer than the gap: nothing can defend more than that.
func (w *world) nap(r *run) time.Duration {
	most := 30 * time.Hour
	if slices.ContainsFunc(slices.Concat(w.held, w.calls), func(c *call) bool { return c.run == r && c.sort == aPost }) {
		most = w.nature.gap
	}
	return w.span("nap", most)
}

// span is a time up to most: seconds, minutes or hours.
func (w *world) span(label string, most time.Duration) time.Duration {
	unit := []time.Duration{time.Second, time.Minute, 10 * time.Minute, time.Hour}[w.draw(label+" unit", 4)]
	return min(most, time.Duration(1+w.draw(label, 60))*unit)
}
