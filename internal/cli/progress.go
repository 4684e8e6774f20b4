package cli

import (
	"log/slog"
	"sync/atomic"
	"time"

	"trueup/internal/report"
)

// How long a run is silent before it shows a bar, how often it draws the bar, and how often it writes
// a line if there is no terminal for a bar.
const (
	barAfter  = time.Second
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// phase is a part of a run that shows its progress if it takes long.
type phase struct {
	app   *app
	doing string
	begun time.Time
	// of is 0 if the total is unknown.
	done, of atomic.Int64

	// app.logging guards what follows. timer is nil if progress is not shown.
	timer *time.Timer
	ended bool
	// The rate is that since the earlier mark, which is some seconds old: the speed long ago does not
	// predict what is left.
	earlier, later mark
}

// mark has how many were done at a time.
type mark struct {
	at   time.Time
	done int64
}

// begin begins a phase.
func (a *app) begin(doing string) *phase {
	now := a.env.Now()
	p := &phase{app: a, doing: doing, begun: now, earlier: mark{at: now}, later: mark{at: now}}
	if a.global.quiet {
		return p
	}
	a.logging.Lock()
	defer a.logging.Unlock()
	if a.tellAt.IsZero() {
		a.tellAt = now.Add(a.patience())
	}
	p.timer = time.AfterFunc(a.tellAt.Sub(now), p.tell)
	return p
}

// beginPhase is begin for packages that do not know phases.
func (a *app) beginPhase(doing string) (reached func(done, of int), end func()) {
	p := a.begin(doing)
	return p.reached, p.end
}

// reached sets the progress. Any goroutine may call it.
func (p *phase) reached(done, of int) {
	p.done.Store(int64(done))
	p.of.Store(int64(of))
}

// end ends the phase and removes its bar.
func (p *phase) end() {
	p.app.logging.Lock()
	defer p.app.logging.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.app.noBar()
}

// tell shows the progress, and sets the time of the next call.
func (p *phase) tell() {
	a := p.app
	a.logging.Lock()
	defer a.logging.Unlock()
	if p.ended {
		return
	}
	now, every := a.env.Now(), lineEvery
	if a.hasBars() {
		every = barEvery
		if columns := a.env.StderrWidth(); columns > 0 {
			a.bar = true
			_ = report.NewLines(a.env.Stderr).Bar(p.at(now), columns-1)
		}
	} else {
		a.line(slog.LevelInfo, p.at(now).String(), nil)
	}
	a.tellAt = now.Add(every)
	p.timer.Reset(every)
}

// at returns the progress.
func (p *phase) at(now time.Time) report.Progress {
	done := p.done.Load()
	if now.Sub(p.later.at) >= lineEvery {
		p.earlier, p.later = p.later, mark{now, done}
	}
	told := report.Progress{Doing: p.doing, Done: int(done), Of: int(p.of.Load()), Took: now.Sub(p.begun)}
	if passed := now.Sub(p.earlier.at).Seconds(); passed > 0 {
		told.Rate = float64(done-p.earlier.done) / passed
	}
	return told
}

// noBar removes the bar from the last line of the terminal. The caller holds logging.
func (a *app) noBar() {
	if a.bar {
		_ = report.NewLines(a.env.Stderr).NoBar()
		a.bar = false
	}
}

// rest restarts the silence after a person answered a question.
func (a *app) rest() {
	a.logging.Lock()
	defer a.logging.Unlock()
	a.tellAt = time.Time{}
}

// patience returns how long a run is silent at first, and after a question.
func (a *app) patience() time.Duration {
	if a.hasBars() {
		return barAfter
	}
	return lineEvery
}

// hasBars reports whether the terminal can show a bar, and the user did not ask for lines.
func (a *app) hasBars() bool {
	return a.env.StderrWidth != nil && a.env.StderrIsTTY && a.env.Getenv("TERM") != "dumb" &&
		!a.inCI() && !a.global.verbose && a.global.logFormat != "json"
}
