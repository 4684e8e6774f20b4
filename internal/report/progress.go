package report

import (
	"strconv"
	"strings"
	"time"

	"trueup/internal/apply"
	"trueup/internal/safetext"
)

// ProgressLine renders an event as one line, without a newline.
func ProgressLine(e apply.Event) string {
	text := safetext.F("%s  %s", named(e.Key), message(e.Phase))
	if e.Message != "" {
		text = safetext.F("%s  %s", text, message(e.Message))
	}
	return text.Guarded().String()
}

// Progress says how far one activity of a run is.
type Progress struct {
	// Doing is the activity, such as "reading manifests".
	Doing string
	// Of is the expected total, or 0 if unknown. It is an estimate, so Done may exceed it.
	Done, Of int
	// Rate is the recent rate per second. Took is the time since the start.
	Rate float64
	Took time.Duration
}

// String returns a line for a log.
func (p Progress) String() string {
	return safetext.F("%s: %s", p.Doing, safetext.Join(p.parts(), ", ")).String()
}

// minBar and maxBar limit the width of a bar, in cells. If fewer than minBar fit, there is no bar.
const minBar, maxBar = 8, 24

// bar returns a line for a terminal of that many columns. It omits the parts that don't fit.
func (p Progress) bar(columns int) safe {
	if columns < 1 {
		return safe{}
	}
	parts := p.parts()
	for len(parts) > 1 && p.row(parts).Width() > columns {
		parts = parts[:len(parts)-1]
	}
	row := p.row(parts)
	if cells := min(columns-row.Width()-len("  []"), maxBar); p.hasTotal() && cells >= minBar {
		full := cells * p.Done / p.Of
		drawn := "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "]"
		row = p.row(append([]safe{clean(drawn)}, parts...))
	}
	return row.Cut(columns)
}

func (p Progress) row(parts []safe) safe {
	return safetext.Join(append([]safe{clean(p.Doing)}, parts...), "  ")
}

// hasTotal reports whether the total is known and not too low.
func (p Progress) hasTotal() bool { return p.Of > 0 && p.Done <= p.Of }

// parts returns the parts of the line, the most important first.
func (p Progress) parts() []safe {
	var parts []safe
	if p.hasTotal() {
		parts = append(parts, safetext.F("%d of %d", p.Done, p.Of))
	} else if p.Done > 0 {
		parts = append(parts, safetext.Number(p.Done))
	}
	if p.Rate <= 0 {
		return append(parts, seconds(p.Took))
	}
	if p.hasTotal() {
		parts = append(parts, safetext.F("%s left", seconds(time.Duration(float64(p.Of-p.Done)/p.Rate*float64(time.Second)))))
	}
	digits := 0
	if p.Rate < 10 {
		digits = 1
	}
	return append(parts, safetext.F("%s/s", clean(strconv.FormatFloat(p.Rate, 'f', digits, 64))))
}

func seconds(d time.Duration) safe { return clean(d.Round(time.Second).String()) }

// Bar replaces the terminal's current line with a bar.
func (l Lines) Bar(p Progress, columns int) error {
	return l.raw(clearLine + p.bar(columns).Guarded().String())
}

// NoBar removes the bar.
func (l Lines) NoBar() error { return l.raw(clearLine) }

// clearLine clears the terminal's current line.
const clearLine = "\r\x1b[K"
