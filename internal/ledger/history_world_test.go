package ledger_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// The world of a history has one clock, which goes on a little with each call,
// and leaps where nobody has anything to do until later. Every call of a run to
// its store and to the platform waits until the world lets it through: it does
// one thing at a time, on one goroutine, so that a history is what was drawn. A
// run that waits for itself otherwise than by a channel or a WaitGroup, such as
// by a mutex that it holds while it calls, would never be seen to wait.
type world struct {
	t    *rapid.T
	now  time.Time
	runs []*run
	// coming is what happens at its time, whoever waits for what.
	coming []happening

	mu sync.Mutex
	// calls are those that wait, held those whose outcome is being drawn.
	calls, held []*call

	nature   nature
	platform *platform
	store    storeMaker
	// records are those that the store has.
	records map[kind.Key]ledger.Record
	// lastPost is when a request of a name was last let through.
	lastPost map[kind.Key]time.Time
	// last is the moment that was drawn last.
	last time.Time
	set  *manifest.Set
	// doubled says that a request was executed twice.
	doubled bool
	// calm ends all faults.
	calm bool

	tally *tally
	// wrong is what must not be.
	wrong []string
	// model is what the model is told of it.
	model []modelEvent
	trace []step
}

// happening is something that comes to pass at a time.
type happening struct {
	at time.Time
	do func()
}

// sort of call: which faults it can have.
type sort int

const (
	aRead sort = iota
	aWrite
	aPost
	aPause
)

// call is a call that waits to be let through.
type call struct {
	run  *run
	sort sort
	what string
	from time.Time
	// do is its effect.
	do   func() error
	done chan error
	// spoilt says that its outcome is drawn already.
	spoilt bool
}

// errDead is what a run that was killed hears of everything.
var errDead = errors.New("the process is dead")

// ask waits until the world lets a call through, and returns what became of it.
func (r *run) ask(c *call) error {
	w := r.world
	w.mu.Lock()
	if r.dead {
		w.mu.Unlock()
		return errDead
	}
	c.run, c.done = r, make(chan error, 1)
	if c.from.IsZero() {
		c.from = w.now
	}
	w.calls = append(w.calls, c)
	w.mu.Unlock()
	return <-c.done
}

// at lets something happen later.
func (w *world) at(t time.Time, do func()) {
	i, _ := slices.BinarySearchFunc(w.coming, t, func(h happening, t time.Time) int {
		return cmp.Or(h.at.Compare(t), -1)
	})
	w.coming = slices.Insert(w.coming, i, happening{t, do})
}

// tick is how long everything takes.
const tick = 200 * time.Millisecond

// play goes on until nobody waits for anything.
func (w *world) play() {
	for {
		synctest.Wait()
		w.now = w.now.Add(tick)
		for len(w.coming) > 0 && !w.coming[0].at.After(w.now) {
			next := w.coming[0]
			w.coming = w.coming[1:]
			next.do()
			synctest.Wait()
		}
		if group := w.choose(); group != nil {
			w.let(group)
			continue
		}
		if !w.leap() {
			return
		}
	}
}

// choose draws whose call is let through. Calls that are the same are one: which
// of a run's goroutines made them is unknown.
func (w *world) choose() []*call {
	slices.SortStableFunc(w.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.run.id, b.run.id), cmp.Compare(a.what, b.what), a.from.Compare(b.from))
	})
	var starts []int
	for i, c := range w.calls {
		if c.from.After(w.now) || c.run.asleep.After(w.now) {
			continue
		}
		if i > 0 && c.like(w.calls[i-1]) {
			continue
		}
		starts = append(starts, i)
	}
	if len(starts) == 0 {
		return nil
	}
	first := starts[w.draw("who", len(starts))]
	last := first + 1
	for last < len(w.calls) && w.calls[last].like(w.calls[first]) {
		last++
	}
	group := slices.Clone(w.calls[first:last])
	w.calls = slices.Delete(w.calls, first, last)
	return group
}

func (c *call) like(other *call) bool {
	return c.run == other.run && c.what == other.what && c.from.Equal(other.from)
}

// draw is a number below n.
func (w *world) draw(label string, n int) int {
	if n < 2 || w.calm {
		return 0
	}
	return rapid.IntRange(0, n-1).Draw(w.t, label)
}

