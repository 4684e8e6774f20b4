package cli

import (
	"log/slog"
	"sync/atomic"
	"time"

	"trueup/internal/report"
)

// How long a run is silent before a bar is shown, how often a bar is drawn, and
// how often a line is written where there is no terminal for a bar.
const (
	barAfter  = time.Second
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// phase is a part of a run that may take long, and is told of while it does.
type phase struct {
	app   *app
	doing string
	begun time.Time
	// done of so many are done; of is 0 where that is not known.
	done, of atomic.Int64

	// What follows is guarded by app.logging. Timer is nil where nothing is told.
	timer *time.Timer
	ended bool
	// rate counts from the earlier of two marks, of which one is always some
	// seconds old: what was long ago says nothing of what is to come.
	earlier, later mark
}

// mark is how many were done at a time.
type mark struct {
	at   time.Time
	done int64
}

// begin begins a phase. Until a phase is long, it costs a timer.
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

// reached is told how far the phase is, from any goroutine.
func (p *phase) reached(done, of int) {
	p.done.Store(int64(done))
	p.of.Store(int64(of))
}

// end ends the phase and takes its bar away.
func (p *phase) end() {
	p.app.logging.Lock()
	defer p.app.logging.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.app.noBar()
}

// tell tells how far the phase is, and sets the time of the next telling.
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

// at is how far the phase is.
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

// noBar takes the bar from the last line of the terminal, so that something else
// can be written there. The caller holds logging.
func (a *app) noBar() {
	if a.bar {
		_ = report.NewLines(a.env.Stderr).NoBar()
		a.bar = false
	}
}

// rest begins the silence anew: a person has just read and answered.
func (a *app) rest() {
	a.logging.Lock()
	defer a.logging.Unlock()
	a.tellAt = time.Time{}
}

// patience is how long a run is silent at first, and after a question.
func (a *app) patience() time.Duration {
	if a.hasBars() {
		return barAfter
	}
	return lineEvery
}

// hasBars reports whether a person sits at a terminal that can show a bar, and did
// not ask for lines.
func (a *app) hasBars() bool {
	return a.env.StderrWidth != nil && a.env.StderrIsTTY && a.env.Getenv("TERM") != "dumb" &&
		!a.inCI() && !a.global.verbose && a.global.logFormat != "json"
}
