package report

import (
	"strconv"
	"strings"
	"time"

	"trueup/internal/apply"
	"trueup/internal/safetext"
)

// ProgressLine renders an event as one line without its end.
func ProgressLine(e apply.Event) string {
	text := safetext.F("%s  %s", named(e.Key), message(e.Phase))
	if e.Message != "" {
		text = safetext.F("%s  %s", text, message(e.Message))
	}
	return text.Guarded().String()
}

// Progress is the progress of a part of a run.
type Progress struct {
	// Doing is the activity, such as "reading manifests".
	Doing string
	// Of is the expected total: 0 if unknown, and less than Done if too low.
	Done, Of int
	// Rate is the recent rate per second, and Took the time until now.
	Rate float64
	Took time.Duration
}

// String returns a line for a log.
func (p Progress) String() string {
	return safetext.F("%s: %s", p.Doing, safetext.Join(p.parts(), ", ")).String()
}

// The cells of a bar. If fewer than leastBar fit, there is no bar.
const leastBar, wholeBar = 8, 24

// bar returns a line for a terminal, with what fits.
func (p Progress) bar(columns int) safe {
	if columns < 1 {
		return safe{}
	}
	parts := p.parts()
	for len(parts) > 1 && p.row(parts).Width() > columns {
		parts = parts[:len(parts)-1]
	}
	row := p.row(parts)
	if cells := min(columns-row.Width()-len("  []"), wholeBar); p.counted() && cells >= leastBar {
		full := cells * p.Done / p.Of
		drawn := "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "]"
		row = p.row(append([]safe{clean(drawn)}, parts...))
	}
	return row.Cut(columns)
}

func (p Progress) row(parts []safe) safe {
	return safetext.Join(append([]safe{clean(p.Doing)}, parts...), "  ")
}

func (p Progress) counted() bool { return p.Of > 0 && p.Done <= p.Of }

// parts returns the parts of the line, the most important first.
func (p Progress) parts() []safe {
	var parts []safe
	if p.counted() {
		parts = append(parts, safetext.F("%d of %d", p.Done, p.Of))
	} else if p.Done > 0 {
		parts = append(parts, safetext.Number(p.Done))
	}
	if p.Rate <= 0 {
		return append(parts, seconds(p.Took))
	}
	if p.counted() {
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
	return l.raw(noLine + p.bar(columns).Guarded().String())
}

// NoBar removes the bar.
func (l Lines) NoBar() error { return l.raw(noLine) }

// noLine clears the terminal's current line.
const noLine = "\r\x1b[K"
