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
	return safetext.F("%s: %s", p.Doing, safetext.Join(p.parts(), ", ")).String()
}

// A bar has so many cells, or there is none.
const leastBar, wholeBar = 8, 24

// bar is a line of a terminal, with what there is room for.
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

// parts are what the line says, the most important first.
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

// Bar writes a bar in place of the line of the terminal that the cursor is in.
func (l Lines) Bar(p Progress, columns int) error {
	return l.raw(noLine + p.bar(columns).Guarded().String())
}

// NoBar takes the bar away.
func (l Lines) NoBar() error { return l.raw(noLine) }

// noLine goes to the start of a line of the terminal and empties it.
const noLine = "\r\x1b[K"