// leap goes to when somebody has something to do again.
func (w *world) leap() bool {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range w.calls {
		if c.run.asleep.After(c.from) {
			sooner(c.run.asleep)
		} else {
			sooner(c.from)
		}
	}
	if len(w.coming) > 0 {
		sooner(w.coming[0].at)
	}
	if next.After(w.now) {
		w.now = next
	}
	return !next.IsZero()
}

// let lets calls through, or has another outcome for them. Nobody goes on before
// all of them have met it.
func (w *world) let(group []*call) {
	c := group[0]
	w.held = group
	what := fine
	if !w.calm && !c.spoilt && w.misfortune(c) {
		fates := c.fates()
		what = fates[w.draw("fate", len(fates))]
	}
	what = c.outage(what)
	w.trace = append(w.trace, step{w.now, c, what})
	stops := map[fate]func(){
		killedBefore: c.run.kill,
		killedAfter:  func() { w.carryOut(group); c.run.kill() },
		asleep:       func() { c.run.asleep = w.now.Add(w.nap(c.run)); w.release() },
		interrupted:  func() { c.run.interrupt(); w.release() },
	}
	if stop, ok := stops[what]; ok {
		stop()
		return
	}
	answers := make([]error, len(group))
	for i, c := range group {
		answers[i] = w.meet(c, what)
	}
	w.held = nil
	if c.sort == aPost && !c.spoilt {
		w.tellModel(modelEvent{what: "sends", run: c.run.id, values: heardOf(answers[0])})
	}
	for i, c := range group {
		if !errors.Is(answers[i], errWaits) {
			c.done <- answers[i]
		}
	}
}

// carryOut does what calls ask for, whose callers will never know.
func (w *world) carryOut(group []*call) {
	for _, c := range group {
		_ = c.do()
	}
}

// release lets the calls that were held wait again.
func (w *world) release() {
	w.calls = append(w.calls, w.held...)
	w.held = nil
}

// step is a call that was let through, and how it fared.
type step struct {
	at   time.Time
	call *call
	fate fate
}

func (s step) String() string {
	return fmt.Sprintf("%s %s: %s: %s", s.at.Format("02T15:04:05"), s.call.run, s.call.what, s.fate)
}

// fault notes what must not be.
func (w *world) fault(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// end kills whoever is left, so that nothing of a history outlives it.
func (w *world) end() {
	for _, r := range w.runs {
		r.kill()
	}
	synctest.Wait()
}

// kill ends a run: nothing that it does from here on has an effect.
func (r *run) kill() {
	w := r.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release()
	r.dead = true
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool {
		if c.run == r {
			c.done <- errDead
		}
		return c.run == r
	})
}

// gate is a store of the world as a run sees it.
func (r *run) gate(s ledger.RecordStore) ledger.RecordStore {
	return ledger.Gated{
		RecordStore: s,
		Gate: func(what string, do func() error) error {
			return r.ask(&call{sort: aRead, what: what, do: func() error { return r.world.store.outside(do) }})
		},
		Write: func(_ int, rec ledger.Record, do func() error) error {
			return r.ask(&call{
				sort: aWrite, what: fmt.Sprintf("put %s %d %s", rec.Key, rec.Seq, rec.State),
				do: func() error { return r.world.put(r.id, rec, do) },
			})
		},
	}
}

// direct is the store as a person sees it, for whom nothing goes wrong.
func (w *world) direct(s ledger.RecordStore) ledger.RecordStore {
	return ledger.Gated{
		RecordStore: s,
		Gate:        func(_ string, do func() error) error { return w.store.outside(do) },
		Write:       func(_ int, rec ledger.Record, do func() error) error { return w.put(nobody, rec, do) },
	}
}

// put writes a record, and judges what was written.
func (w *world) put(run int, rec ledger.Record, do func() error) error {
	if err := w.store.outside(do); err != nil {
		return err
	}
	old := w.records[rec.Key]
	w.records[rec.Key] = rec
	w.tally.moved(old, rec, w)
	w.tellModel(w.writeEvent(run, rec))
	if rec.State == ledger.Posted && w.platform.executed(rec.Key) == 0 {
		w.fault("%s is recorded as posted, and was never executed", rec.Key)
	}
	return nil
}

// storeMaker opens the store of a history, once for each run.
type storeMaker interface {
	open() ledger.RecordStore
	// outside runs a call of the store where it may wait for the real world.
	outside(do func() error) error
	close()
}
