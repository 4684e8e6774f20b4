package report

import (
	"bufio"
	"io"
	"strings"

	"github.com/fatih/color"
)

// style is the role of a piece of text; the palette gives it its look.
type style uint8

const (
	plain style = iota
	strong
	faint
	added
	removed
	changed
	alarm
	once
	addedPart
	removedPart
)

// palette maps styles to attributes of its own instances: no colour setting of
// the process has a say. Without colour it is nil. The 16 colours of the terminal's own theme are used,
// so that the output is readable on light and dark.
type palette map[style]*color.Color

func newPalette(enabled bool) palette {
	if !enabled {
		return nil
	}
	p := palette{
		strong:      color.New(color.Bold),
		faint:       color.New(color.Faint),
		added:       color.New(color.FgGreen),
		removed:     color.New(color.FgRed),
		changed:     color.New(color.FgYellow),
		alarm:       color.New(color.FgMagenta, color.Bold),
		once:        color.New(color.FgCyan, color.Bold),
		addedPart:   color.New(color.FgGreen, color.Bold, color.Underline),
		removedPart: color.New(color.FgRed, color.Bold, color.Underline),
	}
	for _, c := range p {
		c.EnableColor()
	}
	return p
}

// span is a piece of a line.
type span struct {
	text  safe
	style style
}

// printer writes lines of spans. A failed write is kept and returned by flush.
type printer struct {
	w       *bufio.Writer
	palette palette
	width   int
	// wrap says that there is an edge that sentences would run over.
	wrap bool
	// written says that there was a line, so that a gap makes sense.
	written bool
}

const (
	defaultWidth = 120
	minWidth     = 40
)

func newPrinter(w io.Writer, opts Options) *printer {
	columns := opts.Width
	if columns == 0 {
		columns = defaultWidth
	}
	return &printer{w: bufio.NewWriter(w), palette: newPalette(opts.Color), width: max(columns, minWidth), wrap: opts.Width > 0}
}

// line writes the spans as one line, without space at its end.
func (p *printer) line(spans ...span) {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		last.text = safe(strings.TrimRight(string(last.text), " "))
		if last.text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	if whole := flat(spans); guarded(whole) != whole {
		spans = []span{{guarded(whole), plain}}
		if p.wrap && width(guarded(whole)) > p.width {
			for _, piece := range wrap(spans, p.width-1, 0) {
				p.line(piece...)
			}
			return
		}
	}
	for _, s := range spans {
		text := string(s.text)
		if c := p.palette[s.style]; c != nil && text != "" {
			text = c.Sprint(text)
		}
		p.write(text)
	}
	p.write("\n")
	p.written = true
}

// wrapped writes the spans as one line, or as several that begin with so many
// spaces where they are too wide for a terminal: who reads a log looks for whole
// sentences in it.
func (p *printer) wrapped(hang int, spans ...span) {
	if !p.wrap || width(flat(spans)) <= p.width {
		p.line(spans...)
		return
	}
	for _, line := range wrap(spans, p.width, hang) {
		p.line(line...)
	}
}

// gap writes an empty line between parts.
func (p *printer) gap() {
	if p.written {
		p.write("\n")
	}
}

// write leaves errors to flush: bufio keeps the first and refuses the rest.
func (p *printer) write(s string) { _, _ = p.w.WriteString(s) }

func (p *printer) flush() error { return p.w.Flush() }

// flat is the text of the spans.
func flat(spans []span) safe {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(string(s.text))
	}
	return safe(b.String())
}
