package report

import (
	"strconv"
	"strings"
	"time"

	"trueup/internal/apply"
)

// ProgressLine renders an event as one line without its end, fit for a
// terminal and for a log that a workflow runner reads.
func ProgressLine(e apply.Event) string {
	text := named(e.Key) + "  " + message(e.Phase)
	if e.Message != "" {
		text += "  " + message(e.Message)
	}
	return string(guarded(text))
}

// Progress is how far a part of a run is.
type Progress struct {
	// Doing says what is done, such as "reading manifests".
	Doing string
	// Done are done of Of, which is 0 where nobody knows of how many, and less
	// than Done where they turned out to be more.
	Done, Of int
	// Rate is how many were done in a second lately, Took the time until now.
	Rate float64
	Took time.Duration
}

// String is the line of a log.
func (p Progress) String() string {
	return string(clean(p.Doing) + ": " + join(p.parts(), ", "))
}

// A bar has at most so many cells; where there is room for less than a few, there
// is none.
const leastBar, wholeBar = 8, 24

// bar is a line of a terminal, with what there is room for.
func (p Progress) bar(columns int) safe {
	if columns < 1 {
		return ""
	}
	parts := p.parts()
	for len(parts) > 1 && width(p.row(parts)) > columns {
		parts = parts[:len(parts)-1]
	}
	row := p.row(parts)
	if cells := min(columns-width(row)-len("  []"), wholeBar); p.counted() && cells >= leastBar {
		full := cells * p.Done / p.Of
		drawn := "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "]"
		row = p.row(append([]safe{safe(drawn)}, parts...))
	}
	return cut(row, columns)
}

func (p Progress) row(parts []safe) safe {
	return join(append([]safe{clean(p.Doing)}, parts...), "  ")
}

// counted reports whether it is known how much is left.
func (p Progress) counted() bool { return p.Of > 0 && p.Done <= p.Of }

// parts are what is told, what matters most first.
func (p Progress) parts() []safe {
	var parts []safe
	if p.counted() {
		parts = append(parts, number(p.Done)+" of "+number(p.Of))
	} else if p.Done > 0 {
		parts = append(parts, number(p.Done))
	}
	if p.Rate <= 0 {
		return append(parts, seconds(p.Took))
	}
	if p.counted() {
		parts = append(parts, seconds(time.Duration(float64(p.Of-p.Done)/p.Rate*float64(time.Second)))+" left")
	}
	digits := 0
	if p.Rate < 10 {
		digits = 1
	}
	return append(parts, safe(strconv.FormatFloat(p.Rate, 'f', digits, 64))+"/s")
}

// seconds is a time in whole seconds.
func seconds(d time.Duration) safe { return safe(d.Round(time.Second).String()) }

// Bar writes a bar in place of the line of the terminal that the cursor is in.
func (l Lines) Bar(p Progress, columns int) error { return l.write(noLine + p.bar(columns)) }

// NoBar takes the bar away.
func (l Lines) NoBar() error { return l.write(noLine) }

// noLine goes to the start of a line of the terminal and empties it.
const noLine = "\r\x1b[K"
